/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of threads (struct thread_record): in the task's own storage, or before Linux 5.11 in a
 * hash map by thread number. A thread without a record costs next to nothing.
 */
#pragma once

#include "bpf/core/shared_maps.h"
#include "bpf/shared/scheduler.h"

/* Set before loading: the kernel has task storage. */
const volatile bool has_task_storage = true;

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct thread_record);
} records_by_tid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct marks);
} marks SEC(".maps");

static __always_inline struct marks *marks_get(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&marks, &zero);
}

/* Counts the open waits with a stack: 1, one has begun; -1, one has ended. */
static __always_inline void mark_open(uint32_t tid, int more)
{
	struct marks *all = marks_get();

	if (all)
		__sync_fetch_and_add(&all->open[tid & (MARKS - 1)], more);
}

/* Returns the record of a task; NULL: the task has no record. */
static __always_inline struct thread_record *record_find(struct task_struct *task)
{
	uint32_t tid;

	if (has_task_storage) {
		if (!task->bpf_storage)
			return NULL;
		return bpf_task_storage_get(&records, task, 0, 0);
	}
	tid = task->pid;
	return bpf_map_lookup_elem(&records_by_tid, &tid);
}

#define PENDING_ALWAYS (~0U)

/* Returns thread_record.pending of the stack of a wait. A truncated stack may become whole once a
 * missing table is there, or with other spans than those numbered `spans_number`; 0: the stack is
 * whole. */
static __always_inline uint32_t pending_of(uint32_t truncated, uint32_t spans_number)
{
	if (truncated == TRUNCATED_TABLE_PENDING)
		return PENDING_ALWAYS;
	return truncated == TRUNCATED_NOT ? 0 : spans_number + 1;
}

/* Returns whether a truncated stack may be whole if it is taken again now. */
static __always_inline bool is_mendable(const struct thread_record *record,
					const struct target_value *target)
{
	return record->pending && record->pending != target->spans_number + 1;
}

/* Returns the record of a task, and makes a record of zeros if there is none; NULL: there is no
 * room. */
static __always_inline struct thread_record *record_make(struct task_struct *task)
{
	struct thread_record *record;
	uint32_t tid;

	if (has_task_storage)
		return bpf_task_storage_get(&records, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	tid = task->pid;
	record = bpf_map_lookup_elem(&records_by_tid, &tid);
	if (!record) {
		static const struct thread_record none;

		bpf_map_update_elem(&records_by_tid, &tid, &none, BPF_NOEXIST);
		record = bpf_map_lookup_elem(&records_by_tid, &tid);
	}
	return record;
}

/* Clears a record of another session, and makes it one of this session. */
static __always_inline void record_begin(struct thread_record *record,
					 const struct sched_settings *settings)
{
	if (record->session == settings->session)
		return;
	__builtin_memset(record, 0, sizeof(*record));
	record->session = settings->session;
}

/* Removes the record of a thread that has ended. A record in task storage ends with the task. */
static __always_inline void record_drop(struct task_struct *task)
{
	uint32_t tid = task->pid;

	if (!has_task_storage)
		bpf_map_delete_elem(&records_by_tid, &tid);
}
