/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A system call, at its begin and at its return (tracepoints sys_enter and sys_exit): its number
 * and its arguments, from the registers that the kernel saved. `narrow`: a call of 32-bit code,
 * which has other numbers.
 */
#pragma once

#include "bpf/core/arch.h"

/* Arguments that are looked at. */
#define SYSTEM_CALL_ARGS 4

#if defined(__TARGET_ARCH_x86)

#define TS_COMPAT 0x2 /* arch/x86/include/asm/thread_info.h */

struct thread_info {
	uint32_t status;
} RELOCATED;

struct task_struct___with_info {
	struct thread_info thread_info;
} RELOCATED;

static __always_inline uint64_t system_call_number(const struct pt_regs *regs)
{
	return regs->orig_rax;
}

static __always_inline bool system_call_is_narrow(void)
{
	struct task_struct___with_info *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
}

/* Arguments stay in their registers until the return. */
static __always_inline void system_call_args(const struct pt_regs *regs, bool narrow,
					     uint64_t args[SYSTEM_CALL_ARGS])
{
	args[0] = narrow ? (uint32_t)regs->rbx : regs->rdi;
	args[1] = narrow ? (uint32_t)regs->rcx : regs->rsi;
	args[2] = narrow ? (uint32_t)regs->rdx : regs->rdx;
	args[3] = narrow ? (uint32_t)regs->rsi : regs->r10;
}

#elif defined(__TARGET_ARCH_arm64)

/* Fields of the kernel's struct pt_regs behind those of bpf/core/arch_arm64.h. */
struct pt_regs___all {
	uint64_t orig_x0;
	int32_t syscallno;
} RELOCATED;

static __always_inline uint64_t system_call_number(const struct pt_regs *regs)
{
	return BPF_CORE_READ((const struct pt_regs___all *)regs, syscallno);
}

static __always_inline bool system_call_is_narrow(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	const struct pt_regs *regs =
		(const void *)(BPF_CORE_READ(task, stack) + THREAD_BYTES - SAVED_REGS_BYTES);
	uint64_t pstate = 0;

	bpf_probe_read_kernel(&pstate, sizeof(pstate), &regs->pstate);
	return pstate & PSR_MODE32_BIT;
}

/* The result takes the first argument's register; its value is kept beside it. */
static __always_inline void system_call_args(const struct pt_regs *regs, bool narrow,
					     uint64_t args[SYSTEM_CALL_ARGS])
{
	(void)narrow;
	args[0] = BPF_CORE_READ((const struct pt_regs___all *)regs, orig_x0);
	args[1] = regs->regs[1];
	args[2] = regs->regs[2];
	args[3] = regs->regs[3];
}

#endif
