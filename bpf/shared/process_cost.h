/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data that the daemon shares with bpf/costs.bpf.c: what processes have cost so far, which
 * the kernel counts itself; and with the programs that count beside it while a probe asks for them
 * (bpf/process/cost_counter.h).
 */
#pragma once

#include "bpf/shared/sample.h"

/* THE LIST of what is counted: a number, and the name in answers. What it means: doc/proc.md. */
#define COST_LIST(X)                                                                               \
	X(COST_RUN, "run_ns")                                                                      \
	X(COST_VOLUNTARY, "voluntary")                                                             \
	X(COST_INVOLUNTARY, "involuntary")                                                         \
	X(COST_DELAY, "delay_ns")                                                                  \
	X(COST_SLICES, "slices")                                                                   \
	X(COST_MIGRATIONS, "migrations")                                                           \
	X(COST_MINOR, "minor")                                                                     \
	X(COST_MAJOR, "major")                                                                     \
	X(COST_READ_CALLS, "read_calls")                                                           \
	X(COST_WRITE_CALLS, "write_calls")                                                         \
	X(COST_READ_CHARS, "read_chars")                                                           \
	X(COST_WRITE_CHARS, "write_chars")                                                         \
	X(COST_READ_BYTES, "read_bytes")                                                           \
	X(COST_WRITE_BYTES, "write_bytes")                                                         \
	X(COST_CANCELLED_BYTES, "cancelled_bytes")

/*
 * THE LIST of what programs of ours count, by process. The vectors of softirqs are in the kernel's
 * order (include/linux/interrupt.h).
 */
#define SOFTIRQ_LIST(X)                                                                            \
	X(SOFTIRQ_HI, "hi")                                                                        \
	X(SOFTIRQ_TIMER, "timer")                                                                  \
	X(SOFTIRQ_NET_TX, "net_tx")                                                                \
	X(SOFTIRQ_NET_RX, "net_rx")                                                                \
	X(SOFTIRQ_BLOCK, "block")                                                                  \
	X(SOFTIRQ_IRQ_POLL, "irq_poll")                                                            \
	X(SOFTIRQ_TASKLET, "tasklet")                                                              \
	X(SOFTIRQ_SCHED, "sched")                                                                  \
	X(SOFTIRQ_HRTIMER, "hrtimer")                                                              \
	X(SOFTIRQ_RCU, "rcu")
#define CACHE_LIST(X)                                                                              \
	X(CACHE_HIT, "page_hits")                                                                  \
	X(CACHE_ADDED, "pages_added")                                                              \
	X(CACHE_DIRTIED, "pages_dirtied")
#define WAKE_LIST(X)                                                                               \
	X(WAKE_WOKEN, "woken")                                                                     \
	X(WAKE_WAKES, "wakes")
#define PMU_LIST(X)                                                                                \
	X(PMU_CYCLES, "cycles")                                                                    \
	X(PMU_REF_CYCLES, "ref_cycles")                                                            \
	X(PMU_INSTRUCTIONS, "instructions")                                                        \
	X(PMU_CACHE_REFERENCES, "cache_references")                                                \
	X(PMU_CACHE_MISSES, "cache_misses")

#define COST_NUMBER(number, name)    number,
#define COST_OF_VECTOR(number, name) COST_##number, COST_##number##_NS,
enum softirq { SOFTIRQ_LIST(COST_NUMBER) SOFTIRQS };
enum cache_count { CACHE_LIST(COST_NUMBER) CACHE_COUNTS };
enum wake_count { WAKE_LIST(COST_NUMBER) WAKE_COUNTS };
enum pmu_count { PMU_LIST(COST_NUMBER) PMU_COUNTS };
#define COST_OF_EVENT(number, name) COST_##number,
enum cost {
	COST_LIST(COST_NUMBER) COSTS, /* those that the kernel keeps */
	COST_SOFTIRQ = COSTS,
	COST_SOFTIRQ_NS,
	SOFTIRQ_LIST(COST_OF_VECTOR) CACHE_LIST(COST_OF_EVENT) WAKE_LIST(COST_OF_EVENT)
		PMU_LIST(COST_OF_EVENT) COST_PMU_NS, /* time on CPUs while these counted */
	COST_RSS,				     /* no sum: resident memory, now */
	COST_VALUES
};
#undef COST_NUMBER
#undef COST_OF_VECTOR
#undef COST_OF_EVENT
#define COSTS_MORE (COST_RSS - COSTS)

/* Which program counts. */
enum cost_counter { COUNTER_SOFTIRQ, COUNTER_CACHE, COUNTER_WAKE, COUNTER_PMU, COST_COUNTERS };

#define COSTS_ENDED_MAX	 16384	   /* processes of which a thread has ended */
#define COSTS_RING_BYTES (1 << 20) /* of records of processes that have ended: 5,000 */

struct cost_sums {
	uint64_t of[COSTS];
};

/* What a program of ours has counted: of softirqs by vector, of the page cache, of wake-ups, by the
 * CPUs' counters. */
struct softirq_counts {
	uint64_t count[SOFTIRQS];
	uint64_t ns[SOFTIRQS];
};

struct cache_counts {
	uint64_t of[CACHE_COUNTS];
};

struct wake_counts {
	uint64_t of[WAKE_COUNTS];
};

struct pmu_counts {
	uint64_t of[PMU_COUNTS];
	uint64_t ns;			 /* time on CPUs while the counters counted */
	uint64_t not_run_ns[PMU_COUNTS]; /* time in which a counter had no turn, to be scaled */
};

/* Two processes, of which one has woken a thread of the other. */
struct wake_pair {
	uint32_t waker, woken; /* tgid */
};

#define WAKE_PAIRS_MAX 16384
#define EVICTING_MAX   16384 /* cgroups of which pages were evicted */

/* Whose it is, in these programs' maps; of the idle tasks all is 0. */
struct cost_counter_key {
	uint64_t start_ns; /* of the process, CLOCK_BOOTTIME */
	uint64_t tgid;
};

#define COST_COUNTERS_MAX 16384 /* processes with such counts */

/* Whose it is. */
struct cost_owner {
	uint64_t start_ns; /* of the process, CLOCK_BOOTTIME */
	struct cgroup_key group;
	uint32_t tgid;
	uint32_t is_kernel; /* 1: a thread of the kernel */
	char comm[COMM_BYTES];
	/* The process that forked it, while neither has called execve since; 0: one has, or it is
	 * gone. */
	uint64_t forker_start_ns;
	uint32_t forker;
	uint32_t has_execed; /* 1: it has called execve itself */
	uint64_t rss_pages;  /* resident, now; 0 of one that has ended */
};

/* Record of a thread, as the iterator writes it. */
struct thread_cost {
	struct cost_owner owner;
	struct cost_sums own;	/* 0 where `ended` may have it already */
	struct cost_sums ended; /* of the ended threads of its process */
};

/* Record of a process that has ended and that its parent has waited for. */
struct ended_cost {
	struct cost_owner owner;
	struct cost_sums all;
};

/*
 * Sums of ended threads that the kernel doesn't keep: by process, in the map `cost_ended`. The
 * address of its signal_struct is its own while a thread exists.
 */
struct cost_ended_key {
	uint64_t signal, tgid;
};

struct cost_ended {
	uint64_t delay_ns, slices, migrations;
};

_Static_assert(sizeof(struct thread_cost) % 8 == 0, "the iterator's records are 8-byte aligned");
