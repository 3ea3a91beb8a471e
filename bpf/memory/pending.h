/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls under way: what a thread's call of an allocator was given, until it returns. One for each
 * thread: an inner call takes the outer one's place, whose return then finds none (but what it may
 * have to put back). In the task's own storage, or (before Linux 5.11) in a hash by thread number.
 *
 * Most events have none, so how many returns are awaited is counted by where the stack will be
 * then. Of a session's programs, which are called at both, that tells most entries.
 */
#pragma once

#include "bpf/shared/allocations.h"
#include "bpf/core/maps.h"

#define UNDER_WAY 4096 /* a power of two */

struct pending {
	uint64_t sp;	/* right after its return; 0: there is none */
	uint64_t entry; /* the probed instruction */
	uint64_t bytes; /* that it stands for; 0: it isn't drawn */
	uint64_t objects;
	uint64_t place;	 /* CALL_POSIX_MEMALIGN: where the address will be */
	uint32_t call;	 /* enum call */
	uint32_t weight; /* the guard's */

	/* A call of CALL_REALLOC* took this out, and puts it back if it fails: the last one that is
	 * under way, maybe around the one above. */
	uint64_t old_sp; /* right after its return; 0: there is none */
	uint64_t old_address;
	struct allocation old;
};

/* Told before loading: the kernel has task storage. */
const volatile bool has_task_storage = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pending);
} calls_pending SEC(".maps");

/* A thread that ends in a call leaves its entry behind: those make room when it is needed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct pending);
} calls_by_tid SEC(".maps");

uint32_t under_way[UNDER_WAY]; /* a thread that ends in a call leaves its one behind: that costs
				  those that share it some ns, no more */

static __always_inline uint32_t *under_way_of(uint64_t sp)
{
	return &under_way[sp * 0x9e3779b97f4a7c15ULL >> 52 & (UNDER_WAY - 1)];
}

static __always_inline void count_under_way(uint64_t sp, int more)
{
	__sync_fetch_and_add(under_way_of(sp), more);
}

/* NULL: there is none. */
static __always_inline struct pending *pending_find(void)
{
	uint32_t tid;

	if (has_task_storage)
		return bpf_task_storage_get(&calls_pending, bpf_get_current_task_btf(), 0, 0);
	tid = bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&calls_by_tid, &tid);
}

/* NULL: there is no room. */
static __always_inline struct pending *pending_make(void)
{
	struct pending *pending;
	uint32_t tid;

	if (has_task_storage)
		return bpf_task_storage_get(&calls_pending, bpf_get_current_task_btf(), 0,
					    BPF_LOCAL_STORAGE_GET_F_CREATE);
	tid = bpf_get_current_pid_tgid();
	pending = bpf_map_lookup_elem(&calls_by_tid, &tid);
	if (!pending) {
		static const struct pending none;

		bpf_map_update_elem(&calls_by_tid, &tid, &none, BPF_NOEXIST);
		pending = bpf_map_lookup_elem(&calls_by_tid, &tid);
	}
	return pending;
}

/* A return was dealt with. */
static __always_inline void pending_end(const struct pending *pending)
{
	uint32_t tid;

	if (has_task_storage || pending->sp || pending->old_sp)
		return;
	tid = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&calls_by_tid, &tid);
}

_Static_assert(1 << 12 == UNDER_WAY, "the hash's bits");
