/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plain data that the scheduler's programs share with the daemon. Times are CLOCK_MONOTONIC, ns. */
#pragma once

#include "bpf/shared/sample.h"

/* Why a task left its CPU. */
enum wait_state {
	WAIT_RUNNABLE, /* runnable: preempted, or at the end of its slice */
	WAIT_SLEEP,    /* interruptible (S) */
	WAIT_DISK,     /* uninterruptible (D) */
	WAIT_OTHER,    /* stopped, traced, parked */
	WAIT_DEAD,     /* the task has ended */
	WAIT_STATES
};

/* What became of the stack of a wait with a weight. */
enum wait_stack {
	WAIT_STACK_TAKEN,
	WAIT_STACK_LOST,  /* no iterator takes it again */
	WAIT_STACK_LATER, /* it is taken when the wait is over (bpf/sched/returned.h) */
};

/*
 * Scaled measurements: a probe's values in cells of a width that somebody asked for. Cells lie in
 * the map of the measurement (map `scaled`, key: its number); a cell that counted nothing isn't
 * there.
 */
#define SCALED_MAX 4	 /* such measurements at once */
#define CELLS_MAX  16384 /* cells of one measurement */

struct cell_key {
	uint64_t group; /* as struct hist_key.group; GROUP_CPU: the CPU's number; GROUP_NONE: 0 */
	uint64_t cell;
};

struct cell {
	uint64_t count, sum_ns;
	char comm[COMM_BYTES]; /* of the first task counted */
};

/* Settings of the daemon, which may change at any time. Global variable `sched`, mapped. */
struct sched_settings {
	uint64_t session;	 /* records of another session are void */
	uint64_t closing;	 /* number of the window that is being closed, plus one; 0: none */
	uint64_t cut_ns;	 /* end of that window */
	uint64_t wait_since_ns;	 /* start of off-CPU; stacks of earlier waits are void */
	uint64_t hists_since_ns; /* start of the histograms */
	uint64_t minblock_ns;	 /* bounds of the length of a whole wait */
	uint64_t maxblock_ns;
	uint64_t slow_ns;     /* delays above this are reported (probes of SCHED_EVENTS) */
	uint32_t wait_states; /* mask of 1 << enum wait_state of off-CPU; 0: off-CPU is off */
	uint32_t wait_split;  /* 1: the time after the wake-up is counted apart */
	uint32_t wait_depth;  /* user frames walked at most */
	/* 1: when a window ends, an iterator takes the stacks that waits lack. */
	uint32_t all_seen;
	uint32_t hists; /* mask of 1 << enum sched_probe: histograms that are on */
	/* 1: histograms of all tasks, not only of targets with WANTED_SCHED. */
	uint32_t everybody;
	uint32_t group_by[SCHED_COUNT]; /* enum group_by */
	uint32_t scaled;		/* mask of 1 << number of a scaled measurement that is on */
	struct hist_scale {
		uint64_t unit_ns; /* width of a linear cell; or what powers of two are counted in */
		uint32_t powers;  /* 1: cell n > 0 is [2^(n-1), 2^n) units; 0: [n, n + 1) */
		uint32_t probe;	  /* enum sched_probe */
	} scales[SCALED_MAX];
};

enum group_by { GROUP_NONE, GROUP_PID, GROUP_TID, GROUP_PIDNS, GROUP_CGROUP, GROUP_CPU };

/* Least maxblock with which a wait that goes on is shown when a window ends. With a lower maxblock
 * nobody knows yet whether the wait will be left out. */
#define SHOWN_EARLY_NS 60000000000ULL

/*
 * Record of a thread that is wanted: its state now, and sums. `switches` tells one wait from
 * another: the kernel adds to it each time that a thread leaves its CPU.
 */
