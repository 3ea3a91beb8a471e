/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of user memory of a task that isn't the current one: only the iterator itself can read that
 * memory, with its task at hand. A step of the walk that needs memory which isn't here fails and
 * says which memory that is; the iterator then copies it and does the step again
 * (bpf/waiting.bpf.c).
 */
#pragma once

#define COPIES	       16			  /* more than one step reads; a power of two */
#define COPY_BYTES_MAX (WINDOW_WORDS * ARCH_WORD) /* what unwind_regs.h reads at once */

struct copy {
	uint64_t from;
	uint32_t bytes; /* as the step asked for; 0: nothing */
	int32_t error;
	uint8_t data[COPY_BYTES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, COPIES);
	__type(key, uint32_t);
	__type(value, struct copy);
} copies SEC(".maps");

/* The first memory that was missing; bytes 0: none. */
struct {
	uint64_t from;
	uint32_t bytes;
} missing;

uint32_t copy_find(uint64_t from, uint32_t bytes);

/* Returns the number of the copy of that memory; COPIES: the memory can't be read, or isn't there
 * (then it is noted in `missing`). A global function: the verifier would walk the loop for each
 * place that reads memory, and in each state. */
__noinline uint32_t copy_find(uint64_t from, uint32_t bytes)
{
	for (uint32_t i = 0; i < COPIES; i++) {
		uint32_t number = i;
		const struct copy *copy = bpf_map_lookup_elem(&copies, &number);

		if (copy && copy->from == from && copy->bytes == bytes)
			return copy->error ? COPIES : i;
	}
	if (!missing.bytes) {
		missing.from = from;
		missing.bytes = bytes;
	}
	return COPIES;
}

/* Reads memory from the copies. Returns a negative number if the memory isn't there or can't be
 * read. */
static __always_inline long read_user(void *to, uint32_t bytes, uint64_t from)
{
	uint32_t number = copy_find(from, bytes);
	const struct copy *copy = bpf_map_lookup_elem(&copies, &number);

	if (!copy || bytes > COPY_BYTES_MAX)
		return -1;
	return bpf_probe_read_kernel(to, bytes, copy->data);
}
