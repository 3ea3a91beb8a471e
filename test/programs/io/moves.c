/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moves FOLDER: stops itself (SIGSTOP), then moves bytes by each system call, in a function of its
 * own for each (main -> move_NAME -> its call). Prints what it moved, by function, direction and
 * kind of file: {"move_read": {"read file": [calls, bytes], …}, …}; then it waits for a signal.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "optimized/level.h"

#define TIMES 20

enum way { READ, WRITE, PEEK, TRUNC, WAYS };
enum kind { FILES, SOCKETS, PIPES, TTYS, OTHERS, KINDS };

static const char *const ways[] = {"read", "write", "peek", "trunc"};
static const char *const kinds[] = {"file", "socket", "pipe", "tty", "other"};

static struct moved {
	uint64_t calls, bytes;
} moved[WAYS][KINDS];

static char buffer[65536];
static int file, empty; /* a file of 40000 bytes; a pipe without any, which doesn't block */
static void *volatile nowhere = (void *)16;

/* Notes a call that moved that many bytes; one that failed moves none. */
static ssize_t note(enum way way, enum kind kind, ssize_t bytes)
{
	if (bytes < 0)
		return bytes;
	moved[way][kind].calls++;
	moved[way][kind].bytes += (uint64_t)bytes;
	return bytes;
}

static void must_fail(ssize_t bytes, int error)
{
	if (bytes >= 0 || errno != error)
		err(1, "a call should have failed with error %d", error);
}

/* Whole, short and empty reads. */
LEVEL static void move_read(void)
{
	keep_frame();
	lseek(file, 0, SEEK_SET);
	while (note(READ, FILES, read(file, buffer, 30000)) > 0)
		;
}

LEVEL static void move_failing(void)
{
	char *unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	keep_frame();
	if (pipe(ends) < 0 || unreadable == MAP_FAILED)
		err(1, "pipe, mmap");
	for (int i = 0; i < TIMES; i++) {
		must_fail(read(empty, buffer, 10), EAGAIN);
		must_fail(write(ends[1], unreadable, 10), EFAULT);
		must_fail(read(-1, buffer, 10), EBADF);
	}
}

