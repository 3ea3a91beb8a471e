/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of an io_uring: which of them move bytes, which way, and what came of one.
 *
 * Source: Linux's include/uapi/linux/io_uring.h, include/linux/io_uring_types.h,
 * include/trace/events/io_uring.h.
 */
#pragma once

#include "bpf/core/kernel_types.h"

struct io_kiocb {
	void *file;
	uint8_t opcode;
} RELOCATED;

struct io_uring_cqe {
	uint64_t user_data;
	int32_t res;
} RELOCATED;

/* Set before loading: the tracepoint of a completion has its entry as its third argument (6.18
 * has it, 6.12 not); else the result is the fourth one. */
const volatile bool ring_has_entry = false;

enum ring_way { RING_NOTHING, RING_IN, RING_OUT };

/* enum io_uring_op: READV, READ_FIXED, RECVMSG, READ, RECV; the same the other way, and the sends
 * without a copy. (A splice is not among them: its file is one of two.) */
#define RING_READS (1ULL << 1 | 1ULL << 4 | 1ULL << 10 | 1ULL << 22 | 1ULL << 27)
#define RING_WRITES                                                                                \
	(1ULL << 2 | 1ULL << 5 | 1ULL << 9 | 1ULL << 23 | 1ULL << 26 | 1ULL << 47 | 1ULL << 48)

static __always_inline enum ring_way ring_way(uint8_t opcode)
{
	uint64_t bit = 1ULL << (opcode & 63);

	if (opcode < 64 && bit & RING_READS)
		return RING_IN;
	return opcode < 64 && bit & RING_WRITES ? RING_OUT : RING_NOTHING;
}

/* Returns the result of the request that a completion is of: bytes, or a negative errno. */
static __always_inline int32_t ring_result(struct bpf_raw_tracepoint_args *ctx)
{
	const struct io_uring_cqe *entry;
	uint64_t argument;

	if (ring_has_entry) {
		entry = (const void *)ctx->args[2];
		return BPF_CORE_READ(entry, res);
	}
	/* (One load: the compiler would join both to one with a computed offset.) */
	asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(argument) : "r"(ctx));
	return argument;
}
