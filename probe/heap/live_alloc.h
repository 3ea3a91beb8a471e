/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocation that is not freed yet, or a mapping that is not unmapped yet. Plain data; the stack
 * cache knows the frames of its stack (heap/stack_cache.h).
 */
#pragma once

#include "bpf/shared/sample.h"

struct live_alloc {
	struct stack_key stack;
	uint32_t tid;
	uint64_t bytes, objects; /* that this sampled one stands for */
	uint64_t time_ns;	 /* when it was made, CLOCK_MONOTONIC */
	uint64_t older_ns;	 /* it goes on with one that is so much older */
};

/* Which allocations are asked for. */
struct live_alloc_filter {
	uint64_t since_ns;  /* made then or later; 0: all */
	uint64_t before_ns; /* made then or earlier; UINT64_MAX: all */
	int pid;	    /* of this process; 0: of all */
};

/* Returns the time before which an allocation of age `age_ns` was made; 0: it can't be that old. */
static inline uint64_t live_alloc_before(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}