/* Each of the other calls, with a buffer that isn't there, or on what isn't ready. */
LEVEL static void move_failing_each(void)
{
	struct iovec bad = {nowhere, 10}, part = {buffer, 10};
	struct mmsghdr one = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
	struct msghdr message = one.msg_hdr, lost = {.msg_iov = &bad, .msg_iovlen = 1};
	int ends[2], pair[2];
	loff_t at = 0;

	keep_frame();
	if (pipe2(ends, O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
		err(1, "pipe2, socketpair");
	must_fail(pread(file, nowhere, 10, 0), EFAULT);
	must_fail(pwrite(file, nowhere, 10, 0), EFAULT);
	must_fail(readv(file, &bad, 1), EFAULT);
	must_fail(writev(file, &bad, 1), EFAULT);
	must_fail(preadv(file, &bad, 1, 0), EFAULT);
	must_fail(pwritev(file, &bad, 1, 0), EFAULT);
	must_fail(preadv2(file, &bad, 1, 0, 0), EFAULT);
	must_fail(pwritev2(file, &bad, 1, 0, 0), EFAULT);
	must_fail(recvfrom(pair[1], buffer, 10, 0, NULL, NULL), EAGAIN);
	must_fail(recvmsg(pair[1], &message, 0), EAGAIN);
	must_fail(recvmmsg(pair[1], &one, 1, 0, NULL), EAGAIN);
	must_fail(sendto(pair[0], nowhere, 10, 0, NULL, 0), EFAULT);
	must_fail(sendmsg(pair[0], &lost, 0), EFAULT);
	one.msg_hdr = lost;
	must_fail(sendmmsg(pair[0], &one, 1, 0), EFAULT);
	must_fail(sendfile(-1, file, NULL, 10), EBADF);
	must_fail(splice(ends[0], NULL, file, &at, 10, SPLICE_F_NONBLOCK), EAGAIN);
	must_fail(copy_file_range(file, &at, ends[1], NULL, 10, 0), EINVAL);
}

/* What there was room for, or was there, or could be read before the end of memory. */
LEVEL static void move_short(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec part = {buffer, 60};
	int ends[2], pair[2];

	keep_frame();
	if (page == MAP_FAILED || munmap(page + 4096, 4096) < 0 || pipe2(ends, O_NONBLOCK) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) < 0)
		err(1, "mmap, pipe2, socketpair");
	while (note(WRITE, PIPES, write(ends[1], buffer, 50000)) > 0)
		;
	must_fail(-1, EAGAIN);
	while (note(READ, PIPES, read(ends[0], buffer, 50000)) > 0)
		;
	note(WRITE, SOCKETS, writev(pair[0], &part, 1));
	note(READ, SOCKETS, recv(pair[1], buffer, 1000, 0));
	note(WRITE, FILES, pwrite(file, page + 4096 - 100, 300, 0));
	note(READ, FILES, pread(file, buffer, 1000, 39900));
}

static void ignore(int number)
{
	(void)number;
}

/* Has signals come, without end: until one interrupts the next call. */
static void set_alarms(int usec)
{
	struct itimerval soon = {.it_value.tv_usec = usec, .it_interval.tv_usec = usec};

	if (setitimer(ITIMER_REAL, &soon, NULL) < 0)
		err(1, "setitimer");
}

/* Calls that a signal interrupts: of these the write has moved what the pipe has room for. */
LEVEL static void move_interrupted(void)
{
	struct sigaction action = {.sa_handler = ignore};
	struct iovec part = {buffer, 10};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	int ends[2], pair[2];

	keep_frame();
	sigaction(SIGALRM, &action, NULL);
	if (pipe(ends) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		err(1, "pipe, socketpair");
	set_alarms(20000);
	must_fail(read(ends[0], buffer, 10), EINTR);
	must_fail(readv(ends[0], &part, 1), EINTR);
	must_fail(recv(pair[0], buffer, 10, 0), EINTR);
	must_fail(recvmsg(pair[0], &message, 0), EINTR);
	must_fail(splice(ends[0], NULL, file, NULL, 10, 0), EINTR);
	for (int i = 0; i < 2; i++) {
		if (note(WRITE, PIPES, write(ends[1], buffer, 40000)) < 0)
			err(1, "write");
	}
	must_fail(write(ends[1], buffer, 10), EINTR);
	set_alarms(0);
}

LEVEL static void move_pread(void)
{
	keep_frame();
	for (int i = 0; i < TIMES; i++)
		note(READ, FILES, pread(file, buffer, 777, i));
}

LEVEL static void move_pwrite(void)
{
	keep_frame();
	for (int i = 0; i < TIMES; i++)
		note(WRITE, FILES, pwrite(file, buffer, 333, i));
}

LEVEL static void move_vectors(void)
{
	struct iovec parts[] = {{buffer, 100}, {buffer + 1000, 23}};

	keep_frame();
	lseek(file, 0, SEEK_SET);
	note(READ, FILES, readv(file, parts, 2));
	note(WRITE, FILES, writev(file, parts, 2));
	note(READ, FILES, preadv(file, parts, 2, 5));
	note(WRITE, FILES, pwritev(file, parts, 2, 5));
	note(READ, FILES, preadv2(file, parts, 2, 5, RWF_HIPRI));
	note(WRITE, FILES, pwritev2(file, parts, 2, 5, RWF_DSYNC));
}

LEVEL static void move_pipe(void)
{
	int ends[2];

	keep_frame();
	if (pipe(ends) < 0)
		err(1, "pipe");
	for (int i = 0; i < TIMES; i++) {
		note(WRITE, PIPES, write(ends[1], buffer, 1000));
		note(READ, PIPES, read(ends[0], buffer, 4000));
	}
}

LEVEL static void move_tty(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);

	keep_frame();
	if (master < 0 || unlockpt(master) < 0)
		err(1, "posix_openpt");
	int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	for (int i = 0; i < TIMES; i++) {
		note(WRITE, TTYS, write(slave, "12345", 5));
		note(READ, TTYS, read(master, buffer, 100));
	}
}

LEVEL static void move_other(void)
{
	int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);

	keep_frame();
	for (int i = 0; i < TIMES; i++)
		note(WRITE, OTHERS,
		     write(null, buffer, (size_t)note(READ, OTHERS, read(zero, buffer, 4321))));
}

