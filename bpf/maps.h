/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps that all objects share. Each object declares them; the first one loaded creates them
 * and the daemon hands their file descriptors to the others. Sizes that are 1 here are set by the
 * daemon before loading.
 */
#pragma once

#include "kernel.h"
#include "sample.h"
#include "packed.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct target_value);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct counters);
} counters SEC(".maps");

/* Unwind tables and processes' mappings. The daemon adds chunks as it needs them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(map_flags, BPF_F_MMAPABLE);
			__uint(max_entries, 1);
			__uint(key_size, sizeof(uint32_t));
			__uint(value_size, sizeof(struct chunk));
		});
} arena SEC(".maps");

/* `weight` samples are lost, or events. */
static __always_inline void count_loss(enum loss where, uint64_t weight)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && where < LOST_COUNT)
		mine->lost[where] += weight;
}

static __always_inline void count_sample(uint32_t probe)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && probe < PROBE_COUNT)
		mine->samples[probe]++;
}
