/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The feature /sched: makes what it was told last true, and keeps what its probes measure. A probe
 * counts from when it is turned on until it is turned off; what it has counted then stays readable
 * until it is turned on again. On the loop's thread.
 */
#pragma once

#include "engine/engine.h"
#include "sched/sched_data.h"
#include "select/spec.h"

struct sched;
struct sched_wait;
struct sched_follower;

#define SCHED_WAITS_MAX	    8 /* measurements of the next seconds at once */
#define SCHED_FOLLOWERS_MAX 8

struct sched_setup {
	struct loop *loop;
	struct engine *engine;
	struct sched_params defaults; /* until it is told */
};

/* -ENOMEM */
int sched_new(struct sched **ret, const struct sched_setup *setup);
void sched_free(struct sched *sched);

/* Makes `spec` true. Negative errno and a sentence in `why` when none of its probes can start; then
 * nothing has changed. */
int sched_apply(struct sched *sched, const struct spec *spec, char *why, size_t why_bytes);

/* What it was told last; NULL: nothing yet. */
const struct spec *sched_spec(const struct sched *sched);

/* "running", "stopped" or "unsupported", and why ("" where there's no more to say). */
const char *sched_state(const struct sched *sched, enum sched_probe probe, const char **why);

/* What a probe that was asked for by PUT has counted: until now while it runs, else until its end.
 * `fresh` is the caller's to be done with, *data lies there or is borrowed. -ENOENT: it never ran;
 * -ENOMEM, negative errno of reading. */
int sched_read(struct sched *sched, enum sched_probe probe, struct sched_data *fresh,
	       const struct sched_data **data);

/*
 * Measures the next seconds, also while the probe is off; nothing else is altered. done() gets 0 or
 * a negative errno (-ESTALE: its groups changed meanwhile) and the data, which it borrows. -EBUSY:
 * SCHED_WAITS_MAX are under way; other negative errno with a sentence in `why`.
 */
int sched_wait(struct sched *sched, enum sched_probe probe, unsigned seconds,
	       void (*done)(void *arg, int error, const struct sched_data *data), void *arg,
	       struct sched_wait **ret, char *why, size_t why_bytes);

/* Ends it before its time, which isn't over yet: done() gets -ECANCELED. */
void sched_wait_cancel(struct sched_wait *wait);

/* All of them; for the end. */
void sched_cancel_waits(struct sched *sched);

/* Events of runqslower from now on; wake(arg) is called when there is one, or their end. -ENOENT:
 * runqslower doesn't run; -EBUSY: SCHED_FOLLOWERS_MAX follow; -ENOMEM. */
int sched_follow(struct sched *sched, void (*wake)(void *arg), void *arg,
		 struct sched_follower **ret);
void sched_unfollow(struct sched_follower *follower);

/* Its next event. 1: there is one, and before it `missed` were no longer there; 0: not yet;
 * -ENOENT: runqslower was stopped. */
int sched_follower_next(struct sched_follower *follower, struct slow_entry *entry,
			uint64_t *missed);
