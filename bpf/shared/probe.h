/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the probes, in masks and keys. Names, units and hooks are in probe/probes/kind.c. */
#pragma once

enum probe { PROBE_ONCPU, PROBE_OFFCPU, PROBE_MEM, PROBE_MEM_GLIBC, PROBE_COUNT };

/* Probes of the feature /sched. All of them share one choice of processes, so the mask of what a
 * process is wanted for has one bit for all: WANTED_SCHED, behind the bits of enum probe. */
enum sched_probe {
	SCHED_RUNQLAT,
	SCHED_RUNQLEN,
	SCHED_RUNQSLOWER,
	SCHED_CPUDIST,
	SCHED_OFFCPUDIST,
	SCHED_COUNT
};
#define WANTED_SCHED (1u << PROBE_COUNT)
/* The daemon has not decided yet whether the process is WANTED_SCHED: only what can be dropped
 * later is kept. */
#define MAYBE_SCHED (WANTED_SCHED << 1)
