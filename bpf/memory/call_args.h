/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls under way: the arguments of a thread's call of an allocator, until the call returns. A
 * thread has one entry: an inner call replaces the outer one, whose return then finds no entry (but
 * may find an allocation to put back). The entries are in the task's own storage, or before Linux
 * 5.11 in a hash map by thread number.
 *
 * Most events have no entry. So the awaited returns are counted by the address of the stack at the
 * return. The programs of a session run at the entry and at the return; this count tells most
 * entries from returns.
 */
#pragma once

#include "bpf/shared/allocations.h"
#include "bpf/core/shared_maps.h"

#define UNDER_WAY 4096 /* a power of two */

struct pending {
	uint64_t sp;	/* sp right after the return; 0: no call */
	uint64_t entry; /* the probed instruction */
	uint64_t bytes; /* bytes that the call stands for; 0: not drawn */
	uint64_t objects;
	uint64_t place;	 /* CALL_POSIX_MEMALIGN: where the function will store the address */
	uint32_t call;	 /* enum call */
	uint32_t weight; /* weight of the guard */

	/* The allocation that a call of CALL_REALLOC* has removed and puts back if the call fails:
	 * the last such call under way, which may be outside of the call above. */
	uint64_t old_sp; /* sp right after its return; 0: no such call */
	uint64_t old_address;
	uint64_t born_ns; /* time of what it continues; 0: what it returns is new */
	struct allocation old;
};

/* Set before loading: the kernel has task storage. */
const volatile bool has_task_storage = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct pending);
} calls_pending SEC(".maps");

/* A thread that ends in a call leaves its entry behind; such entries make room when room is
 * needed. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct pending);
} calls_by_tid SEC(".maps");

/* Awaited returns, by a hash of sp. A thread that ends in a call leaves its count behind: that
 * costs the calls with the same hash some ns, no more. */
uint32_t under_way[UNDER_WAY];

static __always_inline uint32_t *under_way_of(uint64_t sp)
{
	return &under_way[sp * 0x9e3779b97f4a7c15ULL >> 52 & (UNDER_WAY - 1)];
}

static __always_inline void count_under_way(uint64_t sp, int more)
{
	__sync_fetch_and_add(under_way_of(sp), more);
}

/* Returns the entry of the current thread; NULL: there is none. */
static __always_inline struct pending *pending_find(void)
{
	uint32_t tid;

	if (has_task_storage)
		return bpf_task_storage_get(&calls_pending, bpf_get_current_task_btf(), 0, 0);
	tid = bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&calls_by_tid, &tid);
}

/* Returns the entry of the current thread, and makes an empty entry if there is none; NULL: there
 * is no room. */
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

/* Removes the entry after a return, if the entry awaits no other return. */
static __always_inline void pending_end(const struct pending *pending)
{
	uint32_t tid;

	if (has_task_storage || pending->sp || pending->old_sp)
		return;
	tid = bpf_get_current_pid_tgid();
	bpf_map_delete_elem(&calls_by_tid, &tid);
}

_Static_assert(1 << 12 == UNDER_WAY, "the hash's bits");
