/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of live allocations by stack and thread: collects them, then adds them with their names to a
 * profile. Bounded. Jobs of the bulk worker only, as the stack cache is.
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

/* A process that may hold memory. */
struct live_owner {
	uint32_t pid;
	bool shown;	       /* its allocations are wanted */
	uint64_t since_ns;     /* CLOCK_MONOTONIC; older allocations aren't this process's */
	struct record_who who; /* as named now, without thread; with a container reference */
};

struct live_sums;

/* Creates sums for at most `max` pairs of stack and thread. Returns 0 or -ENOMEM. */
int live_sums_new(struct live_sums **ret, size_t max);
void live_sums_free(struct live_sums *holdings);

/* Adds an allocation to its sum; counts its objects as refused if there is no room. */
void live_sums_add(struct live_sums *holdings, const struct live_alloc *holding);

struct live_sums_result {
	uint64_t unknown;    /* objects of stacks that the stack cache doesn't know */
	uint64_t refused;    /* objects that found no room in the sums or in the profile */
	uint64_t unrecorded; /* objects that found no room in the profile's records */
};

/*
 * Adds the sums to the profile, but for stacks of an allocator's own mappings and of processes
 * that are no owners. The caller has set profile->view. `owners` are sorted by pid.
 */
void live_sums_show(const struct live_sums *holdings, struct stack_cache *stack_cache,
		    const struct live_owner *owners, size_t count,
		    const struct stack_detail *detail, struct profile *profile,
		    struct live_sums_result *result);

/* Returns the owner with that pid, or NULL. `owners` are sorted by pid. */
const struct live_owner *live_owner_find(const struct live_owner *owners, size_t count,
					 uint32_t pid);
