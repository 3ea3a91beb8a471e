/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder's environment: buffers of walks, the arena, user memory, and what probes hide of a
 * task. In a native build these functions belong to a recorded image (test/unwind/replay.c);
 * nothing else differs.
 *
 * A walk owns its buffer. A CPU has one for each nesting level (task, interrupt, NMI), taken and
 * given back by a count. A program in a task's own context (a uprobe's) may be preempted by another
 * task's, so levels don't nest like brackets: a program that finds the count at 1 after adding to
 * it was alone. Two programs that come at once may both find more, and take the next buffer.
 */
#pragma once

#include "bpf/core/walk.h"

/* bpf/unwind/uretprobe_stack.h */
#define PROBES_PAGE 1
uint64_t probed_return(uint32_t level, uint64_t stack, uint32_t slack);
uint64_t probed_place(uint32_t level, uint64_t pc);

/* A number (a bound of a search, an index) that is kept in the walk's memory, of which the verifier
 * knows nothing: else the verifier would follow each way that the number may go. */
#define BOUND(bound) (*(volatile uint32_t *)&(bound))

#ifdef __bpf__

#include "bpf/core/shared_maps.h"

/* Set before loading: the runtimes whose frames these programs walk (WALKS_). The verifier doesn't
 * walk what is for the others. */
const volatile uint32_t runtimes_walked = WALKS_ALL;

/* An object is made twice of one source: with all walkers, and with none, which is smaller. */
#ifdef WALKS_NATIVE
#define walks_runtimes 0U
#else
#define walks_runtimes runtimes_walked
#endif

#ifdef WALKS_OTHERS

/* Walks of tasks that aren't the current one: one walk at a time, in a program that may sleep. */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct walk);
} walk_of_others SEC(".maps");

static __always_inline struct walk *walk_at(uint32_t level)
{
	return bpf_map_lookup_elem(&walk_of_others, &level);
}

static __always_inline struct memo *memo_at(uint32_t number)
{
	return NULL;
}

#include "bpf/unwind/task_copy.h"

#else

static __always_inline struct walk *walk_at(uint32_t level)
{
	return bpf_map_lookup_elem(&walks, &level);
}

static __always_inline struct memo *memo_at(uint32_t number)
{
	return bpf_map_lookup_elem(&memos, &number);
}

static __always_inline long read_user(void *to, uint32_t bytes, uint64_t from)
{
	return bpf_probe_read_user(to, bytes, (const void *)from);
}

#endif

#include "bpf/unwind/uretprobe_stack.h"

/* Returns the chunk that holds a word of the arena, or NULL. */
static __always_inline const struct chunk *chunk_of(uint32_t word)
{
	uint32_t number = word >> CHUNK_WORDS_SHIFT, zero = 0;
	void *chunk = bpf_map_lookup_elem(&arena, &number);

	return chunk ? bpf_map_lookup_elem(chunk, &zero) : NULL;
}

/* Takes a buffer and returns its level. Returns a negative number if all are taken: a sample of the
 * probe, of that `weight`, is counted as lost. */
static __always_inline int walk_take(uint32_t probe, uint64_t weight)
{
	for (int level = 0; level < WALK_LEVELS; level++) {
		struct walk *walk = walk_at(level);

		if (!walk || walk->busy)
			continue;
		__sync_fetch_and_add(&walk->busy, 1);
		if (*(volatile uint32_t *)&walk->busy == 1)
			return level;
		__sync_fetch_and_add(&walk->busy, -1);
	}
	count_loss(LOST_WALK_BUSY, probe, weight);
	return -1;
}

static __always_inline void walk_give_back(struct walk *walk)
{
	__sync_fetch_and_add(&walk->busy, -1);
}

#else

#include <stddef.h>

#define __noinline __attribute__((noinline))

struct walk *walk_at(uint32_t level);
struct memo *memo_at(uint32_t number);
const struct chunk *chunk_of(uint32_t word);
long read_user(void *to, uint32_t bytes, uint64_t from);

static uint32_t walks_runtimes = WALKS_ALL;

#endif

/* Return where the layout of the process's Python or Java VM lies in the arena; 0: there is none,
 * or this program doesn't walk it. */
static __always_inline uint32_t python_of(const struct walk *walk)
{
	return walks_runtimes & WALKS_PYTHON ? walk->python_at : 0;
}

static __always_inline uint32_t hotspot_of(const struct walk *walk)
{
	return walks_runtimes & WALKS_JAVA ? walk->hotspot_at : 0;
}
