/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to sched/sched.c (starts and stops probes), sched_slow.c, sched_wait.c, sched_follow.c
 * and sched_report.c.
 */
#pragma once

#include "sched/sched.h"

/* What a probe has counted, of all groups; which of the three depends on its form. */
union sched_sum {
	struct hist hist;
	struct lengths lengths;
	uint64_t events;
};

struct sched_probe_state {
	uint64_t since_ns;	/* when it was turned on, ns since 1970 */
	struct slow_log *log;	/* of a probe of events; NULL: it was never on */
	uint64_t since_event;	/* number of its first event in the log */
	uint64_t generation;	/* incremented each time it begins at zero */
	struct why failure;	/* why it can't run; "": it can */
	struct sched_data kept; /* data at its last end */
	bool is_kept;
	union sched_sum reported; /* until the last report */
};

struct sched {
	struct sched_setup setup;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* NULL: no probe is on */
	uint32_t tried;		       /* probes that were to be on, … */
	uint32_t on;		       /* … those that are on, … */
	uint32_t configured;	       /* … and those that a PUT asked for */
	struct sched_hists_settings applied;
	struct sched_probe_state probes[SCHED_COUNT];

	struct sched_wait *waits[SCHED_WAITS_MAX];
	struct sched_follower *followers[SCHED_FOLLOWERS_MAX];

	struct loop_timer report;
	uint64_t report_period_ns;
};

/* Turns probes on and off as the spec and the measurements need. Errors as sched_apply(). */
int sched_reconcile(struct sched *sched, struct why *why);

/* Reads what the kernel's side has counted of a probe that is on. Errors as sched_read(). */
int sched_read_now(struct sched *sched, enum sched_probe probe, struct sched_data *data);

/* Takes a slow wait from the tracer. */
void sched_on_slow(void *arg, const struct slow_event *event, const struct slice *slices);

/*
 * Adds the events of data->probe from that number on, with their containers as known by now.
 * Returns 0 or -ENOMEM.
 */
int sched_slow_events(struct sched *sched, struct sched_data *data, uint64_t from);

/* Returns the number that the probe's next event will have. */
uint64_t sched_next_event(const struct sched *sched, enum sched_probe probe);

/* Returns the probes that are measured by sched_wait(). */
uint32_t sched_waited(const struct sched *sched);

/* Wakes the followers: there is an event, or there are no more. */
void sched_wake_followers(struct sched *sched);

/* Start reports, or change their period; stop them. */
void sched_report_start(struct sched *sched);
void sched_report_stop(struct sched *sched);
void sched_report(void *arg);

/* Returns the time now, ns since 1970. */
uint64_t sched_time_ns(void);
