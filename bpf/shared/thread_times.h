/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plain data that the daemon shares with bpf/times.bpf.c and bpf/process/gone.h: what threads and
 * processes had of their CPUs.
 */
#pragma once

#include "bpf/shared/scheduler.h"

/* Processes that are wanted for one of these have such sums. */
#define TIMES_WANTED (WANTED_SCHED | MAYBE_SCHED | 1U << PROBE_OFFCPU)

#define WAIT_KINDS   WAIT_DEAD /* the states of enum wait_state that come to an end */
#define GONE_MAX     4096

enum switch_kind { SWITCH_VOLUNTARY, SWITCH_INVOLUNTARY, SWITCH_KINDS };

struct times {
	uint64_t run_ns;
	uint64_t switches[SWITCH_KINDS];
	uint64_t delay_ns;		/* runnable, without a CPU; CONFIG_SCHED_INFO */
	uint64_t wakeups;		/* these two are of struct thread_record */
	uint64_t waited_ns[WAIT_KINDS]; /* from leaving a CPU to coming to one, by the state */
};

/* One thread, as the iterator gives it. */
struct thread_times {
	uint64_t start_ns; /* of its process, CLOCK_BOOTTIME */
	uint64_t id;	   /* struct target_value.id */
	uint32_t tgid, tid;
	char comm[COMM_BYTES]; /* of its process */
	struct times own;
	struct times ended;    /* of those threads of its process that have ended */
	uint32_t probes;       /* what its process is wanted for, or was */
	uint32_t delays_known; /* the kernel counts delays */
};

/*
 * What a process's threads had that ended: the kernel has no sum of it, but of run time and
 * switches. Map `gone`; a struct signal_struct can't become another process's while one of the
 * threads is there, and when one does later, it is with another pid.
 */
struct gone_key {
	uint64_t signal;
	uint64_t tgid;
};

struct gone {
	uint64_t start_ns;  /* of its process, CLOCK_BOOTTIME */
	uint64_t id;	    /* struct target_value.id, once its last thread ends; 0: it lives */
	uint64_t reaped_ns; /* CLOCK_MONOTONIC: its parent knows; `times` is complete. 0: not yet */
	uint64_t session;   /* struct sched_settings.session, of wakeups and waited_ns */
	/* Run time and switches are the whole process's, as of its last event. */
	struct times times;
	/* Of its main thread, which stays a zombie until the process has been waited for. */
	uint64_t main_run_ns;
	uint64_t main_switches[SWITCH_KINDS];
	uint32_t probes;       /* what its process is wanted for, or was */
	uint32_t delays_known; /* the kernel counts delays */
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct thread_times) % 8 == 0, "the iterator's records are 8-byte aligned");
_Static_assert(sizeof(struct gone) % 8 == 0, "a map value without padding");
