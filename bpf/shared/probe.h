/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the probes, in masks and keys. Names, units and hooks are in probe/probes/kind.c. */
#pragma once

enum probe { PROBE_ONCPU, PROBE_OFFCPU, PROBE_MEM, PROBE_MEM_GLIBC, PROBE_COUNT };

/* The probes of the feature /sched (bpf/shared/sched_probes.h) share one choice of processes, so
 * the mask of what a process is wanted for has one bit for all, behind the bits of enum probe. */
#define WANTED_SCHED (1u << PROBE_COUNT)
/* The daemon has not decided yet whether the process is WANTED_SCHED: only what can be dropped
 * later is kept. */
#define MAYBE_SCHED (WANTED_SCHED << 1)
