/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The feature /sched: applies the last spec it was given, and keeps what its probes measure. A
 * probe counts from when it is turned on until it is turned off; what it counted stays readable
 * until it is turned on again. Loop thread only.
 */
#pragma once

#include "engine/engine.h"
#include "sched/sched_data.h"
#include "select/spec.h"

struct sched;
struct sched_wait;
struct sched_follower;

#define SCHED_WAITS_MAX	    8 /* measurements (sched_wait()) at once */
#define SCHED_FOLLOWERS_MAX 8

struct sched_setup {
	struct loop *loop;
	struct engine *engine;
	struct sched_params defaults; /* until the first spec */
};

/* Creates it, with all probes off; the caller owns *ret. Returns 0 or -ENOMEM. */
int sched_new(struct sched **ret, const struct sched_setup *setup);
void sched_free(struct sched *sched);

/*
 * Applies `spec`. Returns 0, or a negative errno and a sentence in `why` if none of its probes can
 * start; then nothing has changed.
 */
int sched_apply(struct sched *sched, const struct spec *spec, struct why *why);

/* Returns the last spec it was given, or NULL. */
const struct spec *sched_spec(const struct sched *sched);

/*
 * Returns "running", "stopped" or "unsupported"; *why is the reason, "" if there is nothing to add.
 */
const char *sched_state(const struct sched *sched, enum sched_probe probe, const char **why);

/*
 * Reads what a probe that a PUT asked for has counted: until now if it runs, else until its end.
 * *data is `fresh`, or is borrowed; the caller calls sched_data_done(fresh) in any case. Returns 0;
 * -ENOENT if the probe never ran; -ENOMEM; another negative errno of reading.
 */
int sched_read(struct sched *sched, enum sched_probe probe, struct sched_data *fresh,
	       const struct sched_data **data);

struct sched_asking {
	enum sched_probe probe;
	unsigned seconds;
	unsigned times; /* measurements one after the other; 0: until it is cancelled */
	struct sched_scale scale;
	/* Gets 0 and the data, borrowed during the call, after each; or a negative errno, and no
	 * more come (-ESTALE: its groups changed meanwhile). */
	void (*done)(void *arg, int error, const struct sched_data *data);
	void *arg;
};

/*
 * Measures the next seconds, also while the probe is off; nothing else is altered. *ret is valid
 * until the last done(). Returns 0; -EBUSY if SCHED_WAITS_MAX are under way, or SCALED_MAX with a
 * scale; another negative errno; with a sentence in `why`.
 */
int sched_wait(struct sched *sched, const struct sched_asking *asking, struct sched_wait **ret,
	       struct why *why);

/* Ends a measurement now: done() gets what there is, for the last time. */
void sched_wait_finish(struct sched_wait *wait);

/* Ends a measurement whose time isn't over: done() gets -ECANCELED. */
void sched_wait_cancel(struct sched_wait *wait);

/* Cancels all measurements, at the end. */
void sched_cancel_waits(struct sched *sched);

/*
 * Follows the events of a probe from now on. Calls wake(arg) when there is one, or no more come.
 * Returns 0; -ENOENT if the probe doesn't run, or has no events; -EBUSY if SCHED_FOLLOWERS_MAX
 * follow; -ENOMEM.
 */
int sched_follow(struct sched *sched, enum sched_probe probe, void (*wake)(void *arg), void *arg,
		 struct sched_follower **ret);
void sched_unfollow(struct sched_follower *follower);

/*
 * Reads the follower's next event. Returns 1 if there is one (*missed: how many before it are
 * lost), 0 if there is none yet, -ENOENT if the probe was stopped.
 */
int sched_follower_next(struct sched_follower *follower, struct slow_entry *entry,
			uint64_t *missed);
