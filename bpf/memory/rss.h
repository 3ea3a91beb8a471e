/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reader of the kernel's counters for bpf/shared/faults.h: the resident pages of a process, and
 * what the kernel's memory management did on this CPU. */
#pragma once

#include "bpf/shared/faults.h"
#include "bpf/stack/stack.h"

/* Set before loading: struct fault_sizes, and what the kernel's BTF tells (capability/ktypes.h). */
const volatile int32_t huge_pages = 512, batch_pages = 32;

const volatile bool has_vm_events;
const volatile int64_t vm_events_behind_queue;
const volatile uint32_t cpu_values_at;

#define MAP_BYTES 512 /* bytes of a map's head in the kernel that are read at most */

/* The current thread, as far as a fault needs it. */
struct faulting {
	struct task_struct *task;
	uint64_t faults; /* faults of the thread that have ended */
	uint32_t tgid, tid;
	bool disabled; /* the kernel only tries, and won't handle this fault */
};

static __always_inline void look_at_faulting(struct faulting *now)
{
	struct task_struct *task;

	if (has_task_pt_regs) {
		task = bpf_get_current_task_btf();
		now->task = task;
		now->tgid = task->tgid;
		now->tid = task->pid;
		now->faults = task->min_flt + task->maj_flt;
		now->disabled = task->pagefault_disabled;
		return;
	}
	task = (void *)bpf_get_current_task();
	now->task = task;
	now->tgid = BPF_CORE_READ(task, tgid);
	now->tid = BPF_CORE_READ(task, pid);
	now->faults = BPF_CORE_READ(task, min_flt) + BPF_CORE_READ(task, maj_flt);
	/* This probe read itself disables page faults once. */
	now->disabled = BPF_CORE_READ(task, pagefault_disabled) > 1;
}

/*
 * Returns the distance from a percpu pointer to this CPU's part. The distance is the same as that
 * from the pointer in the head of a per-CPU array to this CPU's value in the array; `head`
 * (MAP_BYTES) is a buffer for a copy of the map's head. 0: the distance can't be found. Programs
 * have no other way to it: the kernel's own variables have names for programs only with
 * CONFIG_KALLSYMS_ALL.
 */
static __always_inline uint64_t cpu_offset(void *map, void *value, char *head)
{
	uint64_t spilled = 0;

	if (!cpu_values_at || cpu_values_at > MAP_BYTES - sizeof(uint64_t) ||
	    bpf_probe_read_kernel(head, MAP_BYTES, map) ||
	    bpf_probe_read_kernel(&spilled, sizeof(spilled), &value))
		return 0;
	return spilled - *(uint64_t *)(head + cpu_values_at);
}

/* Returns where this CPU's counters of vm events lie; 0: not known. */
static __always_inline uint64_t vm_events_at(struct task_struct *task)
{
	return has_vm_events && has_task_pt_regs
		       ? (uint64_t)task->se.cfs_rq->rq + vm_events_behind_queue
		       : 0;
}

/* Reads the counters of a kernel in which each CPU has its own part. Since 6.6 the four parts lie
 * side by side. */
static __always_inline bool read_by_cpu(struct task_struct *task, uint64_t offset,
					struct resident *now)
{
	struct mm_struct *mm = task->mm;
	uint64_t first, last;

	if (!mm)
		return false;
	now->sum[RSS_FILE] = mm->rss_stat[RSS_FILE].count;
	now->sum[RSS_ANON] = mm->rss_stat[RSS_ANON].count;
	now->sum[RSS_SHMEM] = mm->rss_stat[RSS_SHMEM].count;
	first = (uint64_t)mm->rss_stat[0].counters + offset;
	last = (uint64_t)mm->rss_stat[RSS_KINDS - 1].counters + offset;
	if (last - first == (RSS_KINDS - 1) * sizeof(int32_t))
		return !bpf_probe_read_kernel(now->own, sizeof(now->own), (void *)first);
	return !bpf_probe_read_kernel(&now->own[RSS_SHMEM], sizeof(int32_t), (void *)last) &&
	       !bpf_probe_read_kernel(&now->own[RSS_FILE], sizeof(int32_t), (void *)first) &&
	       !bpf_probe_read_kernel(&now->own[RSS_ANON], sizeof(int32_t),
				      (char *)mm->rss_stat[RSS_ANON].counters + offset);
}

