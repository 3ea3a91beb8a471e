/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine under all subscribers: one tracer, one table of targets, one way from counts to named
 * profiles (profile/drain). A subscriber is the configured feature, or one on-demand session.
 *
 * Everything here is called on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "profile/arming.h"
#include "profile/drain.h"
#include "profile/profile.h"
#include "profile/snooper.h"
#include "profile/target.h"
#include "profile/tracer.h"

struct engine;
struct subscriber;

struct engine_setup {
	struct loop *loop;
	struct worker *urgent;	/* looks at processes */
	struct worker *foreign; /* reads their files */
	struct worker *bulk;	/* names and renders; never touches what isn't ours */
	struct tracer_sizes sizes;
};

/* -ENOMEM */
int engine_new(struct engine **ret, const struct engine_setup *setup);
void engine_free(struct engine *engine);

struct subscription {
	uint32_t probes;
	bool thread_frame;
	struct chosen chosen; /* ids are copied; count 0: what the snoopers choose */
};

/*
 * Begins to collect for one more subscriber; loads and attaches what is missing. Negative errno,
 * and `why` has a sentence for people; -EBUSY: SUBSCRIBERS_MAX are there.
 */
int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, char *why, size_t why_bytes);

/* Calls done(arg) once all processes that were chosen are sampled (profile/arming.h): false, they
 * are already, and it isn't called. */
bool engine_when_armed(struct engine *engine, void (*done)(void *arg), void *arg);
void engine_forget(struct engine *engine, const void *arg);

/* What isn't read yet is lost to it: drain first. The last one out stops and unloads all. */
void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber);

/* Changes that take effect at once; windows are not cut. */
void subscriber_set_thread_frame(struct subscriber *subscriber, bool thread_frame);

/* The snoopers that all subscribers who chose no process follow. -errno of reading /proc. */
int engine_set_snoopers(struct engine *engine, struct snoopers *snoopers);

/* The period of the sampling timer, now or when it starts. Errors as engine_subscribe(). */
int engine_set_period(struct engine *engine, uint64_t period_ns, char *why, size_t why_bytes);

/* What all probes together may use, percent of one CPU; 0: no guard. */
void engine_set_max_overhead(struct engine *engine, unsigned percent);

/* Reads the window that runs now and calls done(arg) when its stacks are in the profiles. done is
 * called later, never inside, and even when there is no memory or nothing runs. */
void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg);

/* The profile that a subscriber's stacks of a probe go to, borrowed; NULL: it doesn't collect it.
 * Its tree is for jobs on the bulk worker only. */
struct profile *subscriber_profile(const struct subscriber *subscriber, enum probe probe);

/* Hands over that profile and begins a new one, which starts where the old one ends. NULL: no
 * memory, the old one goes on. */
struct profile *subscriber_take_profile(struct subscriber *subscriber, enum probe probe);

/* Reads what the kernel has told of processes meanwhile; to be called before what is below. */
void engine_refresh(struct engine *engine);

struct engine_stats {
	uint64_t samples[PROBE_COUNT];
	uint32_t thinned[PROBE_COUNT]; /* now, the stack of one event in so many is taken */
	uint64_t lost[LOST_COUNT];
	uint64_t unnamed_frames;
	int kernel_names_error; /* symbolizer_kernel_error() */
	uint64_t given_up;	/* jobs */
	uint64_t bpf_time_ns;
	unsigned cpus;
	bool arming; /* processes are still being looked at for the first time */
	struct drain_stats drain;
	struct targets_stats targets;
	struct symbol_files_stats files;
};
void engine_stats(const struct engine *engine, struct engine_stats *stats);

/* Calls each for the processes that match now. */
void engine_targets(const struct engine *engine,
		    void (*each)(void *arg, const struct target *target), void *arg);
