/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests of an io_uring: which of them move bytes, which way, through which files, and what came
 * of one.
 *
 * Source: Linux's include/uapi/linux/io_uring.h, include/linux/io_uring_types.h,
 * include/trace/events/io_uring.h, io_uring/net.c, io_uring/splice.c, io_uring/zcrx.c.
 */
#pragma once

#include "bpf/io/descriptor.h"
#include "bpf/io/moved.h"

struct io_ring_ctx {
	unsigned int compat : 1; /* an internal flag since 7.2 */
} RELOCATED;

struct io_cqe {
	uint64_t user_data;
} RELOCATED;

struct io_kiocb {
	struct file___any *file; /* of a splice: the one that is written to */
	struct io_ring_ctx *ctx;
	struct io_cqe cqe;
	uint32_t flags; /* the lower half, since 6.10 */
	uint8_t opcode;
} RELOCATED;

/* What a request that sends or receives has in the place of a struct io_kiocb's begin. */
struct io_sr_msg {
	const void *umsg;
	uint32_t msg_flags;
	uint16_t flags; /* IORING_RECV… (the lower half, before 6.2) */
} RELOCATED;

/* The same of a splice. */
struct io_splice {
	int32_t splice_fd_in;
	uint32_t flags;
} RELOCATED;

struct io_uring_cqe {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
} RELOCATED;

/* The caller's own struct msghdr, of 64-bit code. */
struct user_message {
	uint64_t name;
	uint32_t name_bytes, pad;
	uint64_t vectors, vectors_count, control, control_bytes;
};

#define REQ_F_CQE_SKIP	    (1U << 6)  /* IOSQE_CQE_SKIP_SUCCESS */
#define RECV_MULTISHOT	    (1U << 1)  /* IORING_RECV_MULTISHOT */
#define RECV_SEND_BUNDLE    (1U << 4)  /* IORING_RECVSEND_BUNDLE */
#define SPLICE_FD_IN_FIXED  (1U << 31) /* SPLICE_F_FD_IN_FIXED */
#define RECEIVED_HEAD_BYTES 16	       /* struct io_uring_recvmsg_out */
#define RECEIVED_HEAD_MAX   (1U << 20)

/* A completion with data that more follow: IORING_CQE_F_BUFFER, IORING_CQE_F_MORE. (All that
 * repeats uses buffers that the kernel chooses.) */
#define DATA_AND_MORE 3U

/* Set before loading: the tracepoint of a completion has its entry as its third argument (6.18
 * has it, 6.12 not); else the result is the fourth one. */
const volatile bool ring_has_entry = false;

/* enum io_uring_op */
enum ring_op {
	RING_READV = 1,
	RING_WRITEV = 2,
	RING_READ_FIXED = 4,
	RING_WRITE_FIXED = 5,
	RING_SENDMSG = 9,
	RING_RECVMSG = 10,
	RING_READ = 22,
	RING_WRITE = 23,
	RING_SEND = 26,
	RING_RECV = 27,
	RING_SPLICE = 30,
	RING_SEND_ZC = 47,
	RING_SENDMSG_ZC = 48,
	RING_READ_MULTISHOT = 49,
	RING_RECV_ZC = 58,
	RING_READV_FIXED = 60,
	RING_WRITEV_FIXED = 61,
	RING_OPS = 64
};

enum ring_way { RING_NOTHING, RING_IN, RING_OUT };

#define RING_BIT(op)  (1ULL << (op))
#define RING_RECEIVES (RING_BIT(RING_RECV) | RING_BIT(RING_RECVMSG))
#define RING_SENDS                                                                                 \
	(RING_BIT(RING_SEND) | RING_BIT(RING_SENDMSG) | RING_BIT(RING_SEND_ZC) |                   \
	 RING_BIT(RING_SENDMSG_ZC))
#define RING_READS                                                                                 \
	(RING_RECEIVES | RING_BIT(RING_READV) | RING_BIT(RING_READ_FIXED) | RING_BIT(RING_READ) |  \
	 RING_BIT(RING_READ_MULTISHOT) | RING_BIT(RING_RECV_ZC) | RING_BIT(RING_READV_FIXED))
#define RING_WRITES                                                                                \
	(RING_SENDS | RING_BIT(RING_WRITEV) | RING_BIT(RING_WRITE_FIXED) | RING_BIT(RING_WRITE) |  \
	 RING_BIT(RING_SPLICE) | RING_BIT(RING_WRITEV_FIXED))

static __always_inline bool ring_is_of(uint32_t opcode, uint64_t ops)
{
	return opcode < RING_OPS && ops >> (opcode & (RING_OPS - 1)) & 1;
}

