/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes hold while PROBE_MEM_GLIBC runs: profiles of it for who asks, read on the bulk
 * worker from the kernel's map and from what programs have mapped. It owns the stack cache, and
 * knows whose entries are dead, which it removes. On the loop's thread.
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

/* -ENOMEM */
int live_heap_new(struct live_heap **ret, const struct live_heap_setup *setup);

/* When no job runs any more. */
void live_heap_free(struct live_heap *live_heap);

/* For the jobs of the bulk worker that name stacks. */
struct stack_cache *live_heap_stack_cache(const struct live_heap *live_heap);

/* The probe runs, since that time (loop_now_ns()); or it does no longer, and all is forgotten, once
 * what was submitted until now has been read. */
void live_heap_start(struct live_heap *live_heap, uint64_t since_ns);
void live_heap_stop(struct live_heap *live_heap);

/* What the kernel tells; of lives before targets_on_life(). A process that was no target until then
 * begins anew: what it freed meanwhile wasn't seen. */
void live_heap_on_life(struct live_heap *live_heap, const struct life_event *event);
void live_heap_on_mapped(struct live_heap *live_heap, const struct mapped_event *event);

struct live_heap_request {
	uint32_t views;	      /* 1 << VIEW_INUSE, VIEW_MMAP; 0: only what is dead is removed */
	uint32_t subscribers; /* processes that these want */
	struct stack_detail detail;
	struct live_alloc_filter filter;
	uint64_t named_ns;   /* what came later is left out where its stack has no names yet */
	int64_t from, until; /* of the profiles, of loop_real_ns() */
	uint64_t lost[VIEWS];
	/* Gets 0 or a negative errno, and a profile for each view that was asked for: those that it
	 * leaves are dropped afterwards. NULL: nobody is told. */
	void (*done)(void *arg, int error, struct profile *profiles[VIEWS]);
	void *arg;
};

/* done() is called later, never inside. -ENOENT: the probe doesn't run; -ENOMEM, -EMFILE. */
int live_heap_read(struct live_heap *live_heap, const struct live_heap_request *request);

/* Removes what is dead: to be called when others are targets than before, for what who isn't one
 * frees isn't seen. */
void live_heap_sweep(struct live_heap *live_heap);

/* A window was read: what is dead is removed, unless something was read just before. */
void live_heap_window_ended(struct live_heap *live_heap);

/* When the probe began to run; 0: it doesn't. */
int64_t live_heap_since(const struct live_heap *live_heap);

struct live_heap_stats {
	uint64_t entries;    /* in the kernel's map, by the last reading */
	uint64_t dead;	     /* of processes that ended; removed since the start */
	uint64_t unnamed;    /* objects shown without frames, by the last reading for a view */
	uint64_t young;	     /* objects that it left out, for their stacks had no names yet */
	uint64_t refused;    /* objects that found no room in a profile, since the start */
	uint64_t unrecorded; /* … in its records */
	uint64_t failed;     /* readings, since the start */
	uint64_t mm_epochs_refused; /* ends of processes that found no room, since the start */
	struct stack_cache_stats stack_cache;
	uint64_t ranges;	 /* that programs have mapped, now */
	uint64_t ranges_refused; /* of these, since the start */
};
void live_heap_stats(const struct live_heap *live_heap, struct live_heap_stats *stats);
