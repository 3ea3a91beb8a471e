/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plain data that the daemon shares with bpf/costs.bpf.c: what processes have cost so far. The
 * kernel counts all of it itself, so nothing is added at a switch, a fault or a call.
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

#define COST_NUMBER(number, name) number,
enum cost { COST_LIST(COST_NUMBER) COSTS };
#undef COST_NUMBER

#define COSTS_ENDED_MAX	 16384	   /* processes of which a thread has ended */
#define COSTS_RING_BYTES (1 << 20) /* of records of processes that have ended: 5,000 */

struct cost_sums {
	uint64_t of[COSTS];
};

/* Whose it is. */
struct cost_owner {
	uint64_t start_ns; /* of the process, CLOCK_BOOTTIME */
	struct cgroup_key group;
	uint32_t tgid;
	uint32_t is_kernel; /* 1: a thread of the kernel */
	char comm[COMM_BYTES];
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
