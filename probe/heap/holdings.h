/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What processes hold, summed by stack and thread and put under its names: holdings -> a profile.
 * Bounded. On the bulk worker, for the ledger is its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "profile/detail.h"
#include "heap/holding.h"
#include "heap/ledger.h"
#include "profile/profile.h"

/* A process that may hold something. */
struct holder {
	uint32_t pid;
	bool shown;	       /* its holdings are wanted */
	uint64_t since_ns;     /* what is older isn't its own */
	struct record_who who; /* as it is named now; no thread; a reference to its container */
};

struct holdings;

/* Sums for `max` pairs of stack and thread. -ENOMEM */
int holdings_new(struct holdings **ret, size_t max);
void holdings_free(struct holdings *holdings);

/* What finds no room is counted. */
void holdings_add(struct holdings *holdings, const struct holding *holding);

struct holdings_result {
	uint64_t unknown;    /* objects of stacks that the ledger doesn't know */
	uint64_t refused;    /* objects that found no room in the sums or in the profile */
	uint64_t unrecorded; /* objects that found no room in its records */
};

/* Adds their sums to the profile, whose view's titles it has; those of stacks that are an
 * allocator's own are left out. `holders` are in the order of their pids. */
void holdings_show(const struct holdings *holdings, struct ledger *ledger,
		   const struct holder *holders, size_t count, const struct detail *detail,
		   struct profile *profile, struct holdings_result *result);

/* NULL: no holder has that pid. */
const struct holder *holder_find(const struct holder *holders, size_t count, uint32_t pid);
