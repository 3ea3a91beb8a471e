/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE LIST of the probes of /sched: what the kernel's side counts, and at which moment. Numbers and
 * masks follow from it on both sides. What people read of a probe is in its row
 * (probe/sched/sched_kind.c).
 */
#pragma once

#ifndef __bpf__
#include <stdint.h>
#endif

/* What a probe counts into. */
enum sched_form {
	SCHED_HIST,    /* struct hist of each group: how long something took */
	SCHED_LENGTHS, /* struct lengths of each CPU */
	SCHED_EVENTS,  /* a log of struct slow_event */
	SCHED_FORMS
};

/* When a probe counts; at a switch `task` is the task that counts, `ns` what took so long, `state`
 * (enum wait_state) in which the task left, or leaves, its CPU. */
enum sched_moment {
	RUNQ_ENDED,    /* `task` gets its CPU, and was runnable for `ns`. Needs the wake-ups */
	SLICE_ENDED,   /* `task` leaves its CPU, and had it for `ns` */
	ABSENCE_ENDED, /* `task` gets its CPU, and left it `ns` ago, to sleep or preempted */
	CPU_LOOKED_AT  /* a clock of each CPU ticked (bpf/runqlen.bpf.c): of no task */
};

/* Number, form, moment, and what must hold then for the probe to count: C of the kernel's side, of
 * `task`, `ns`, `state` and `sched` (struct sched_settings). */
/* clang-format off */
#define SCHED_PROBES(X) \
	X(RUNQLAT,    SCHED_HIST,    RUNQ_ENDED,    true) \
	X(RUNQLEN,    SCHED_LENGTHS, CPU_LOOKED_AT, true) \
	X(RUNQSLOWER, SCHED_EVENTS,  RUNQ_ENDED,    ns > sched.slow_ns) \
	X(CPUDIST,    SCHED_HIST,    SLICE_ENDED,   true) \
	X(OFFCPUDIST, SCHED_HIST,    ABSENCE_ENDED, state == WAIT_SLEEP || state == WAIT_DISK) \
	X(OFFCPUSLOWER, SCHED_EVENTS, ABSENCE_ENDED, \
	  ns > sched.slow_ns && (state == WAIT_SLEEP || state == WAIT_DISK)) \
	X(FIRSTRUN,   SCHED_HIST,    RUNQ_ENDED,    task_switches(task) == 0)
/* clang-format on */

#define SCHED_NUMBER(number, form, moment, when) SCHED_##number,
enum sched_probe { SCHED_PROBES(SCHED_NUMBER) SCHED_COUNT };
#undef SCHED_NUMBER

/* Returns the form of a probe. */
static inline enum sched_form sched_form(enum sched_probe probe)
{
#define SCHED_FORM(number, form, moment, when) [SCHED_##number] = (form),
	const enum sched_form forms[] = {SCHED_PROBES(SCHED_FORM)};
#undef SCHED_FORM
	return forms[probe];
}

/* Returns the probes of a form (mask of 1 << enum sched_probe). */
static inline uint32_t sched_probes_of(enum sched_form wanted)
{
#define SCHED_IF(number, form, moment, when) | (uint32_t)((form) == wanted) << SCHED_##number
	return 0 SCHED_PROBES(SCHED_IF);
#undef SCHED_IF
}

/* Returns the probes that count at a moment (mask of 1 << enum sched_probe). */
static inline uint32_t sched_probes_at(enum sched_moment wanted)
{
#define SCHED_IF(number, form, moment, when) | (uint32_t)((moment) == wanted) << SCHED_##number
	return 0 SCHED_PROBES(SCHED_IF);
#undef SCHED_IF
}