LEVEL static void move_stream(void)
{
	int ends[2];

	keep_frame();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		err(1, "socketpair");
	for (int i = 0; i < TIMES; i++) {
		note(WRITE, SOCKETS, send(ends[0], buffer, 500, 0));
		note(PEEK, SOCKETS, recv(ends[1], buffer, 300, MSG_PEEK));
		note(READ, SOCKETS, recv(ends[1], buffer, 400, 0));
		note(READ, SOCKETS, read(ends[1], buffer, 400));
	}
}

/* Datagrams, some of them cut. */
LEVEL static void move_messages(void)
{
	struct iovec part = {buffer, 200}, parts[3] = {{buffer, 10}, {buffer, 20}, {buffer, 30}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr many[3] = {0};
	int ends[2];

	keep_frame();
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		err(1, "socketpair");
	for (int i = 0; i < 3; i++)
		many[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	for (int i = 0; i < TIMES; i++) {
		note(WRITE, SOCKETS, sendmsg(ends[0], &message, 0));
		note(PEEK, SOCKETS, recvmsg(ends[1], &message, MSG_PEEK));
		note(READ, SOCKETS, recvmsg(ends[1], &message, 0));
		note(WRITE, SOCKETS, sendto(ends[0], buffer, 150, 0, NULL, 0));
		note(TRUNC, SOCKETS, recvfrom(ends[1], buffer, 50, MSG_TRUNC, NULL, NULL));
		if (sendmmsg(ends[0], many, 3, 0) != 3 || recvmmsg(ends[1], many, 3, 0, NULL) != 3)
			err(1, "sendmmsg, recvmmsg");
		note(WRITE, SOCKETS, 10 + 20 + 30);
		note(READ, SOCKETS, 10 + 20 + 30);
	}
}

LEVEL static void move_copies(void)
{
	int ends[2], sockets[2];

	keep_frame();
	if (pipe(ends) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) < 0)
		err(1, "pipe, socketpair");
	for (int i = 0; i < TIMES; i++) {
		off_t from = i;
		loff_t at = i, to = 20000 + i;

		note(READ, FILES, note(WRITE, SOCKETS, sendfile(sockets[0], file, &from, 1500)));
		note(READ, SOCKETS, read(sockets[1], buffer, 1500));
		note(READ, FILES, note(WRITE, PIPES, splice(file, &at, ends[1], NULL, 1200, 0)));
		note(READ, PIPES, read(ends[0], buffer, 1200));
		note(READ, FILES,
		     note(WRITE, FILES, copy_file_range(file, &at, file, &to, 900, 0)));
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"move_read", move_read},	  {"move_failing", move_failing},
	{"move_pread", move_pread},	  {"move_interrupted", move_interrupted},
	{"move_pwrite", move_pwrite},	  {"move_vectors", move_vectors},
	{"move_short", move_short},	  {"move_failing_each", move_failing_each},
	{"move_pipe", move_pipe},	  {"move_tty", move_tty},
	{"move_other", move_other},	  {"move_stream", move_stream},
	{"move_messages", move_messages}, {"move_copies", move_copies},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static struct moved told[STEPS][WAYS][KINDS];

static void print_step(size_t step)
{
	const char *comma = "";

	printf("%s\"%s\": {", step ? ", " : "", steps[step].name);
	for (int way = 0; way < WAYS; way++) {
		for (int kind = 0; kind < KINDS; kind++) {
			const struct moved *sum = &told[step][way][kind];

			if (!sum->calls)
				continue;
			printf("%s\"%s %s\": [%" PRIu64 ", %" PRIu64 "]", comma, ways[way],
			       kinds[kind], sum->calls, sum->bytes);
			comma = ", ";
		}
	}
	printf("}");
}

int main(int argc, char *argv[])
{
	int ends[2];

	if (argc != 2 || chdir(argv[1]) < 0)
		err(1, "usage: moves FOLDER");
	file = open("moved", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || write(file, buffer, 40000) != 40000 || pipe2(ends, O_NONBLOCK) < 0)
		err(1, "moved");
	empty = ends[0];
	raise(SIGSTOP);
	for (size_t step = 0; step < STEPS; step++) {
		memset(moved, 0, sizeof(moved));
		steps[step].run();
		memcpy(told[step], moved, sizeof(moved));
	}
	printf("{");
	for (size_t step = 0; step < STEPS; step++)
		print_step(step);
	printf("}\n");
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
