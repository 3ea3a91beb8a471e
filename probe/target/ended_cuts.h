/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was cut of the stacks of processes that have ended, by name, for some minutes: programs that
 * live for milliseconds are never in a list of processes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/sample.h"

#define ENDED_CUTS_MAX 64 /* names; the last one is for all others */

struct ended_cut {
	char comm[COMM_BYTES]; /* without a NUL if it is as long; empty: all others */
	uint64_t processes;    /* that had a cut stack */
	uint64_t from_code;
	uint64_t truncated[TRUNCATED_COUNT]; /* weight of their stacks, by cause */
};

struct ended_cuts_part {
	struct ended_cut each[ENDED_CUTS_MAX];
	size_t count;
};

/* The last 5 to 10 minutes. */
struct ended_cuts {
	struct ended_cuts_part now, before;
	uint64_t began_ns; /* of `now` */
};

struct target;

/* Adds a process that has ended, if a stack of it was cut. */
void ended_cuts_add(struct ended_cuts *cuts, const struct target *target, uint64_t now_ns);

/* Sets *sum to all that is known. */
void ended_cuts_sum(const struct ended_cuts *cuts, uint64_t now_ns, struct ended_cuts_part *sum);
