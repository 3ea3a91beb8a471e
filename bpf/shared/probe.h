/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE LIST of probes: a number for masks and keys, and the name that probe/probes/NAME.c has. GET
 * and /metrics show them in this order.
 */
#pragma once

/* clang-format off */
#define PROBE_LIST(X) \
	X(ONCPU, oncpu) \
	X(OFFCPU, offcpu) \
	X(MEM, mem) \
	X(MEM_GLIBC, mem_glibc) \
	X(IO, io) \
	X(BLKIO, blkio) \
	X(READAHEAD, readahead) \
	X(WRITEBACK, writeback) \
	X(NET, net) \
	X(LLC, llc) \
	PROBE_SLOTS(X)

/* Slots of the list: the probes event:NAME, which a user names and defines (params.events). */
#define PROBE_SLOTS(X) \
	X(EVENT_0, event_0) X(EVENT_1, event_1) X(EVENT_2, event_2) X(EVENT_3, event_3) \
	X(EVENT_4, event_4) X(EVENT_5, event_5) X(EVENT_6, event_6) X(EVENT_7, event_7) \
	X(EVENT_8, event_8) X(EVENT_9, event_9) X(EVENT_10, event_10) X(EVENT_11, event_11) \
	X(EVENT_12, event_12) X(EVENT_13, event_13) X(EVENT_14, event_14) X(EVENT_15, event_15)
/* clang-format on */

#define PROBE_NUMBER(number, name) PROBE_##number,
enum probe { PROBE_LIST(PROBE_NUMBER) PROBE_COUNT };

#define PROBE_SLOT_FIRST  PROBE_EVENT_0
#define PROBE_SLOTS_COUNT (PROBE_COUNT - PROBE_SLOT_FIRST)

/* The probes of the feature /sched (bpf/shared/sched_probes.h) share one choice of processes, so
 * the mask of what a process is wanted for has one bit for all, behind the bits of enum probe. */
#define WANTED_SCHED (1u << PROBE_COUNT)
/* The daemon has not decided yet whether the process is WANTED_SCHED: only what can be dropped
 * later is kept. */
#define MAYBE_SCHED (WANTED_SCHED << 1)
/* The feature /proc. It follows no process; the bit is for what is loaded ahead. */
#define WANTED_COSTS (MAYBE_SCHED << 1)
_Static_assert(PROBE_COUNT + 3 <= 32, "a mask has a bit for each");

/* What a process has to be wanted for, one of these, so that its CPU times are kept
 * (bpf/shared/thread_times.h). */
#define TIMES_WANTED (WANTED_SCHED | MAYBE_SCHED | 1U << PROBE_OFFCPU)

/* Probes with points in the code of their targets. All processes with the same code pay for the
 * points as long as these exist, so the exit of a target of such a probe wakes the daemon. */
#define POINTS_IN_CODE (1U << PROBE_MEM_GLIBC | ((1U << PROBE_COUNT) - (1U << PROBE_SLOT_FIRST)))
