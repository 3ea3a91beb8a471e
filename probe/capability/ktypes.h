/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes an excerpt of the running kernel's BTF, with the few fields that the BPF programs read.
 * Without it libbpf reads and indexes all 5 MB of BTF for each object that is loaded, a large part
 * of the time between a PUT and the first sample. The excerpt is made once and has 1 KB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Features of the kernel that its BTF shows. */
struct ktypes {
	bool has_switch_end;   /* a tracepoint at a switch's end, sched_exit_tp (since 6.13) */
	bool has_switch_state; /* sched_switch has the state as a fourth argument (since 5.18) */
	bool has_run_delay;    /* each task's run-queue delays are counted (CONFIG_SCHED_INFO) */
	bool has_irq_times; /* tasks' run times are without interrupts (CONFIG_IRQ_TIME_ACCOUNTING)
			     */
	bool has_steal_times;  /* and without stolen time (CONFIG_PARAVIRT_TIME_ACCOUNTING) */
	bool has_call_counts;  /* each task's reads and writes (CONFIG_TASK_XACCT) */
	bool has_disk_counts;  /* and what of them went to disks (CONFIG_TASK_IO_ACCOUNTING) */
	bool has_group_queues; /* struct cfs_rq has `rq`: a task's queue leads to its CPU's */
	bool has_memory;       /* BPF programs have an allocator, bpf_mem_alloc (since 6.1) */
	int uprobe_session;    /* BPF_TRACE_UPROBE_SESSION (since 6.13); 0: there is none */
	bool has_moves;	       /* tracepoint cgroup_attach_task: a process gets another cgroup */
	bool has_dirty_folio;  /* tracepoint writeback_dirty_folio (since 5.18) */
	bool has_dirty_page;   /* its name before */
	/* tracepoint mm_filemap_add_to_page_cache: a folio comes to the page cache */
	bool has_added;
	/* Tracepoints say which pages are used (mm_filemap_get_pages, _map_pages, _fault; since
	 * 6.12), and which ones a read that reads ahead needs (page_cache_sync_ra, _async_ra). */
	bool has_uses, has_asked;
	/* of the tracepoint balance_dirty_pages: twelve, eight since 6.17; 0: there is none */
	int throttle_arguments;
	bool has_fault_tracepoints; /* page_fault_user, page_fault_kernel (not on all processors) */
	/* of io_uring_complete: 3, the last is the entry (newer than 6.12); more, the fourth is the
	 * result; 0: there is none, or no io_uring_submit_req (since 6.2) */
	int ring_arguments;
	bool has_socket_lengths; /* sock_send_length, sock_recv_length (since 6.3) */
	bool has_socket_states;	 /* inet_sock_set_state */
	bool has_socket_ends;	 /* tcp_destroy_sock */
	bool has_send_begin;	 /* tcp_sendmsg_locked: TCP has made room for a send's bytes */
	int retransmit_args;	 /* of tcp_retransmit_skb: 3, the last is an error; 2; 0: none */
	bool has_rss_counters;	 /* resident pages are in percpu counters of the mm (since 6.2) */
	bool has_task_rss;	 /* resident pages are also counted in each thread (before 6.2) */
	uint32_t cpu_values_at;	 /* bytes: offset of pptrs, the pointer to a per-CPU array's values,
				    in struct bpf_array; 0: unknown */
	/* A CPU's vm_event_states (counters of memory management) can be found: bytes from the
	 * CPU's struct rq to them. */
	bool has_vm_events;
	int64_t vm_events_behind_queue;
	bool has_blocks;	/* the tracepoints of bios and requests (CONFIG_BLOCK) */
	bool has_block_queues;	/* which have the queue as their first argument (before 5.11) */
	bool has_map_allocator; /* programs at tracepoints may use maps that grow (since 6.1) */
	bool has_issue_queue;	/* so has block_rq_issue (5.10's lost it later) */
	bool has_folio_heads;	/* struct page has compound_head: a folio is found by any page */
};

/* Makes the excerpt and fills in *ktypes. Returns a memfd with the excerpt, which the caller owns,
 * or a negative errno: -ENOENT or -ESRCH if the kernel has no BTF; -ENOMEM; others. */
int ktypes_open(struct ktypes *ktypes);

/* Looks for a tracepoint that BPF programs can have, in the whole of the kernel's types. Calls
 * each() for all others until it is found. Returns 1; 0: there is none; or a negative errno. Some
 * 50 ms. */
int ktypes_tracepoint(const char *name, void (*each)(void *arg, const char *name), void *arg);
