/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An io_uring of the test programs: requests, and their completions one by one. */
#pragma once

#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "optimized/level.h"

#define RING_ENTRIES 32

static struct {
	int fd;
	unsigned flags; /* IORING_SETUP_… */
	unsigned *sq_tail, *sq_mask, *sq_array, *sq_flags, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

BURN_INLINE void *map_ring(size_t bytes, uint64_t at)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			 (off_t)at);

	if (map == MAP_FAILED)
		err(1, "mmap");
	return map;
}

/* Ends with 77 where rings are not allowed. */
BURN_INLINE void make_ring(unsigned flags)
{
	struct io_uring_params params = {.flags = flags, .sq_thread_idle = 50};

	ring.flags = flags;
	ring.fd = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &params);
	if (ring.fd < 0)
		err(errno == EPERM || errno == ENOSYS ? 77 : 1, "io_uring_setup");
	char *sq = map_ring(params.sq_off.array + params.sq_entries * sizeof(unsigned),
			    IORING_OFF_SQ_RING);
	char *cq = map_ring(params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe),
			    IORING_OFF_CQ_RING);
	ring.sqes = map_ring(params.sq_entries * sizeof(struct io_uring_sqe), IORING_OFF_SQES);
	ring.sq_tail = (unsigned *)(void *)(sq + params.sq_off.tail);
	ring.sq_mask = (unsigned *)(void *)(sq + params.sq_off.ring_mask);
	ring.sq_array = (unsigned *)(void *)(sq + params.sq_off.array);
	ring.sq_flags = (unsigned *)(void *)(sq + params.sq_off.flags);
	ring.cq_head = (unsigned *)(void *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned *)(void *)(cq + params.cq_off.tail);
	ring.cq_mask = (unsigned *)(void *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes);
}

/* Puts a request into the queue. */
BURN_INLINE void put_request(const struct io_uring_sqe *request)
{
	unsigned tail = *ring.sq_tail, at = tail & *ring.sq_mask;

	ring.sqes[at] = *request;
	ring.sq_array[at] = at;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
}

/* Has so many requests of the queue begun, and waits for so many completions. */
BURN_INLINE void enter_ring(unsigned requests, unsigned completions)
{
	unsigned flags = completions ? IORING_ENTER_GETEVENTS : 0;
	long r;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (ring.flags & IORING_SETUP_SQPOLL &&
	    __atomic_load_n(ring.sq_flags, __ATOMIC_RELAXED) & IORING_SQ_NEED_WAKEUP)
		flags |= IORING_ENTER_SQ_WAKEUP;
	do
		r = syscall(SYS_io_uring_enter, ring.fd, requests, completions, flags, NULL, 0);
	while (r < 0 && errno == EINTR);
	if (r != requests)
		err(1, "io_uring_enter");
}

struct completion {
	uint64_t user_data;
	int res;
	unsigned flags;
};

/* Takes the next completion, which has to be there. */
BURN_INLINE struct completion take_completion(void)
{
	unsigned head = *ring.cq_head;

	if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) == head)
		errx(1, "no completion");
	const struct io_uring_cqe *entry = &ring.cqes[head & *ring.cq_mask];
	struct completion completion = {entry->user_data, entry->res, entry->flags};
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return completion;
}

/* Has one request done, and returns its result. */
BURN_INLINE int do_request(const struct io_uring_sqe *request)
{
	put_request(request);
	enter_ring(1, 1);
	return take_completion().res;
}

BURN_INLINE void must_move(int result, int bytes)
{
	if (result != bytes)
		errx(1, "%d bytes, not %d", result, bytes);
}
