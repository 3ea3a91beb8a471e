/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that the programs use. CO-RE finds the fields by name in the running kernel's
 * BTF, so neither the order nor the completeness of fields matters here.
 */
#pragma once

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

typedef __u8 uint8_t;
typedef __s8 int8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define RELOCATED __attribute__((preserve_access_index))

/* include/linux/sched.h */
#define PF_IO_WORKER 0x10 /* works for io_urings of its process, in the kernel alone */
#define PF_KTHREAD   0x00200000

struct percpu_counter {
	int64_t count;
	int32_t *counters; /* percpu pointer: a CPU's part is at the CPU's offset from here */
} RELOCATED;

/* bpf/unwind/uretprobe_stack.h */
struct uprobe_task;
struct uprobes_state {
	struct xol_area *xol_area;
} RELOCATED;

struct mm_struct {
	unsigned long exec_vm;
	struct percpu_counter rss_stat[4];  /* since 6.2 */
	unsigned long start_code, end_code; /* range of the program's own code */
	unsigned long total_vm, data_vm;    /* pages */
	int map_count;
	struct uprobes_state uprobes_state;
} RELOCATED;

struct mm_rss_stat {
	int64_t count[4];
};

/* The memory before 6.2. */
struct mm_struct___before {
	struct mm_rss_stat rss_stat;
} RELOCATED;

struct task_rss_stat {
	int events; /* faults since `count` was added to the process's counters */
	int count[4];
};

enum vm_event_item { PGREUSE, PGALLOC_DMA32, PGALLOC_NORMAL, PGALLOC_MOVABLE };

typedef struct {
	int counter;
} RELOCATED atomic_t;

struct rlimit {
	unsigned long rlim_cur;
} RELOCATED;

/* Fields exist as CONFIG_TASK_XACCT and CONFIG_TASK_IO_ACCOUNTING say. */
struct task_io_accounting {
	uint64_t rchar, wchar, syscr, syscw;
	uint64_t read_bytes, write_bytes, cancelled_write_bytes;
} RELOCATED;

struct signal_struct {
	atomic_t live;
	struct rlimit rlim[16]; /* by RLIMIT_… */
	int nr_threads;
	/* What follows is of the ended threads; times are ns. */
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
} RELOCATED;

/* Exists with CONFIG_SCHED_INFO. */
struct sched_info {
	unsigned long pcount;	      /* times on a CPU */
	unsigned long long run_delay; /* ns */
} RELOCATED;

struct kernfs_node {
	uint64_t id;
	const char *name;
	struct kernfs_node *parent; /* before 6.15 */
} RELOCATED;

struct kernfs_node___since {
	struct kernfs_node *__parent;
} RELOCATED;

struct cgroup_root;

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
} RELOCATED;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
} RELOCATED;

enum cgroup_subsys_id { memory_cgrp_id, pids_cgrp_id, cpu_cgrp_id };

struct css_set {
	struct cgroup *dfl_cgrp;
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
} RELOCATED;

struct ns_common {
	unsigned int inum;
} RELOCATED;

struct pid_namespace {
	struct ns_common ns;
} RELOCATED;

struct upid {
	int nr;
	struct pid_namespace *ns;
} RELOCATED;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} RELOCATED;

struct rq;

/* A queue of tasks, or of groups of tasks. */
struct cfs_rq {
	struct rq *rq;		    /* exists where there are groups */
	unsigned int h_nr_queued;   /* tasks, also those in groups; since 6.14 */
	unsigned int h_nr_runnable; /* of these, the runnable tasks; since 6.14 */
	unsigned int h_nr_delayed;  /* tasks that sleep; in 6.12 and 6.13 */
} RELOCATED;

/* Run queue of a CPU. */
struct rq {
	unsigned int nr_running;
	struct cfs_rq cfs;
} RELOCATED;

struct sched_entity {
	struct cfs_rq *cfs_rq;		/* exists where there are groups */
	uint64_t sum_exec_runtime;	/* ns, as of the last tick of its CPU */
	uint64_t prev_sum_exec_runtime; /* the same when the task came to its CPU */
	uint64_t nr_migrations;
} RELOCATED;

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
} RELOCATED;

struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	char comm[16];
	void *stack;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	uint64_t start_boottime;
	struct task_struct *real_parent;
	unsigned int parent_exec_id, self_exec_id; /* the latter's low half, from 5.8 on */
	unsigned int in_execve : 1;
	unsigned int __state; /* since 5.14 */
	int exit_state;
	struct sched_info sched_info;
	unsigned long nvcsw, nivcsw;
	unsigned int on_cpu; /* unsigned, so the size of the kernel's field may differ */
	void *bpf_storage;   /* since 5.11 */
	struct pid *thread_pid;
	struct css_set *cgroups;
	struct sched_entity se;
	struct uprobe_task *utask; /* bpf/unwind/uretprobe_stack.h */
	unsigned long min_flt, maj_flt;
	struct task_io_accounting ioac;
	int pagefault_disabled;
	struct task_rss_stat rss_stat; /* before 6.2 */
	struct thread_struct thread;
} RELOCATED;

/* The task before 5.14. CO-RE ignores what follows three underscores in a name. */
struct task_struct___before {
	volatile long state;
} RELOCATED;
