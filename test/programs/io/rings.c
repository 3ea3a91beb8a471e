/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings FOLDER: stops itself (SIGSTOP), then moves bytes by an io_uring, each way in a function of
 * its own (main -> ring_NAME -> submit): reads of a file, whole and short; writes to a pipe; a
 * message to a socket and its receipt; a read that waits 0.2 s for its byte; one that fails. Prints
 * what it moved, as `moves` does, and stops itself again.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "optimized/level.h"

#define TIMES 20

static struct {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
} ring;

static char buffer[8192];
static int file, ends[2], pair[2];

static void *map_ring(size_t bytes, uint64_t at)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd,
			 (off_t)at);

	if (map == MAP_FAILED)
		err(1, "mmap");
	return map;
}

static void make_ring(void)
{
	struct io_uring_params params = {0};

	ring.fd = (int)syscall(SYS_io_uring_setup, 8, &params);
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
	ring.cq_head = (unsigned *)(void *)(cq + params.cq_off.head);
	ring.cq_tail = (unsigned *)(void *)(cq + params.cq_off.tail);
	ring.cq_mask = (unsigned *)(void *)(cq + params.cq_off.ring_mask);
	ring.cqes = (struct io_uring_cqe *)(void *)(cq + params.cq_off.cqes);
}

/* Has one request done, and returns its result. */
LEVEL static int submit(int opcode, int fd, void *data, unsigned bytes)
{
	unsigned tail = *ring.sq_tail, at = tail & *ring.sq_mask;

	ring.sqes[at] = (struct io_uring_sqe){
		.opcode = (uint8_t)opcode, .fd = fd, .addr = (uintptr_t)data, .len = bytes};
	ring.sq_array[at] = at;
	__atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		err(1, "io_uring_enter");
	unsigned head = *ring.cq_head;
	if (__atomic_load_n(ring.cq_tail, __ATOMIC_ACQUIRE) == head)
		errx(1, "no completion");
	int result = ring.cqes[head & *ring.cq_mask].res;
	__atomic_store_n(ring.cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

static void must_move(int result, int bytes)
{
	if (result != bytes)
		errx(1, "%d bytes, not %d", result, bytes);
}

LEVEL static void ring_read(void)
{
	for (int i = 0; i < TIMES; i++)
		must_move(submit(IORING_OP_READ, file, buffer, 4096), 4096);
	__asm__ volatile("");
}

LEVEL static void ring_short(void)
{
	must_move(submit(IORING_OP_READ, file, buffer, sizeof(buffer)), 5096);
	__asm__ volatile("");
}

LEVEL static void ring_write(void)
{
	for (int i = 0; i < TIMES; i++)
		must_move(submit(IORING_OP_WRITE, ends[1], buffer, 100), 100);
	__asm__ volatile("");
}

LEVEL static void ring_talk(void)
{
	must_move(submit(IORING_OP_SEND, pair[0], buffer, 700), 700);
	must_move(submit(IORING_OP_RECV, pair[1], buffer, 1000), 700);
	__asm__ volatile("");
}

static void *write_later(void *arg)
{
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	if (write(*(int *)arg, "x", 1) != 1)
		err(1, "write");
	return NULL;
}

LEVEL static void ring_wait(void)
{
	pthread_t thread;
	int waits[2];

	if (pipe(waits) < 0 || pthread_create(&thread, NULL, write_later, &waits[1]) != 0)
		err(1, "a thread");
	must_move(submit(IORING_OP_READ, waits[0], buffer, 10), 1);
	pthread_join(thread, NULL);
}

LEVEL static void ring_fail(void)
{
	must_move(submit(IORING_OP_READ, -1, buffer, 10), -EBADF);
	__asm__ volatile("");
}

int main(int argc, char *argv[])
{
	if (argc != 2 || chdir(argv[1]) < 0)
		err(1, "usage: rings FOLDER");
	file = open("rung", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || write(file, buffer, 5096) != 5096 || pipe(ends) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		err(1, "rung");
	make_ring();
	raise(SIGSTOP);
	ring_read();
	ring_short();
	ring_write();
	ring_talk();
	ring_wait();
	ring_fail();
	printf("{\"ring_read\": {\"read file\": [20, 81920]}, \"ring_short\": {\"read file\": [1, "
	       "5096]}, "
	       "\"ring_write\": {\"write pipe\": [20, 2000]}, "
	       "\"ring_talk\": {\"write socket\": [1, 700], \"read socket\": [1, 700]}, "
	       "\"ring_wait\": {\"read pipe\": [1, 1]}, \"ring_fail\": {}}\n");
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
