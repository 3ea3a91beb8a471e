/* SPDX-License-Identifier: GPL-2.0-only */
/* Plain data of the scheduler's programs that the daemon shares. Times are CLOCK_MONOTONIC ns. */
#pragma once

#include "bpf/shared/sample.h"

/* Why a task left its CPU. */
enum wait_state {
	WAIT_RUNNABLE, /* it would go on: preempted, or its slice was over */
	WAIT_SLEEP,    /* interruptible (S) */
	WAIT_DISK,     /* uninterruptible (D) */
	WAIT_OTHER,    /* stopped, traced, parked */
	WAIT_DEAD,     /* it never comes back */
	WAIT_STATES
};

/* What the daemon tells; changed at any time. Global variable `sched`, mapped. */
struct sched_settings {
	uint64_t session;	 /* records of another one are void */
	uint64_t closing;	 /* the window that is being closed, plus one; 0: none */
	uint64_t cut_ns;	 /* when it ended */
	uint64_t wait_since_ns;	 /* off-CPU is on: stacks of waits before that are void */
	uint64_t hists_since_ns; /* histograms are on */
	uint64_t minblock_ns;	 /* of whole waits */
	uint64_t maxblock_ns;
	uint64_t slow_ns;     /* run-queue delays above it are reported (runqslower) */
	uint32_t wait_states; /* 1 << enum wait_state: off-CPU's; 0: off-CPU is off */
	uint32_t wait_split;  /* the time after the wake-up apart */
	uint32_t wait_depth;  /* user frames walked */
	uint32_t all_seen;    /* at a window's end an iterator takes the stacks that waits lack */
	uint32_t hists;	      /* 1 << enum sched_probe */
	uint32_t everybody;   /* these are of all tasks, not of targets that are WANTED_SCHED */
	uint32_t group_by[SCHED_COUNT]; /* enum group_by */
};

enum group_by { GROUP_NONE, GROUP_PID, GROUP_TID, GROUP_PIDNS, GROUP_CGROUP, GROUP_CPU };

/* A wait that goes on is shown at a window's end only where maxblock lets it grow so old: else
 * nobody knows whether it will be left out. */
#define SHOWN_EARLY_NS 60000000000ULL

/*
 * Of each thread that is wanted: where it is now, and sums. A wait is told by `switches`, which the
 * kernel adds to each time that a thread leaves its CPU.
 */
struct thread_record {
	uint64_t session;
	uint64_t left_ns;     /* when it left its CPU last; 0: not seen, or it is back */
	uint64_t queued_ns;   /* when it became runnable after that; 0: it isn't, or not seen */
	uint64_t came_ns;     /* when it came to its CPU; 0: it is off, or not seen */
	uint64_t switches;    /* nvcsw + nivcsw when it left */
	uint64_t shown_ns;    /* until when that wait is in the counts; 0: not at all */
	uint64_t window;      /* that has the stack of that wait */
	struct stack_key key; /* … and which stack */
	uint32_t weight;      /* waits that this one stands for; 0: no stack was taken */
	uint32_t state;	      /* enum wait_state, in which it left */
	uint32_t cpu;	      /* in the counts (struct count_key) */
	uint32_t lost;	      /* that wait's stack was lost: no iterator takes it again */
	uint32_t pending;     /* its stack is cut: to be taken again, when (bpf/core/record.h) */
	uint32_t of_hists;    /* it is wanted for histograms */
	/* struct target_value's at that stack: with another one it is taken again. */
	uint32_t python, hotspot;
	uint64_t looks; /* of the iterator */
	/* Waits whose end has begun to be counted, was counted (bpf/sched/wait.h). */
	uint64_t ends, ended;
	uint64_t counted_from_ns;	 /* the last of these */
	uint64_t waited_ns[WAIT_STATES]; /* sums since the record began (end_wait()) */
	uint64_t wakeups;
};

/*
 * What is known of threads by a hash of their number, for a look that costs next to nothing. Those
 * that share a place cost a look at a record more, or are drawn more or less likely; nothing is
 * wrong by that. Map `marks`, key 0.
 */
#define MARKS 4096 /* a power of two */

struct marks {
	uint32_t open[MARKS];	  /* waits that go on and have a stack */
	uint32_t usual_us[MARKS]; /* how long they wait, about */
};

/* ---- histograms of the feature /sched ---- */

#define HIST_SLOTS   27	   /* [0, 1) us, [1, 2), [2, 4), … [2^25, forever) */
#define HISTS_MAX    10240 /* groups of one probe, by default */
#define LENGTH_SLOTS 64	   /* of runqlen, linear: that many tasks waited; the last one: or more */

/* Map `hists_all`, per CPU, key enum sched_probe: GROUP_NONE and GROUP_CPU. Map `hists_grouped`,
 * key struct hist_key. */
struct hist {
	uint64_t slots[HIST_SLOTS];
	uint64_t sum_ns;
	char comm[COMM_BYTES]; /* of the first one counted */
};

struct hist_key {
	uint64_t group; /* tgid, tid, inode number of a pid namespace, id of a cgroup */
	uint64_t probe; /* enum sched_probe */
};

/* Map `lengths`, per CPU, key 0: run-queue lengths seen. */
struct lengths {
	uint64_t slots[LENGTH_SLOTS];
};

#define SLICES_MAX 64 /* that a CPU remembers, a power of two */

/* Who ran on a CPU, and until when. */
struct slice {
	uint64_t ended_ns;
	uint64_t ran_ns;
	uint32_t tid;
	uint32_t tgid;
	char comm[COMM_BYTES];
};

/* A run-queue delay above sched_settings.slow_ns. Over ring buffer `slow`; behind it lie
 * `slices_count` struct slice, those that ended there while it waited, newest first. */
struct slow_event {
	uint64_t time_ns; /* when it came to the CPU */
	uint64_t delay_ns;
	uint32_t tgid, tid;
	uint32_t cpu;
	uint32_t slices_count;
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct thread_record) % 8 == 0, "a map value without padding");
_Static_assert(sizeof(struct slow_event) == 48, "the ring's records are 8-byte aligned");
