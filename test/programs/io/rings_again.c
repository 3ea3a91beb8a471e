/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rings_again FOLDER WHAT: stops itself (SIGSTOP), then moves bytes by an io_uring, each way in a
 * function of its own (main -> again_NAME -> submit), prints what it moved, as `moves` does, and
 * stops itself again. A step whose requests the kernel doesn't know is left out. WHAT:
 *
 *	whole	     requests that complete many times, that peek, splices, sends without a copy,
 *		     vectors in registered buffers
 *	unmeasured   requests of which the kernel doesn't tell enough
 *	polled	     reads that the kernel's own thread submits
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "ring.h"

/* Newer than the header may be. */
#define READ_MULTISHOT	   49
#define READV_FIXED	   60
#define WRITEV_FIXED	   61
#define RECV_MULTISHOT	   (1U << 1)
#define SPLICE_IN_IS_FIXED (1U << 31)

#define TIMES		   20
#define GROUP		   1 /* of buffers that the kernel chooses from */
#define CHOICES		   16
#define CHOICE		   1024 /* bytes */
#define ENDLESS		   7	/* user_data of what completes many times */
#define OTHER		   8

static char buffer[8192], choices[CHOICES * CHOICE];
static int file;
static struct io_uring_probe *known;

/* What a step has moved. */
#define WAYS 8
static struct {
	const char *way;
	int calls, bytes;
} moved[WAYS];

static int note(const char *way, int bytes)
{
	for (int i = 0; i < WAYS; i++) {
		if (moved[i].way && strcmp(moved[i].way, way) != 0)
			continue;
		moved[i].way = way;
		moved[i].calls++;
		moved[i].bytes += bytes;
		return bytes;
	}
	errx(1, "WAYS");
}

static bool knows(int opcode)
{
	return opcode <= known->last_op && known->ops[opcode].flags & IO_URING_OP_SUPPORTED;
}

/* Asks the kernel which requests it knows. */
static void ask_kernel(void)
{
	known = calloc(1, sizeof(*known) + 256 * sizeof(known->ops[0]));
	if (!known ||
	    syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_PROBE, known, 256) < 0)
		err(1, "IORING_REGISTER_PROBE");
}

/* Has one request done, and returns its result. */
LEVEL static int submit(struct io_uring_sqe request)
{
	return do_request(&request);
}

/* Begins a request; its completions come later. */
LEVEL static void begin(struct io_uring_sqe request)
{
	put_request(&request);
	enter_ring(1, 0);
}

#define SUBMIT(...) submit((struct io_uring_sqe){__VA_ARGS__})
#define BEGIN(...)  begin((struct io_uring_sqe){__VA_ARGS__})
#define POINTER(to) ((uintptr_t)(to))

/* Waits for a completion of a request that goes on, or that ends with it. Returns its result. */
static int next_result(uint64_t user_data, bool more)
{
	enter_ring(0, 1);
	struct completion completion = take_completion();

	if (completion.user_data != user_data || !(completion.flags & IORING_CQE_F_MORE) == more)
		errx(1, "a completion of %d, %d, flags %x", (int)completion.user_data,
		     completion.res, completion.flags);
	return completion.res;
}

static void give_choices(void)
{
	must_move(SUBMIT(.opcode = IORING_OP_PROVIDE_BUFFERS, .fd = CHOICES,
			 .addr = POINTER(choices), .len = CHOICE, .buf_group = GROUP),
		  0);
}

static void make_pair(int type, int pair[2])
{
	if (socketpair(AF_UNIX, type, 0, pair) < 0)
		err(1, "socketpair");
}

/* ---- what is measured ---- */

LEVEL static void again_read(void)
{
	int ends[2];

	if (!knows(READ_MULTISHOT))
		return;
	if (pipe(ends) < 0)
		err(1, "pipe");
	BEGIN(.opcode = READ_MULTISHOT, .fd = ends[0], .flags = IOSQE_BUFFER_SELECT,
	      .buf_group = GROUP, .user_data = ENDLESS);
	for (int bytes = 10; bytes <= 30; bytes += 10) {
		note("write pipe", (int)write(ends[1], buffer, (size_t)bytes));
		must_move(note("read pipe", next_result(ENDLESS, true)), bytes);
	}
	close(ends[1]);
	must_move(note("read pipe", next_result(ENDLESS, false)), 0);
}

LEVEL static void again_receive(void)
{
	int pair[2];

	make_pair(SOCK_STREAM, pair);
	BEGIN(.opcode = IORING_OP_RECV, .fd = pair[1], .flags = IOSQE_BUFFER_SELECT,
	      .ioprio = RECV_MULTISHOT, .buf_group = GROUP, .user_data = ENDLESS);
	for (int bytes = 100; bytes <= 300; bytes += 100) {
		note("write socket", (int)send(pair[0], buffer, (size_t)bytes, 0));
		must_move(note("read socket", next_result(ENDLESS, true)), bytes);
	}
	shutdown(pair[0], SHUT_WR);
	must_move(note("read socket", next_result(ENDLESS, false)), 0);
}

