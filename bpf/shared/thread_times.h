/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data that the daemon shares with bpf/times.bpf.c and bpf/process/exited.h: CPU times,
 * switches and waits of threads and processes that are TIMES_WANTED (bpf/shared/probe.h).
 */
#pragma once

#include "bpf/shared/scheduler.h"

#define WAIT_KINDS WAIT_DEAD /* number of the states of enum wait_state that come to an end */
#define GONE_MAX   4096

enum switch_kind { SWITCH_VOLUNTARY, SWITCH_INVOLUNTARY, SWITCH_KINDS };

struct times {
	uint64_t run_ns;
	uint64_t switches[SWITCH_KINDS];
	uint64_t delay_ns; /* time runnable without a CPU; needs CONFIG_SCHED_INFO */
	uint64_t wakeups;  /* `wakeups` and `waited_ns` are from struct thread_record */
	uint64_t waited_ns[WAIT_KINDS]; /* from leaving a CPU to coming to one, by the state */
};

/* Record of one thread, as the iterator (bpf/times.bpf.c) writes it. */
struct thread_times {
	uint64_t start_ns; /* start of its process, CLOCK_BOOTTIME */
	uint64_t id;	   /* struct target_value.id */
	uint32_t tgid, tid;
	char comm[COMM_BYTES]; /* of its process */
	struct times own;
	struct times ended;    /* sums of the ended threads of its process */
	uint32_t probes;       /* what its process is wanted for, or was */
	uint32_t delays_known; /* 1: the kernel counts delays */
};

/*
 * Sums of the ended threads of a process: the kernel has such a sum only of run time and switches.
 * Map `gone`. A struct signal_struct can't become another process's while one of the threads
 * exists; another process that gets the address later has another pid.
 */
struct gone_key {
	uint64_t signal;
	uint64_t tgid;
};

struct gone {
	uint64_t start_ns; /* start of the process, CLOCK_BOOTTIME */
	uint64_t id;	   /* struct target_value.id, set when the last thread ends; 0: alive */
	/* When the parent waited for it, CLOCK_MONOTONIC: `times` is complete; 0: not yet. */
	uint64_t reaped_ns;
	uint64_t session; /* struct sched_settings.session of wakeups and waited_ns */
	/* Run time and switches are those of the whole process, as of its last event. */
	struct times times;
	/* Times of the main thread, which stays a zombie until the parent has waited for the
	 * process. */
	uint64_t main_run_ns;
	uint64_t main_switches[SWITCH_KINDS];
	uint32_t probes;       /* what the process is wanted for, or was */
	uint32_t delays_known; /* 1: the kernel counts delays */
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct thread_times) % 8 == 0, "the iterator's records are 8-byte aligned");
_Static_assert(sizeof(struct gone) % 8 == 0, "a map value without padding");
