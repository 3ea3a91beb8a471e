/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the programs of probed calls (bpf/malloc.bpf.c) have in common. From Linux 6.13 on each
 * program is a session: it is called at the entry, says there whether the return is wanted, and is
 * called at the return. Before 6.13, other programs are at every return. The walk of the stack is
 * take_return()'s alone: so it is verified, and lies in memory, once for all programs.
 *
 *	entry or return -> program -> the return of a call that is awaited? -> take_return()
 *
 * Once Python's or Java's frames are to be walked, another take_return(), with walkers for them,
 * replaces the first one in the slot (kernel/walkers.h). The kernel does so by writing one jump.
 *
 * At a point all arguments are in their registers, and the return address is on top of the stack.
 */
#pragma once

#include "bpf/core/call_ends.h"
#include "bpf/shared/allocations.h"
#include "bpf/stack/stack.h"

/* Set before loading: these programs are sessions. */
const volatile bool has_sessions = true;

/* Result of a session's program at an entry whose return isn't wanted. The kernel requires 0 of
 * other programs. */
#define NO_RETURN (has_sessions ? 1 : 0)

/* Defines a program at entries, which is handler(ctx, call). */
#define CALL_PROGRAM(name, handler, call)                                                          \
	SEC("uprobe") int name(struct pt_regs *ctx)                                                \
	{                                                                                          \
		return handler(ctx, call);                                                         \
	}

/* The kernel's name for a program's registers: a global function with this argument is verified
 * once. */
struct bpf_user_pt_regs_t {
};

/* The program for returns of calls that are awaited: no other returns come here. */
int take_return(struct pt_regs *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__array(values, int(void *));
} returning SEC(".maps") = {
	.values = {(void *)&take_return},
};

/* Something that a call has returned, whose stack is wanted. */
struct returned {
	struct taking taking;
	uint64_t address;
	uint64_t born_ns; /* when the block that it continues was allocated; 0: it is new */
	uint32_t weight;  /* weight of the guard */
};

/* Returns the enum call of the point, for sessions that are at points of several calls. */
static __always_inline uint32_t call_of_point(struct pt_regs *regs)
{
	return bpf_get_attach_cookie(regs) >> COOKIE_CALL_SHIFT;
}

/* Returns whether calls of the target are wanted. */
static __always_inline bool is_wanted(const struct target_value *target)
{
	return target_wants(target, PROBE_MEM_GLIBC);
}
