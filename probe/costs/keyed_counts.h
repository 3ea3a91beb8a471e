/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often something of the whole host was counted, by a key of 8 bytes: who woke whom, from which
 * cgroup pages were evicted. Any thread, one at a time. */
#pragma once

#include <stddef.h>

#include "bpf/shared/process_cost.h"

struct keyed_count {
	union {
		uint64_t key; /* of a cgroup: the id of its kernfs node */
		struct wake_pair pair;
	};
	uint64_t count;
};

struct keyed_counts {
	struct keyed_count *all; /* owned, sorted by key; NULL: not counted */
	size_t count;
};

/* Reads a BPF map of 8-byte keys and values. Returns 0 or a negative errno; keyed_counts_done() is
 * to be called in any case. */
int keyed_counts_read(struct keyed_counts *counts, int fd);
void keyed_counts_done(struct keyed_counts *counts);

/* Copies counts in the place of older ones; those that aren't counted change nothing. Returns 0 or
 * -ENOMEM. */
int keyed_counts_copy(struct keyed_counts *to, const struct keyed_counts *from);

/* Subtracts what was counted before. */
void keyed_counts_subtract(struct keyed_counts *from, const struct keyed_counts *before);

/* Returns a copy of those that aren't 0, the largest count first, and how many in *count; the
 * caller frees it. NULL: no memory. */
struct keyed_count *keyed_counts_largest(const struct keyed_counts *counts, size_t *count);
