/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batch: the counted stacks of one window on their way to names. It has all that the loop knows of
 * each frame (process, file, offset), so that naming on the bulk worker needs nothing else. Frames
 * at one address are named once.
 *
 * The loop fills a batch; then a job of the bulk worker owns it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/stack_detail.h"
#include "heap/stack_cache.h"
#include "kernel/window_counts.h"
#include "profile/profile.h"
#include "target/target.h"
#include "java/files/jfrfile.h"
#include "symbol/symbol.h"

struct batch;

/* A profile that gets the stacks of subscribers with this bit. */
struct sink {
	uint32_t bit;
	struct stack_detail detail;
	struct profile *profile; /* owns a reference */
	uint64_t lost;		 /* samples lost in this window */
	uint64_t left_out;	 /* events left out by the guard in this window */
};

/* Creates an empty batch; the caller owns *ret. Returns 0 or -ENOMEM. */
int batch_new(struct batch **ret);
void batch_free(struct batch *batch);

/* Sets when the window ended, CLOCK_MONOTONIC ns. */
void batch_set_end(struct batch *batch, uint64_t until_ns);

/* What is known of a stack that was added. */
struct batch_added {
	enum truncation truncated; /* why it doesn't reach its root */
	bool inline_unknown;	   /* it isn't known what is inlined into one of its Java frames */
};

/*
 * Adds a stack with one of its counts, for `subscribers` (0: for the stack cache only), and
 * requests the functions of files it needs. Returns 0, or -ENOMEM or -ENOSPC: nothing was added.
 */
int batch_add(struct batch *batch, const struct stack *stack, const uint64_t *words,
	      const struct target *target, uint32_t subscribers, const struct counted *counted,
	      struct symbol_files *files, struct batch_added *added);

/* Adds a sink; takes over its reference, also on failure. Returns 0 or -ENOMEM. */
int batch_add_sink(struct batch *batch, const struct sink *sink);

/*
 * Adds stacks of one probe that a Java VM has recorded, for those sinks of `bit` which are there
 * already. Takes over `file`, also on failure. Returns 0, or -ENOMEM: the stacks count as lost for
 * these sinks.
 */
int batch_add_recorded(struct batch *batch, const struct target *target, uint32_t probe,
		       uint32_t bit, struct jfrfile *file);

/* Adds the events of all stacks to the sums of their probes. */
void batch_events(const struct batch *batch, uint64_t events[PROBE_COUNT]);

/* What naming found out, in numbers of events. */
struct batch_result {
	/* by cause; TRUNCATED_NOT: whole stacks */
	uint64_t truncated[PROBE_COUNT][TRUNCATED_COUNT];
	uint64_t refused;    /* without room in a profile */
	uint64_t unrecorded; /* without room in a profile's records */
	/* of Java stacks whose inlined methods aren't known */
	uint64_t inline_unknown;
	/* of Java stacks with code that the agent's log doesn't have (code/java_agent_frames.h) */
	uint64_t untold;
};

/*
 * Names all stacks into the sinks' profiles, those of the live heap also into the stack cache;
 * stacks of a program's own mappings go to the stack cache only. In a job of the bulk worker.
 */
void batch_name(struct batch *batch, struct symbolizer *symbolizer, struct stack_cache *stack_cache,
		int64_t until, struct batch_result *result);
