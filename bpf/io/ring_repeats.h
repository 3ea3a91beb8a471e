/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of io_urings that may complete more than once (multishot). A completion that more follow
 * has no request, only the user_data that the program gave to it: so the request is remembered by
 * the ring and that number. Two such requests of a ring with one number can't be told apart: what
 * completes meanwhile is not measured.
 *
 * An object that includes this header has a map of its own.
 */
#pragma once

#include "bpf/stack/probe_halves.h"

#define RING_REPEATS_MAX 4096

struct ring_number {
	uint64_t ring;
	uint64_t user_data;
};

struct ring_repeated {
	uint64_t request; /* the number of its half_event */
	uint32_t serial;  /* half_event.left: tells requests apart that had one address */
	uint32_t count;	  /* requests with that number; more than one: `request` is any of them */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH); /* requests whose half was dropped aren't forgotten */
	__uint(max_entries, RING_REPEATS_MAX);
	__type(key, struct ring_number);
	__type(value, struct ring_repeated);
} repeated_requests SEC(".maps");

/* Returns the event of a request; NULL: that request has ended. */
static __always_inline struct half_event *repeated_event(uint32_t probe,
							 const struct ring_repeated *repeated)
{
	struct half_key key = {.number = repeated->request, .probe = probe};
	struct half_event *event = bpf_map_lookup_elem(&halves, &key);

	return event && event->left == repeated->serial ? event : NULL;
}

/* Remembers a request. Returns false if there is no room. */
static __always_inline bool repeated_put(uint32_t probe, const struct ring_number *number,
					 uint64_t request, uint32_t serial)
{
	struct ring_repeated *earlier = bpf_map_lookup_elem(&repeated_requests, number);
	struct ring_repeated repeated = {.request = request, .serial = serial, .count = 1};

	if (earlier && repeated_event(probe, earlier)) {
		__sync_fetch_and_add(&earlier->count, 1);
		return true;
	}
	return !bpf_map_update_elem(&repeated_requests, number, &repeated, BPF_ANY);
}

/* Forgets a request that has come to its end. */
static __always_inline void repeated_forget(const struct ring_number *number)
{
	struct ring_repeated *repeated = bpf_map_lookup_elem(&repeated_requests, number);

	if (repeated && repeated->count > 1)
		__sync_fetch_and_add(&repeated->count, -1);
	else if (repeated)
		bpf_map_delete_elem(&repeated_requests, number);
}
