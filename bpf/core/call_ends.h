/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two ends of a call whose function has a probe: its entry and its return. */
#pragma once

#include "bpf/core/arch.h"

/* Returns whether the program of a session is called at the return: then its function's address is
 * the probe's. */
static __always_inline bool is_at_return(struct pt_regs *regs)
{
	return bpf_get_func_ip(regs) != PT_REGS_IP(regs);
}

/* Returns what sp will be right after the return, from the registers at the entry. */
static __always_inline uint64_t sp_returned(const struct pt_regs *regs)
{
	return PT_REGS_SP(regs) + ARCH_ENTRY_WORDS * ARCH_WORD;
}
