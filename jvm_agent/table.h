/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of words by word (not 0), open addressing, in pages. Under the agent's lock. */
#pragma once

#include "sys.h"

struct table_slot {
	uint64_t key; /* 0: free; 1: given back */
	uint64_t value;
};

struct table {
	struct table_slot *slots;
	size_t room; /* a power of two, or 0 */
	size_t used; /* slots that aren't free */
	size_t count;
};

#define TABLE_MAX (1U << 20) /* slots */

/* NULL: it isn't there. */
struct table_slot *table_find(const struct table *table, uint64_t key);
/* Puts it in, or in the place of what is there. False: no room. */
bool table_put(struct table *table, uint64_t key, uint64_t value);
void table_drop(struct table *table, struct table_slot *slot);
void table_free(struct table *table);
