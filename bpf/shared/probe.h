/* SPDX-License-Identifier: GPL-2.0-only */
/* The numbers of the probes, in masks and keys. Names, units and hooks: probe/probes/kind.c. */
#pragma once

enum probe { PROBE_ONCPU, PROBE_OFFCPU, PROBE_MEM, PROBE_MEM_GLIBC, PROBE_COUNT };

/* Those of the feature /sched, which choose their processes together: the bit behind the probes'
 * in masks of what a process is wanted for. */
enum sched_probe {
	SCHED_RUNQLAT,
	SCHED_RUNQLEN,
	SCHED_RUNQSLOWER,
	SCHED_CPUDIST,
	SCHED_OFFCPUDIST,
	SCHED_COUNT
};
#define WANTED_SCHED (1u << PROBE_COUNT)
/* It isn't decided yet whether it is WANTED_SCHED: what can be dropped later is kept. */
#define MAYBE_SCHED (WANTED_SCHED << 1)
