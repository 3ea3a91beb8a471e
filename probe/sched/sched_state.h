/* SPDX-License-Identifier: GPL-2.0-only */
/* What sched/sched.c (starts and stops probes), sched_slow.c, sched_wait.c, sched_follow.c and
 * sched_report.c share. Nobody else includes it. */
#pragma once

#include "sched/sched.h"

struct sched_probe_state {
	uint64_t since_ns;	/* 1970: when it was turned on */
	uint64_t since_event;	/* of runqslower: its first one */
	uint64_t generation;	/* adds up each time that it begins at zero */
	char failure[256];	/* why it can't run; "": it can */
	struct sched_data kept; /* at its last end */
	bool is_kept;
};

struct sched {
	struct sched_setup setup;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* while a probe is on */
	uint32_t tried;		       /* probes that were to be on, … */
	uint32_t on;		       /* … those that are, … */
	uint32_t configured;	       /* … and those that a PUT asked for */
	struct sched_hists_settings applied;
	struct sched_probe_state probes[SCHED_COUNT];

	struct slow_log *log; /* NULL: runqslower was never on */
	struct sched_wait *waits[SCHED_WAITS_MAX];
	struct sched_follower *followers[SCHED_FOLLOWERS_MAX];

	struct loop_timer report;
	uint64_t report_period_ns;
	struct hist reported[SCHED_COUNT]; /* sums at the last report */
	struct lengths reported_lengths;
	uint64_t reported_slow;
};

/* Turns probes on and off as it was told and is waited for. Errors as sched_apply(). */
int sched_reconcile(struct sched *sched, char *why, size_t why_bytes);

/* What the kernel has counted of a probe that is on. Errors as sched_read(). */
int sched_read_now(struct sched *sched, enum sched_probe probe, struct sched_data *data);

/* The tracer tells of a slow wait. */
void sched_on_slow(void *arg, const struct slow_event *event, const struct slice *slices);

/* Those from that number on, with the containers as they are known by now. -ENOMEM */
int sched_slow_events(struct sched *sched, struct sched_data *data, uint64_t from);

/* The probes that are waited for (sched_wait()). */
uint32_t sched_waited(const struct sched *sched);

/* There is an event, or no more of them. */
void sched_wake_followers(struct sched *sched);

/* Begins to report, or goes on with another period (`fresh` probes begin at zero); or ends. */
void sched_report_start(struct sched *sched, uint32_t fresh);
void sched_report_stop(struct sched *sched);
void sched_report(void *arg);

/* Now, in ns since 1970. */
uint64_t sched_time_ns(void);