/* Messages, before each of which the kernel writes a head, 8 bytes for a name and 32 for more. */
LEVEL static void again_messages(void)
{
	struct msghdr message = {.msg_namelen = 8, .msg_controllen = 32};
	const int head = 16 + 8 + 32;
	int pair[2];

	make_pair(SOCK_DGRAM, pair);
	BEGIN(.opcode = IORING_OP_RECVMSG, .fd = pair[1], .flags = IOSQE_BUFFER_SELECT,
	      .ioprio = RECV_MULTISHOT, .addr = POINTER(&message), .len = 1, .buf_group = GROUP,
	      .user_data = ENDLESS);
	for (int bytes = 30; bytes <= 50; bytes += 10) {
		note("write socket", (int)send(pair[0], buffer, (size_t)bytes, 0));
		must_move(note("read socket", next_result(ENDLESS, true) - head), bytes);
	}
	BEGIN(.opcode = IORING_OP_ASYNC_CANCEL, .fd = -1, .addr = ENDLESS,
	      .flags = IOSQE_CQE_SKIP_SUCCESS);
	must_move(next_result(ENDLESS, false), -ECANCELED);
}

LEVEL static void again_peek(void)
{
	int pair[2];

	make_pair(SOCK_STREAM, pair);
	note("write socket", (int)send(pair[0], buffer, 70, 0));
	must_move(note("peek socket",
		       SUBMIT(.opcode = IORING_OP_RECV, .fd = pair[1], .addr = POINTER(buffer),
			      .len = 50, .msg_flags = MSG_PEEK)),
		  50);
	must_move(note("read socket", SUBMIT(.opcode = IORING_OP_RECV, .fd = pair[1],
					     .addr = POINTER(buffer), .len = 100)),
		  70);
}

LEVEL static void again_splice(void)
{
	int ends[2];

	if (pipe(ends) < 0)
		err(1, "pipe");
	must_move(SUBMIT(.opcode = IORING_OP_SPLICE, .fd = ends[1], .off = -1ULL,
			 .splice_fd_in = file, .splice_off_in = 5, .len = 500),
		  500);
	note("read file", 500);
	note("write pipe", 500);
	must_move(note("read pipe", SUBMIT(.opcode = IORING_OP_READ, .fd = ends[0],
					   .addr = POINTER(buffer), .len = 4000)),
		  500);
}

LEVEL static void again_fixed(void)
{
	struct iovec whole = {buffer, sizeof(buffer)}, part = {buffer + 100, 900};

	if (!knows(READV_FIXED))
		return;
	if (syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1) < 0)
		err(1, "IORING_REGISTER_BUFFERS");
	must_move(note("read file", SUBMIT(.opcode = IORING_OP_READ_FIXED, .fd = file,
					   .addr = POINTER(buffer), .len = 777)),
		  777);
	must_move(note("read file",
		       SUBMIT(.opcode = READV_FIXED, .fd = file, .addr = POINTER(&part), .len = 1)),
		  900);
	must_move(note("write file", SUBMIT(.opcode = WRITEV_FIXED, .fd = file,
					    .addr = POINTER(&part), .len = 1)),
		  900);
}

/* Connects two TCP sockets. */
static void make_stream(int pair[2])
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof(at);
	int waits = socket(AF_INET, SOCK_STREAM, 0);

	pair[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (waits < 0 || bind(waits, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(waits, 1) < 0 || getsockname(waits, (struct sockaddr *)&at, &bytes) < 0 ||
	    connect(pair[0], (struct sockaddr *)&at, bytes) < 0)
		err(1, "connect");
	pair[1] = accept(waits, NULL, NULL);
	if (pair[1] < 0)
		err(1, "accept");
	close(waits);
}

/* A send without a copy completes with its bytes; that its buffer is free again is no request's
 * completion. */
LEVEL static void again_send(void)
{
	int pair[2];

	make_stream(pair);
	BEGIN(.opcode = IORING_OP_SEND_ZC, .fd = pair[0], .addr = POINTER(buffer), .len = 600,
	      .user_data = OTHER);
	must_move(note("write socket", next_result(OTHER, true)), 600);
	must_move(note("read socket", (int)recv(pair[1], buffer, sizeof(buffer), 0)), 600);
	close(pair[1]);
	close(pair[0]);
	must_move(next_result(OTHER, false), 0);
}

/* ---- what is not ---- */

/* Requests without a completion. */
LEVEL static void again_quiet(void)
{
	for (int i = 0; i < 5; i++)
		put_request(&(struct io_uring_sqe){.opcode = IORING_OP_READ,
						   .fd = file,
						   .addr = POINTER(buffer),
						   .len = 100,
						   .flags = IOSQE_CQE_SKIP_SUCCESS});
	put_request(&(struct io_uring_sqe){.opcode = IORING_OP_NOP});
	enter_ring(6, 1);
	must_move(take_completion().res, 0);
}

/* Two requests with one number, which both complete many times. Their last completions are told
 * apart. */
LEVEL static void again_twins(void)
{
	int pairs[2][2];

	for (int i = 0; i < 2; i++) {
		make_pair(SOCK_STREAM, pairs[i]);
		BEGIN(.opcode = IORING_OP_RECV, .fd = pairs[i][1], .flags = IOSQE_BUFFER_SELECT,
		      .ioprio = RECV_MULTISHOT, .buf_group = GROUP, .user_data = ENDLESS);
	}
	for (int i = 0; i < 3; i++) {
		note("write socket", (int)send(pairs[i % 2][0], buffer, 40, 0));
		must_move(next_result(ENDLESS, true), 40);
	}
	for (int i = 0; i < 2; i++) {
		shutdown(pairs[i][0], SHUT_WR);
		must_move(note("read socket", next_result(ENDLESS, false)), 0);
	}
}

/* A splice from a file that the ring knows by a number of its own. */
LEVEL static void again_registered(void)
{
	int ends[2];

	if (pipe(ends) < 0 ||
	    syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &file, 1) < 0)
		err(1, "pipe, IORING_REGISTER_FILES");
	must_move(SUBMIT(.opcode = IORING_OP_SPLICE, .fd = ends[1], .off = -1ULL, .splice_fd_in = 0,
			 .splice_off_in = 5, .len = 500, .splice_flags = SPLICE_IN_IS_FIXED),
		  500);
	must_move(note("read pipe", (int)read(ends[0], buffer, 4000)), 500);
}

