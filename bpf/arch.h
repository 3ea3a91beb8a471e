/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between processors: registers, the user's saved registers, a frame record. */
#pragma once

#include "kernel.h"

/* The registers that a user stack is walked from. */
struct user_regs {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	bool wide; /* 64-bit code: only that is walked */
};

#if defined(__TARGET_ARCH_x86)

#define USER_CS	     0x33  /* arch/x86/include/asm/segment.h: __USER_CS, 64-bit user code */
#define THREAD_BYTES 16384 /* arch/x86/include/asm/page_64_types.h: THREAD_SIZE without KASAN */

static __always_inline bool regs_are_user(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

static __always_inline void regs_take(struct user_regs *to, const struct pt_regs *from)
{
	to->pc = from->rip;
	to->sp = from->rsp;
	to->fp = from->rbp;
	to->wide = from->cs == USER_CS;
}

#else
#error "stackprobe's kernel side knows x86-64 only so far"
#endif
