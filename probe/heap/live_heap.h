/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Live heap of the probe mem_glibc: profiles of what processes hold now, made on request by jobs of
 * the bulk worker from the kernel's map of allocations and from the programs' mappings. Owns the
 * stack cache. Removes the kernel's dead entries: those of processes that ended, called exec or are
 * no targets any more. Loop thread only.
 */
#pragma once

#include "loop/worker.h"
#include "profile/stack_detail.h"
#include "heap/live_alloc.h"
#include "heap/stack_cache.h"
#include "profile/profile.h"
#include "target/target.h"
#include "kernel/tracer.h"

struct live_heap;
struct mapped_event;

struct live_heap_setup {
	struct worker *bulk;
	struct tracer *tracer;
	struct targets *targets;
};

/* Creates a live heap; the caller owns *ret. Returns 0 or -ENOMEM. */
int live_heap_new(struct live_heap **ret, const struct live_heap_setup *setup);

/* Frees the live heap; no job of it may run any more. */
void live_heap_free(struct live_heap *live_heap);

/* Returns the stack cache, for jobs of the bulk worker that name stacks. */
struct stack_cache *live_heap_stack_cache(const struct live_heap *live_heap);

/* Tells that the probe runs since that time (loop_now_ns()). */
void live_heap_start(struct live_heap *live_heap, uint64_t since_ns);

/* Tells that the probe has stopped. Forgets all; cached stacks after the jobs submitted so far. */
void live_heap_stop(struct live_heap *live_heap);

/* Has what processes held when they ended be shown, as long as their targets are known. */
void live_heap_keep_ended(struct live_heap *live_heap);

/*
 * Takes an event of a process's life; call it before targets_on_life(). A process that becomes a
 * target by a new name starts with nothing: its frees before weren't seen.
 */
void live_heap_on_life(struct live_heap *live_heap, const struct life_event *event);

/* Takes an event of a mapping that came or went. */
void live_heap_on_mapped(struct live_heap *live_heap, const struct mapped_event *event);

struct live_heap_request {
	uint32_t views;	      /* 1 << VIEW_INUSE, VIEW_MMAP; 0: only remove dead entries */
	uint32_t subscribers; /* bits of the subscribers whose processes are shown */
	struct stack_detail detail;
	struct live_alloc_filter filter;
	uint64_t named_ns;    /* leave out younger allocations whose stacks have no names yet */
	int64_t from, until;  /* the profiles' times, loop_real_ns() */
	uint64_t lost[VIEWS]; /* objects missing, for they found no room; by view */
	/*
	 * Gets 0 or a negative errno, and a profile for each view asked for. The callee may take
	 * profiles out of the array; the others are dropped afterwards. NULL: nobody is told, and
	 * the reading counts as a sweep.
	 */
	void (*done)(void *arg, int error, struct profile *profiles[VIEWS]);
	void *arg;
};

/*
 * Submits a reading. Returns 0: done() will be called later, never inside; or a negative errno:
 * -ENOENT if the probe doesn't run; -ENOMEM; -EMFILE or the like if the map can't be opened.
 */
int live_heap_read(struct live_heap *live_heap, const struct live_heap_request *request);

/*
 * Removes dead entries. Call it when the set of targets has changed: frees of a process that is no
 * target aren't seen.
 */
void live_heap_sweep(struct live_heap *live_heap);

/* Tells that a window was read. Removes dead entries, unless a reading was submitted lately. */
void live_heap_window_ended(struct live_heap *live_heap);

/* Returns when the probe began to run (loop_real_ns()); 0 if it doesn't run. */
int64_t live_heap_since(const struct live_heap *live_heap);

struct live_heap_stats {
	uint64_t entries;    /* in the kernel's map, at the last reading */
	uint64_t dead;	     /* entries of the map that were removed, since the start */
	uint64_t unnamed;    /* objects shown without frames, at the last reading for a view */
	uint64_t young;	     /* objects left out then: their stacks had no names yet */
	uint64_t refused;    /* objects that found no room in a profile, since the start */
	uint64_t unrecorded; /* objects without room in a profile's records, since the start */
	uint64_t failed;     /* readings that failed, since the start */
	uint64_t mm_epochs_refused; /* exits and execs that found no room, since the start */
	struct stack_cache_stats stack_cache;
	uint64_t ranges;	 /* pieces of mappings, now */
	uint64_t ranges_refused; /* pieces that found no room, since the start */
};
void live_heap_stats(const struct live_heap *live_heap, struct live_heap_stats *stats);

/* Rows of struct live_heap_stats (measure/measure.h). */
extern const struct measures heap_measures, range_measures;
