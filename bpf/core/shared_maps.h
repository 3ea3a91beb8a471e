/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps that all BPF objects share. Each object declares these maps; the first object that is
 * loaded creates them, and the daemon hands their descriptors to the others. Sizes of 1 here are
 * set by the daemon before loading.
 */
#pragma once

#include "bpf/core/kernel_types.h"
#include "bpf/shared/code_copy.h"
#include "bpf/shared/sample.h"
#include "bpf/shared/known_files.h"
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

/* Unwind tables, mappings of processes, and layouts of runtimes. The daemon adds chunks when
 * needed. */
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, KNOWN_FILES_MAX);
	__type(key, struct known_file_key);
	__type(value, struct known_file);
} known_files SEC(".maps");

/* Ring buffer of the frames of stacks: each stack once in a window, and copies of code objects. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

/* Stacks that were sent in a window. There are two such maps and two maps of counts: the lowest bit
 * of the window's number chooses. */
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

/* Buffers of walks, and what they remember (unwind_env.h, memo.h). Behind the buffers of all levels
 * lie, for each level, the notes on code objects (python_copy.h): a map of its own would need a
 * descriptor. */
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

/* Returns the value, of which the verifier knows nothing any more. `unknown`: 64 bits that the
 * verifier doesn't know. (Where many ways come to one place, each with another constant, the
 * verifier would go on with each of them. So they are one.) */
static __always_inline uint64_t forget_value(uint64_t value, uint64_t unknown)
{
	value += unknown;
	asm volatile("" : "+r"(value));
	return value - unknown;
}

/* Returns whether the process of this entry is a target of the probe. `target` NULL: it is none. */
static __always_inline bool target_wants(const struct target_value *target, uint32_t probe)
{
	return target && target->probes & 1U << probe;
}

/* Counts `weight` lost samples or events of a probe (or of LOSERS_…). */
static __always_inline void count_loss(enum loss where, uint32_t of, uint64_t weight)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine && of < LOSERS_COUNT && where < LOST_COUNT)
		mine->lost[of][where] += weight;
}

/* Counts events that the guard left out (bpf/core/guard.h). */
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
