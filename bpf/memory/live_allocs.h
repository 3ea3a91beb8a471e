/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live allocations: the sampled allocations that are not freed yet. */
#pragma once

#include "bpf/shared/allocations.h"
#include "bpf/core/shared_maps.h"

/* Before Linux 6.1 programs can't call the kernel's own allocator; the daemon then has all entries
 * allocated in advance. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct allocation_key);
	__type(value, struct allocation);
} held SEC(".maps");

/* Adds a live allocation; an older one at the same address is replaced. Counts a loss if there is
 * no room. */
static __always_inline void hold_allocation(uint64_t address, uint32_t tgid,
					    const struct allocation *allocation)
{
	struct allocation_key key = {.address = address, .tgid = tgid};

	if (bpf_map_update_elem(&held, &key, allocation, BPF_ANY))
		count_loss(LOST_HELD_FULL, PROBE_MEM_GLIBC, allocation->objects);
}

/* Removes the live allocation at an address, into *was. Returns false if there is none. */
static __always_inline bool let_go(uint64_t address, uint32_t tgid, struct allocation *was)
{
	struct allocation_key key = {.address = address, .tgid = tgid};
	const struct allocation *found = bpf_map_lookup_elem(&held, &key);

	if (!found)
		return false;
	*was = *found;
	bpf_map_delete_elem(&held, &key);
	return true;
}
