/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes hold, summed by stack and thread and put under its names: holdings -> a profile.
 * Bounded. On the bulk worker, for the stack cache is its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "profile/stack_detail.h"
#include "heap/live_alloc.h"
#include "heap/stack_cache.h"
#include "profile/profile.h"

/* A process that may hold something. */
struct live_owner {
	uint32_t pid;
	bool shown;	       /* its holdings are wanted */
	uint64_t since_ns;     /* what is older isn't its own */
	struct record_who who; /* as it is named now; no thread; a reference to its container */
};

struct live_sums;

/* Sums for `max` pairs of stack and thread. -ENOMEM */
int live_sums_new(struct live_sums **ret, size_t max);
void live_sums_free(struct live_sums *holdings);

/* What finds no room is counted. */
void live_sums_add(struct live_sums *holdings, const struct live_alloc *holding);

struct live_sums_result {
	uint64_t unknown;    /* objects of stacks that the stack cache doesn't know */
	uint64_t refused;    /* objects that found no room in the sums or in the profile */
	uint64_t unrecorded; /* objects that found no room in its records */
};

/* Adds their sums to the profile, whose view's titles it has; those of stacks that are an
 * allocator's own are left out. `holders` are in the order of their pids. */
void live_sums_show(const struct live_sums *holdings, struct stack_cache *stack_cache,
		    const struct live_owner *holders, size_t count,
		    const struct stack_detail *detail, struct profile *profile,
		    struct live_sums_result *result);

/* NULL: no holder has that pid. */
const struct live_owner *live_owner_find(const struct live_owner *holders, size_t count,
					 uint32_t pid);