/* Returns whether a request moves bytes. (A splice does so both ways.) */
static __always_inline bool ring_moves(uint32_t opcode)
{
	return ring_is_of(opcode, RING_READS | RING_WRITES);
}

/* Returns which way a request moves bytes, to or from its file. */
static __always_inline enum io_direction ring_direction(const struct io_kiocb *request,
							uint32_t opcode)
{
	if (ring_is_of(opcode, RING_WRITES))
		return IO_WRITE;
	if (ring_is_of(opcode, RING_RECEIVES))
		return receive_direction(
			BPF_CORE_READ((const struct io_sr_msg *)request, msg_flags));
	return IO_READ;
}

/* Returns whether a request may complete more than once. All but its last completion have no
 * request then, only the request's user_data. */
static __always_inline bool ring_repeats(const struct io_kiocb *request, uint32_t opcode)
{
	if (opcode == RING_READ_MULTISHOT)
		return true;
	return ring_is_of(opcode, RING_RECEIVES | RING_SENDS) &&
	       BPF_CORE_READ((const struct io_sr_msg *)request, flags) &
		       (RECV_MULTISHOT | RECV_SEND_BUNDLE);
}

/* Returns whether the current task is a kernel's thread that submits for its ring's process
 * (IORING_SETUP_SQPOLL): of that process, but without a stack. */
static __always_inline bool ring_thread_is_kernels(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, flags) & PF_IO_WORKER;
}

/* Returns whether a ring, to which the current thread submits, is certainly of 64-bit code. */
static __always_inline bool ring_is_wide(const struct io_ring_ctx *ring)
{
	if (bpf_core_field_exists(ring->compat))
		return !BPF_CORE_READ_BITFIELD_PROBED(ring, compat);
	return !ring_thread_is_kernels() && !system_call_is_narrow();
}

/* Finds how many bytes of each result of a request are no data: what a recvmsg that repeats puts
 * before them in its buffer. Returns false if that can't be told. */
static __always_inline bool ring_head_bytes(const struct io_kiocb *request, uint32_t opcode,
					    uint32_t *bytes)
{
	const struct io_ring_ctx *ring = BPF_CORE_READ(request, ctx);
	struct user_message message;

	*bytes = 0;
	if (opcode != RING_RECVMSG || !ring_repeats(request, opcode))
		return true;
	if (!ring_is_wide(ring) ||
	    bpf_probe_read_user(&message, sizeof(message),
				BPF_CORE_READ((const struct io_sr_msg *)request, umsg)) ||
	    message.name_bytes > RECEIVED_HEAD_MAX || message.control_bytes > RECEIVED_HEAD_MAX)
		return false;
	*bytes = RECEIVED_HEAD_BYTES + message.name_bytes + message.control_bytes;
	return true;
}

/* Finds which kind of file a splice reads from; its own file is the one that it writes to. Returns
 * false if that can't be told. */
static __always_inline bool ring_source(const struct io_kiocb *request, uint32_t opcode,
					uint32_t *kind)
{
	const struct io_splice *splice = (const void *)request;

	*kind = IO_OTHER;
	if (opcode != RING_SPLICE)
		return true;
	if (BPF_CORE_READ(splice, flags) & SPLICE_FD_IN_FIXED)
		return false;
	*kind = descriptor_kind(BPF_CORE_READ(splice, splice_fd_in));
	return true;
}

/* Returns whether the kernel will tell what comes of a request: it tells of completions that it
 * writes into the ring's queue by the usual way. */
static __always_inline bool ring_tells(const struct io_kiocb *request, uint32_t opcode)
{
	return opcode != RING_RECV_ZC && !(BPF_CORE_READ(request, flags) & REQ_F_CQE_SKIP);
}

/* What a completion tells. */
struct ring_completion {
	uint64_t user_data;
	int32_t result; /* bytes, or a negative errno */
	uint32_t flags; /* IORING_CQE_F_… */
};

static __always_inline void ring_completed(struct bpf_raw_tracepoint_args *ctx,
					   struct ring_completion *completion)
{
	const struct io_uring_cqe *entry = (const void *)ctx->args[2];
	uint64_t result, flags;

	if (ring_has_entry) {
		completion->user_data = BPF_CORE_READ(entry, user_data);
		completion->result = BPF_CORE_READ(entry, res);
		completion->flags = BPF_CORE_READ(entry, flags);
		return;
	}
	/* (Single loads: the compiler would join them and the one above to one with a computed
	 * offset.) */
	asm volatile("%0 = *(u64 *)(%1 + 24)" : "=r"(result) : "r"(ctx));
	asm volatile("%0 = *(u64 *)(%1 + 32)" : "=r"(flags) : "r"(ctx));
	completion->user_data = (uint64_t)entry;
	completion->result = result;
	completion->flags = flags;
}
