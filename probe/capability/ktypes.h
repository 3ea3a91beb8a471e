/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An excerpt of the running kernel's BTF with the few fields that the BPF programs read. libbpf
 * would read and index all 5 MB of it again for each object that is loaded, a large part of the
 * time between a PUT and the first sample; this is done once, and 1 KB is kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What else the BTF tells. */
struct ktypes {
	bool has_switch_state; /* sched_switch has the state as a fourth argument (since 5.18) */
	bool has_run_delay;    /* each task's run-queue delays are counted (CONFIG_SCHED_INFO) */
	bool has_group_queues; /* a task's queue leads to its CPU's */
	bool has_memory;       /* programs have an allocator of their own (since 6.1) */
	int uprobe_session;    /* BPF_TRACE_UPROBE_SESSION (since 6.13); 0: there is none */
	bool has_moves;	       /* cgroup_attach_task tells of processes that get other cgroups */
	bool has_fault_tracepoints; /* page_fault_user, page_fault_kernel (not on each processor) */
	bool has_rss_counters;	/* a process's resident pages are in percpu counters (since 6.2) */
	bool has_task_rss;	/* … in each thread's own (before) */
	uint32_t cpu_values_at; /* where in a per-CPU array's head its values' pointer is; 0:
				   unknown */
	/* What the kernel's memory management did on a CPU can be found: it lies so far behind the
	 * CPU's struct rq. */
	bool has_vm_events;
	int64_t vm_events_behind_queue;
};

/* A memfd with the excerpt, which lives as long as the caller likes. -ENOENT: the kernel has no
 * BTF; -ENOMEM, negative errno. */
int ktypes_open(struct ktypes *ktypes);
