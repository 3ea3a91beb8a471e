/* SPDX-License-Identifier: GPL-2.0-only */
/* Something that a process holds: an allocation not freed yet, a mapping not taken back. Plain
 * data; what stack that is the stack cache knows (heap/stack_cache.h). */
#pragma once

#include "bpf/shared/sample.h"

struct live_alloc {
	struct stack_key stack;
	uint32_t tid;
	uint64_t bytes, objects; /* that it stands for */
	uint64_t time_ns;	 /* since then, CLOCK_MONOTONIC */
};

/* Which of them are asked for. */
struct live_alloc_filter {
	uint64_t since_ns;  /* these and younger ones; 0: all */
	uint64_t before_ns; /* these and older ones; UINT64_MAX: all */
	int pid;	    /* 0: all */
};

/* Before when something came that has that age now; 0: nothing did. */
static inline uint64_t live_alloc_before(uint64_t now_ns, uint64_t age_ns)
{
	return now_ns > age_ns ? now_ns - age_ns : 0;
}
