/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls that have begun, by thread: until the call returns or the thread ends. An object
 * that includes this header has a map of its own.
 */
#pragma once

#include "bpf/core/kernel_types.h"
#include "bpf/shared/io_calls.h"

struct begun_call {
	uint64_t began_ns;
	uint64_t number;
	/* What is known at the begin; 0, where the probe needs it at the return alone: */
	uint32_t events; /* the guard's: events that the call stands for */
	uint32_t part;	 /* struct count_key.part */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_CALLS_WAITING);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint64_t);
	__type(value, struct begun_call);
} begun_calls SEC(".maps");

/* Remembers the current thread's call. Returns false if there is no room. */
static __always_inline bool begun_put(const struct begun_call *begun)
{
	uint64_t id = bpf_get_current_pid_tgid();

	return bpf_map_update_elem(&begun_calls, &id, begun, BPF_ANY) == 0;
}

static __always_inline void begun_forget(void)
{
	uint64_t id = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&begun_calls, &id);
}

/* Takes the current thread's call with that number out of the map. Returns false if its begin was
 * not seen. */
static __always_inline bool begun_take(uint64_t number, struct begun_call *taken)
{
	uint64_t id = bpf_get_current_pid_tgid();
	const struct begun_call *begun = bpf_map_lookup_elem(&begun_calls, &id);

	if (!begun)
		return false;
	*taken = *begun;
	bpf_map_delete_elem(&begun_calls, &id);
	return taken->number == number;
}