struct thread_record {
	uint64_t session;
	uint64_t left_ns;   /* when the thread left its CPU last; 0: not seen, or it is back */
	uint64_t queued_ns; /* when the thread became runnable after that; 0: not, or not seen */
	uint64_t came_ns;   /* when the thread came to its CPU; 0: it is off its CPU, or not seen */
	uint64_t switches;  /* nvcsw + nivcsw when the thread left */
	uint64_t shown_ns;  /* until when the wait is counted; 0: not counted yet */
	uint64_t window;    /* window that has the stack of the wait */
	struct stack_key key; /* key of that stack */
	/* Waits that this wait stands for; 0: it was not drawn, or its stack was lost. */
	uint32_t weight;
	uint32_t state;	   /* enum wait_state in which the thread left */
	uint32_t cpu;	   /* CPU in the counts (struct count_key) */
	uint32_t stack;	   /* enum wait_stack */
	uint32_t pending;  /* when a truncated stack is taken again (bpf/core/record.h); 0: never */
	uint16_t of_hists; /* 1: the thread is wanted for histograms */
	/* 1: `left_ns` is when the iterator saw the thread wait; the thread left before */
	uint8_t looked_at;
	uint8_t woken_unseen; /* 1: the thread is on its CPU, and nobody saw how it was woken */
	uint64_t delay_ns;    /* the kernel's sum of its waits for a CPU when the thread left */
	/* struct target_value's values when the stack was taken; with other values it is taken
	 * again. */
	uint32_t python, hotspot;
	uint64_t looks; /* looks of the iterator; a barrier (bpf/flush.bpf.c) */
	/* Number of waits whose end began to be counted, and was counted (bpf/sched/wait.h). */
	uint64_t ends, ended;
	uint64_t counted_from_ns;	 /* from when the last of these waits was counted */
	uint64_t waited_ns[WAIT_STATES]; /* sums by enum wait_state (end_wait()) */
	uint64_t wakeups;
};

/*
 * Table of threads by a hash of their number, for a look-up that costs next to nothing. Threads
 * that share a slot cost one more look-up of a record, or are drawn more or less often; the results
 * stay right. Map `marks`, key 0.
 */
#define MARKS 4096 /* a power of two */

struct marks {
	uint32_t open[MARKS];	  /* waits that go on and have a stack */
	uint32_t usual_us[MARKS]; /* about how long these threads wait, us; 0: not known */
};

/* ---- histograms of the feature /sched ---- */

#define HIST_SLOTS   27	   /* [0, 1) us, [1, 2), [2, 4), … [2^25, forever) */
#define HISTS_MAX    10240 /* default of the groups of one probe at most */
#define LENGTH_SLOTS 64	   /* of runqlen: slot n counts n waiting tasks; the last slot: or more */

/* A histogram. Value of the map `hists_all`, per CPU, key enum sched_probe (GROUP_NONE and
 * GROUP_CPU), and of the map `hists_grouped`, key struct hist_key. */
struct hist {
	uint64_t slots[HIST_SLOTS];
	uint64_t sum_ns;
	char comm[COMM_BYTES]; /* of the first task counted */
};

struct hist_key {
	uint64_t group; /* tgid, tid, inode number of a pid namespace, id of a cgroup */
	uint64_t probe; /* enum sched_probe */
};

/* Map `lengths`, per CPU, key 0: run-queue lengths seen. */
struct lengths {
	uint64_t slots[LENGTH_SLOTS];
};

#define SLICES_MAX 64 /* slices that a CPU remembers; a power of two */

/* A slice: the task that ran on a CPU, how long, and until when. */
struct slice {
	uint64_t ended_ns;
	uint64_t ran_ns;
	uint32_t tid;
	uint32_t tgid;
	char comm[COMM_BYTES];
};

/* A value above sched_settings.slow_ns of a probe of events. Record of the ring buffer `slow`.
 * Behind the struct lie `slices_count` struct slice: for a run-queue delay, the slices that ended
 * on that CPU while the task waited, newest first. */
struct slow_event {
	uint64_t time_ns; /* when the task came to the CPU */
	uint64_t delay_ns;
	uint32_t tgid, tid;
	uint32_t cpu;
	uint32_t slices_count;
	uint32_t probe; /* enum sched_probe */
	uint32_t state; /* enum wait_state in which the task left its CPU */
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct thread_record) % 8 == 0, "a map value without padding");
_Static_assert(sizeof(struct slow_event) == 56, "the ring's records are 8-byte aligned");
