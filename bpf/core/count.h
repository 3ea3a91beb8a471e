/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds to the counts of stacks in a window. */
#pragma once

#include "bpf/core/shared_maps.h"

/* Linux 5.10 lacks the atomic "or" that the compiler makes of adding nothing. */
static __always_inline void add_number(uint64_t *to, uint64_t more)
{
	if (more)
		__sync_fetch_and_add(to, more);
}

static __always_inline bool count_known(void *counts, const struct count_key *key,
					const struct stack_count *more)
{
	struct stack_count *known = bpf_map_lookup_elem(counts, key);

	if (!known)
		return false;
	add_number(&known->weight, more->weight);
	add_number(&known->samples, more->samples);
	add_number(&known->events, more->events);
	add_number(&known->waiting, more->waiting);
	return true;
}

/* Adds to a stack's count in a window, or makes the count. The caller writes out the map: the
 * verifier has to know which map it is. */
static __always_inline bool count_in(void *counts, const struct count_key *key,
				     const struct stack_count *more)
{
	return count_known(counts, key, more) ||
	       bpf_map_update_elem(counts, key, more, BPF_NOEXIST) == 0 ||
	       count_known(counts, key, more); /* another CPU was faster */
}

static __always_inline bool add_count(uint64_t window, const struct count_key *key,
				      const struct stack_count *more)
{
	bool added =
		window & 1 ? count_in(&counts_odd, key, more) : count_in(&counts_even, key, more);

	if (!added)
		count_loss(LOST_COUNTS_FULL, key->stack.probe, more->events);
	return added;
}
