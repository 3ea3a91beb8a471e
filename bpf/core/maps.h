/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps that all objects share. Each object declares them; the first one loaded creates them
 * and the daemon hands their file descriptors to the others. Sizes that are 1 here are set by the
 * daemon before loading.
 */
#pragma once

#include "bpf/core/kernel.h"
#include "bpf/shared/code_copy.h"
#include "bpf/shared/sample.h"
#include "bpf/shared/packed.h"
#include "bpf/core/walk.h"

#define WALK_LEVELS 3

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

/* Stacks' frames, each once in a window. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

/* Which of them were sent in a window. Two of each: the window's number tells which one. */
struct sent_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, uint32_t);
};
struct sent_map sent_even SEC(".maps");
struct sent_map sent_odd SEC(".maps");

struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct count_key);
	__type(value, struct stack_count);
};
struct counts_map counts_even SEC(".maps");
struct counts_map counts_odd SEC(".maps");

/* Buffers of walks and what they remember (reach.h, memo.h). Behind those of all levels lies, for
 * each, what it notes of code objects (python_copy.h): a map of its own would take a descriptor. */
#define CODE_COPYING_AT WALK_LEVELS
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CODE_COPYING_AT + WALK_LEVELS);
	__type(key, uint32_t);
	__type(value, struct walk);
} walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_LEVELS *MEMO_SLOTS);
	__type(key, uint32_t);
	__type(value, struct memo);
} memos SEC(".maps");

/* `weight` samples of a probe (or LOSERS_…) are lost, or events. */
static __always_inline void count_loss(enum loss where, uint32_t of, uint64_t weight)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && of < LOSERS_COUNT && where < LOST_COUNT)
		mine->lost[of][where] += weight;
}

/* By the guard (bpf/core/guard.h). */
static __always_inline void count_left_out(uint32_t probe, uint32_t events)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && probe < PROBE_COUNT)
		mine->left_out[probe] += events;
}

static __always_inline void count_sample(uint32_t probe)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && probe < PROBE_COUNT)
		mine->samples[probe]++;
}
