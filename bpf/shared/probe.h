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
	X(LLC, llc)
/* clang-format on */

#define PROBE_NUMBER(number, name) PROBE_##number,
enum probe { PROBE_LIST(PROBE_NUMBER) PROBE_COUNT };

/* The probes of the feature /sched (bpf/shared/sched_probes.h) share one choice of processes, so
 * the mask of what a process is wanted for has one bit for all, behind the bits of enum probe. */
#define WANTED_SCHED (1u << PROBE_COUNT)
/* The daemon has not decided yet whether the process is WANTED_SCHED: only what can be dropped
 * later is kept. */
#define MAYBE_SCHED (WANTED_SCHED << 1)

/* What a process has to be wanted for, one of these, so that its CPU times are kept
 * (bpf/shared/thread_times.h). */
#define TIMES_WANTED (WANTED_SCHED | MAYBE_SCHED | 1U << PROBE_OFFCPU)

/* Probes with points in the code of their targets. All processes with the same code pay for the
 * points as long as these exist, so the exit of a target of such a probe wakes the daemon. */
#define POINTS_IN_CODE (1U << PROBE_MEM_GLIBC)