/* Reads the counters of a kernel in which each thread has its own part. capability/ktypes has
 * checked that the structs are as expected. */
static __always_inline bool read_by_task(struct task_struct *task, struct resident *now)
{
	const struct task_struct *any = task;
	struct mm_struct___before *mm = (void *)BPF_CORE_READ(any, mm);
	struct task_rss_stat own;

	if (!mm || bpf_core_read(&own, sizeof(own), &any->rss_stat) ||
	    bpf_core_read(now->sum, sizeof(now->sum), &mm->rss_stat))
		return false;
	now->events = own.events;
	__builtin_memcpy(now->own, own.count, sizeof(now->own));
	return true;
}

/* Returns whether each CPU has its own part of a process's counters; else each thread has. */
static __always_inline bool has_own_by_cpu(void)
{
	return bpf_core_field_exists(((struct mm_struct *)0)->rss_stat);
}

/* Reads the counters of a task's process. `offset` is from cpu_offset(), and needed since 6.2.
 * Returns false if the counters can't be read. */
static __always_inline bool read_resident(struct task_struct *task, uint64_t offset,
					  struct resident *now)
{
	if (has_own_by_cpu())
		return has_task_pt_regs && offset && read_by_cpu(task, offset, now);
	if (bpf_core_field_exists(((struct task_struct *)0)->rss_stat))
		return read_by_task(task, now);
	return false;
}

int grown_pages(int32_t before, int32_t after, int64_t summed, uint32_t added);

/* Returns the pages that a fault added (bpf/shared/faults.h). A global function, so the verifier
 * checks it once, not for each kind in each state. */
__noinline int grown_pages(int32_t before, int32_t after, int64_t summed, uint32_t added)
{
	const struct fault_sizes sizes = {huge_pages, batch_pages};

	if (has_own_by_cpu())
		return grown_by_cpu(before, after, summed, &sizes);
	return grown_by_task(before, after, summed, added, &sizes);
}

/* Returns the pages of one kind that the fault added. `present`: a page was there before. */
static __always_inline int32_t grown_of(uint32_t kind, bool present, const struct resident *before,
					const struct resident *after)
{
	int64_t summed = after->sum[kind] - before->sum[kind];
	enum part_added added = ADDED_NOT;

	if (!has_own_by_cpu()) {
		added = part_added(before, after);
		/* A try before the last one can bring only a shared page that was not present. */
		if (added == ADDED_AGAIN && (present || kind == RSS_ANON))
			added = ADDED_FIRST;
	}
	return grown_pages(before->own[kind], after->own[kind], summed, added);
}

/* Numbers of pages that the kernel allocated on this CPU, and of shared pages that the kernel found
 * to have no other user. */
struct vm_events {
	uint64_t allocated, reused;
};

#define VM_EVENT(name)	bpf_core_enum_value(enum vm_event_item, name)
#define HAS_EVENT(name) bpf_core_enum_value_exists(enum vm_event_item, name)

static __always_inline uint64_t vm_event(uint64_t at, uint32_t number)
{
	uint64_t word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)(at + number * sizeof(word)));
	return word;
}

/* Reads the events at `at`, from vm_events_at(). Returns false if this kernel doesn't tell. */
static __always_inline bool read_vm_events(uint64_t at, struct vm_events *now)
{
	if (!at || !HAS_EVENT(PGREUSE) || !HAS_EVENT(PGALLOC_NORMAL))
		return false;
	now->reused = vm_event(at, VM_EVENT(PGREUSE));
	now->allocated = vm_event(at, VM_EVENT(PGALLOC_NORMAL));
	if (HAS_EVENT(PGALLOC_DMA32))
		now->allocated += vm_event(at, VM_EVENT(PGALLOC_DMA32));
	if (HAS_EVENT(PGALLOC_MOVABLE))
		now->allocated += vm_event(at, VM_EVENT(PGALLOC_MOVABLE));
	return true;
}
