/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes hold while PROBE_MEM_GLIBC runs: profiles of it for who asks, read on the bulk
 * worker from the kernel's map and from what programs have mapped. It owns the ledger, and knows
 * whose entries are dead, which it removes. On the loop's thread.
 */
#pragma once

#include "loop/worker.h"
#include "profile/detail.h"
#include "heap/holding.h"
#include "heap/ledger.h"
#include "profile/profile.h"
#include "target/target.h"
#include "kernel/tracer.h"

struct heaps;
struct mapped_event;

struct heaps_setup {
	struct worker *bulk;
	struct tracer *tracer;
	struct targets *targets;
};

/* -ENOMEM */
int heaps_new(struct heaps **ret, const struct heaps_setup *setup);

/* When no job runs any more. */
void heaps_free(struct heaps *heaps);

/* For the jobs of the bulk worker that name stacks. */
struct ledger *heaps_ledger(const struct heaps *heaps);

/* The probe runs, since that time (loop_now_ns()); or it does no longer, and all is forgotten, once
 * what was submitted until now has been read. */
void heaps_start(struct heaps *heaps, uint64_t since_ns);
void heaps_stop(struct heaps *heaps);

/* What the kernel tells; of lives before targets_on_life(). A process that was no target until then
 * begins anew: what it freed meanwhile wasn't seen. */
void heaps_on_life(struct heaps *heaps, const struct life_event *event);
void heaps_on_mapped(struct heaps *heaps, const struct mapped_event *event);

struct heaps_request {
	uint32_t views;	      /* 1 << VIEW_INUSE, VIEW_MMAP; 0: only what is dead is removed */
	uint32_t subscribers; /* processes that these want */
	struct detail detail;
	struct holding_filter filter;
	uint64_t named_ns;   /* what came later is left out where its stack has no names yet */
	int64_t from, until; /* of the profiles, of loop_real_ns() */
	uint64_t lost[VIEWS];
	/* Gets 0 or a negative errno, and a profile for each view that was asked for: those that it
	 * leaves are dropped afterwards. NULL: nobody is told. */
	void (*done)(void *arg, int error, struct profile *profiles[VIEWS]);
	void *arg;
};

/* done() is called later, never inside. -ENOENT: the probe doesn't run; -ENOMEM, -EMFILE. */
int heaps_read(struct heaps *heaps, const struct heaps_request *request);

/* Removes what is dead: to be called when others are targets than before, for what who isn't one
 * frees isn't seen. */
void heaps_sweep(struct heaps *heaps);

/* A window was read: what is dead is removed, unless something was read just before. */
void heaps_window_ended(struct heaps *heaps);

/* When the probe began to run; 0: it doesn't. */
int64_t heaps_since(const struct heaps *heaps);

struct heaps_stats {
	uint64_t entries;      /* in the kernel's map, by the last reading */
	uint64_t dead;	       /* of processes that ended; removed since the start */
	uint64_t unnamed;      /* objects shown without frames, by the last reading for a view */
	uint64_t young;	       /* objects that it left out, for their stacks had no names yet */
	uint64_t refused;      /* objects that found no room in a profile, since the start */
	uint64_t unrecorded;   /* … in its records */
	uint64_t failed;       /* readings, since the start */
	uint64_t cuts_refused; /* ends of processes that found no room, since the start */
	struct ledger_stats ledger;
	uint64_t ranges;	 /* that programs have mapped, now */
	uint64_t ranges_refused; /* of these, since the start */
};
void heaps_stats(const struct heaps *heaps, struct heaps_stats *stats);
