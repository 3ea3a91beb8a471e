/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few kernel types that the programs use. CO-RE finds the fields by name in the running
 * kernel's BTF, so order and completeness don't matter here.
 */
#pragma once

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s32 int32_t;
typedef __s64 int64_t;

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define RELOCATED  __attribute__((preserve_access_index))

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

struct mm_struct {
	unsigned long exec_vm;
} RELOCATED;

typedef struct {
	int counter;
} RELOCATED atomic_t;

struct signal_struct {
	atomic_t live;
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
	unsigned int in_execve : 1;
} RELOCATED;
