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
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ring.h"

#define TIMES 20

static char buffer[8192];
static int file, ends[2], pair[2];

/* Has one request done, and returns its result. */
LEVEL static int submit(int opcode, int fd, void *data, unsigned bytes)
{
	return do_request(&(struct io_uring_sqe){
		.opcode = (uint8_t)opcode, .fd = fd, .addr = (uintptr_t)data, .len = bytes});
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
	make_ring(0);
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