static void begin_reads(void)
{
	for (int i = 0; i < RING_ENTRIES; i++)
		put_request(&(struct io_uring_sqe){
			.opcode = IORING_OP_READ, .fd = file, .addr = POINTER(buffer), .len = 10});
	enter_ring(RING_ENTRIES, 0);
}

static void end_reads(int count)
{
	for (int i = 0; i < count; i++) {
		enter_ring(0, 1);
		must_move(take_completion().res, 10);
	}
}

/* Completions for which the queue, of two rounds, has no room; then requests that take the memory
 * of those. */
LEVEL static void again_overflowing(void)
{
	for (int i = 0; i < 3; i++)
		begin_reads();
	end_reads(3 * RING_ENTRIES);
	for (int i = 0; i < 3; i++) {
		begin_reads();
		end_reads(RING_ENTRIES);
	}
	for (int i = 0; i < 5 * RING_ENTRIES; i++)
		note("read file", 10);
}

/* ---- what the kernel's thread submits ---- */

LEVEL static void again_polled(void)
{
	for (int i = 0; i < TIMES; i++)
		must_move(note("read file", SUBMIT(.opcode = IORING_OP_READ, .fd = file,
						   .addr = POINTER(buffer), .len = 4096)),
			  4096);
}

#define STEPS 8
static const struct {
	const char *name;
	unsigned flags; /* of the ring */
	struct {
		const char *name;
		void (*run)(void);
	} steps[STEPS];
} kinds[] = {
	{"whole",
	 0,
	 {{"again_read", again_read},
	  {"again_receive", again_receive},
	  {"again_messages", again_messages},
	  {"again_peek", again_peek},
	  {"again_splice", again_splice},
	  {"again_fixed", again_fixed},
	  {"again_send", again_send}}},
	{"unmeasured",
	 0,
	 {{"again_quiet", again_quiet},
	  {"again_twins", again_twins},
	  {"again_registered", again_registered},
	  {"again_overflowing", again_overflowing}}},
	{"polled", IORING_SETUP_SQPOLL, {{"again_polled", again_polled}}},
};

static void run_step(size_t kind, int step)
{
	const char *comma = "";

	memset(moved, 0, sizeof(moved));
	kinds[kind].steps[step].run();
	printf("%s\"%s\": {", step ? ", " : "{", kinds[kind].steps[step].name);
	for (int i = 0; i < WAYS && moved[i].way; i++) {
		printf("%s\"%s\": [%d, %d]", comma, moved[i].way, moved[i].calls, moved[i].bytes);
		comma = ", ";
	}
	printf("}");
}

int main(int argc, char *argv[])
{
	size_t kind = 0;

	if (argc != 3 || chdir(argv[1]) < 0)
		err(1, "usage: rings_again FOLDER WHAT");
	while (strcmp(kinds[kind].name, argv[2]) != 0) {
		if (++kind == sizeof(kinds) / sizeof(kinds[0]))
			errx(1, "no %s", argv[2]);
	}
	file = open("rung", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || write(file, choices, CHOICES * CHOICE) != CHOICES * CHOICE)
		err(1, "rung");
	make_ring(kinds[kind].flags);
	ask_kernel();
	give_choices();
	raise(SIGSTOP);
	for (int step = 0; step < STEPS && kinds[kind].steps[step].run; step++)
		run_step(kind, step);
	printf("}\n");
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
