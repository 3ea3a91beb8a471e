/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds what uprobes hide of a task. While a function runs whose return is probed, its return
 * address on the stack is the kernel's: the first address of a page of the process ([uprobes]),
 * which calls the kernel. The true address is in the task's list of calls whose return is awaited,
 * innermost first, by the stack pointer at the function's entry. An instruction that the kernel
 * couldn't emulate is executed in that page, too, for another place.
 *
 * Source: Linux's kernel/events/uprobes.c (prepare_uretprobe, xol_get_insn_slot),
 * arch/x86/kernel/uprobes.c (uretprobe_trampoline_entry).
 */
#pragma once

#include "bpf/core/walk.h"

#define RETURNS_MAX  64	  /* kernel: MAX_URETPROBE_DEPTH */
#define RETURNS_STEP 8	  /* calls looked at by one call of returns_skip() */
#define SLOT_BYTES   16	  /* more than an instruction has */
#define PAGE_LEAST   4096 /* the page's slots lie in that much of it */

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
} RELOCATED;

/* Probe state of a task that has come to a probe. */
struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long xol_vaddr; /* where the single-stepped instruction is executed, or 0 */
	unsigned long vaddr;	 /* where that instruction stands in the program */
} RELOCATED;

struct xol_area {
	unsigned long vaddr;
} RELOCATED;

static __always_inline struct task_struct *walked_task(const struct walk *walk)
{
#ifdef WALKS_OTHERS
	return (void *)walk->task;
#else
	return (void *)bpf_get_current_task();
#endif
}

/* Returns the probe state of a task; NULL: the task never came to a probe. */
static __always_inline struct uprobe_task *probes_of(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->utask)) /* CONFIG_UPROBES */
		return NULL;
	return BPF_CORE_READ(task, utask);
}

static __always_inline bool is_awaited(struct return_instance *awaited, uint64_t stack,
				       uint32_t slack)
{
	return BPF_CORE_READ(awaited, stack) - stack <= slack;
}

uint64_t returns_skip(uint64_t first, uint64_t stack, uint32_t slack);

/* Returns the first of the calls from `first` on at whose entry sp was `stack`, or up to `slack`
 * bytes higher; after RETURNS_STEP other calls, the call after them; 0: there is none. */
__noinline uint64_t returns_skip(uint64_t first, uint64_t stack, uint32_t slack)
{
	struct return_instance *awaited = (void *)first;

	for (uint32_t i = 0; i < RETURNS_STEP && awaited; i++) {
		if (is_awaited(awaited, stack, slack))
			break;
		awaited = BPF_CORE_READ(awaited, next);
	}
	return (uint64_t)awaited;
}

/* Returns the return address of the call at whose entry sp was `stack`, or up to `slack` bytes
 * higher; 0: the call's return isn't probed. walk->probed_stack is that sp. */
__noinline uint64_t probed_return(uint32_t level, uint64_t stack, uint32_t slack)
{
	struct walk *walk = walk_at(level);
	struct uprobe_task *probes = walk ? probes_of(walked_task(walk)) : NULL;
	struct return_instance *awaited;

	if (!probes)
		return 0;
	awaited = BPF_CORE_READ(probes, return_instances);
	for (uint32_t i = 0; i < RETURNS_MAX && awaited; i += RETURNS_STEP) {
		awaited = (void *)returns_skip((uint64_t)awaited, stack, slack);
		if (awaited && is_awaited(awaited, stack, slack)) {
			walk->probed_stack = BPF_CORE_READ(awaited, stack);
			return BPF_CORE_READ(awaited, orig_ret_vaddr);
		}
	}
	return 0;
}

/* Returns the address of the instruction that is executed at `pc` for its own place; PROBES_PAGE:
 * `pc` lies in the page, but executes no such instruction; 0: `pc` isn't in the page. */
__noinline uint64_t probed_place(uint32_t level, uint64_t pc)
{
	const struct walk *walk = walk_at(level);
	struct task_struct *task = walk ? walked_task(walk) : NULL;
	struct uprobe_task *probes = task ? probes_of(task) : NULL;
	struct xol_area *page;
	uint64_t offset;

	if (!probes)
		return 0;
	page = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	if (!page || pc - BPF_CORE_READ(page, vaddr) >= PAGE_LEAST)
		return 0;
	offset = pc - BPF_CORE_READ(probes, xol_vaddr);
	return offset < SLOT_BYTES ? BPF_CORE_READ(probes, vaddr) + offset : PROBES_PAGE;
}
