/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The counted stacks of one window on their way to names: what the loop knows (process, file and
 * offset of each frame) is in the batch, so that the bulk worker needs nothing else. Frames of one
 * address are named once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/stack_detail.h"
#include "heap/stack_cache.h"
#include "profile/profile.h"
#include "target/target.h"
#include "java/files/jfrfile.h"
#include "symbol/symbol.h"

struct batch;

/* A line of a window's counts. */
struct counted {
	struct count_key key;
	struct stack_count count;
};

/* Who gets stacks: those whose subscribers have the bit. */
struct sink {
	uint32_t bit;
	struct stack_detail detail;
	struct profile *profile; /* a reference */
	uint64_t lost;		 /* samples lost in this window */
	uint64_t left_out;	 /* events that the guard left out in it */
};

/* -ENOMEM */
int batch_new(struct batch **ret);
void batch_free(struct batch *batch);

/* When the window of all that is added ended. */
void batch_set_end(struct batch *batch, uint64_t until_ns);

/* Adds one stack with one of its counts, for `subscribers` (0: for the stack cache only). Functions
 * of files that it needs are asked for. *truncated: why it doesn't reach its root. -ENOMEM: nothing
 * was added. */
int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct counted *counted,
	      struct symbol_files *files, enum truncation *truncated);

/* Takes over the sink's reference. -ENOMEM: it was dropped. */
int batch_add_sink(struct batch *batch, const struct sink *sink);

/* Adds stacks that a Java VM has recorded of one probe, for those sinks of `bit`, which are
 * there already. Takes the file over. -ENOMEM: it was dropped, and counts as lost for them. */
int batch_add_recorded(struct batch *batch, const struct target *target, uint32_t probe,
		       uint32_t bit, struct jfrfile *file);

/* Adds all events to those of their probes. */
void batch_events(const struct batch *batch, uint64_t events[PROBE_COUNT]);

/* What naming found out. */
struct batch_result {
	/* events by cause; TRUNCATED_NOT: whole stacks */
	uint64_t truncated[PROBE_COUNT][TRUNCATED_COUNT];
	uint64_t refused;    /* events that found no room in a profile */
	uint64_t unrecorded; /* events that found no room in its records */
	/* events of Java stacks in which it isn't known which inlined methods are there */
	uint64_t inline_unknown;
	/* events of Java stacks with code of which the agent has told nothing
	 * (code/java_agent_frames.h) */
	uint64_t untold;
};

/* On the bulk worker: names all stacks into the sinks' profiles, those of PROBE_MEM_GLIBC into the
 * stack cache as well. What a program mapped itself is in the stack cache alone. */
void batch_name(struct batch *batch, struct symbolizer *symbolizer, struct stack_cache *stack_cache,
		int64_t until, struct batch_result *result);
