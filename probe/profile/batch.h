/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counted stacks of one window on their way to names: what the loop knows (process, file and
 * offset of each frame) is in the batch, so that the bulk worker needs nothing else. Frames of one
 * address are named once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/target.h"
#include "symbol/symbol.h"

struct batch;

/* Who gets stacks: those whose subscribers have the bit. */
struct sink {
	uint32_t bit;
	bool thread_frame;
	struct profile *profile; /* a reference */
	uint64_t lost;		 /* samples lost in this window */
};

/* -ENOMEM */
int batch_new(struct batch **ret);
void batch_free(struct batch *batch);

/* Adds one stack with its count, for `subscribers`. Functions of files that it needs are asked
 * for. *truncated: why it doesn't reach its root. -ENOMEM: nothing was added. */
int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct stack_count *count,
	      struct symbol_files *files, enum truncation *truncated);

/* Takes over the sink's reference. -ENOMEM: it was dropped. */
int batch_add_sink(struct batch *batch, const struct sink *sink);

/* Sum of the weights. */
uint64_t batch_weight(const struct batch *batch);

/* What naming found out. */
struct batch_result {
	uint64_t truncated[TRUNCATED_COUNT]; /* weight by cause; TRUNCATED_NOT: whole stacks */
	uint64_t refused;		     /* weight that found no room in a profile */
};

/* On the bulk worker: names all stacks into the sinks' profiles. */
void batch_name(struct batch *batch, struct symbolizer *symbolizer, time_t until,
		struct batch_result *result);
