/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * narrow FOLDER: stops itself (SIGSTOP), then moves bytes by each system call of 32-bit code (int
 * $0x80), in a function of its own for each (run -> narrow_NAME -> call_narrow). Prints what it
 * moved, as `moves` does, and stops itself again. `narrow` alone: is over at once, if the kernel
 * takes such calls. No C library, so all that the calls are given lies below 4 GiB; built as a
 * program of 64 bits and as one of 32 (narrow_i386).
 */
#include "narrow.h"

#define STEP	  __attribute__((noipa))
#define TIMES	  20
#define FILE_SIZE 40000

static char buffer[65536];
static uint32_t ends[2], streams[2], datagrams[2];
static long file;

/* ---- what it says ---- */

enum way { READS, WRITES, PEEKS, TRUNCS, WAYS };
enum kind { FILES, SOCKETS, PIPES, KINDS };

static const char *const ways[] = {"read", "write", "peek", "trunc"};
static const char *const kinds[] = {"file", "socket", "pipe"};
static uint32_t calls[WAYS][KINDS], bytes_of[WAYS][KINDS];
static char said[8192];
static uint32_t said_bytes;

static void say(const char *text)
{
	while (*text && said_bytes < sizeof(said))
		said[said_bytes++] = *text++;
}

static void say_number(uint32_t number)
{
	char digits[12], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	say(at);
}

static void say_step(const char *name)
{
	const char *comma = "";

	say(said_bytes ? ", \"" : "{\"");
	say(name);
	say("\": {");
	for (int way = 0; way < WAYS; way++) {
		for (int kind = 0; kind < KINDS; kind++) {
			if (!calls[way][kind])
				continue;
			say(comma);
			say("\"");
			say(ways[way]);
			say(" ");
			say(kinds[kind]);
			say("\": [");
			say_number(calls[way][kind]);
			say(", ");
			say_number(bytes_of[way][kind]);
			say("]");
			comma = ", ";
			calls[way][kind] = bytes_of[way][kind] = 0;
		}
	}
	say("}");
}

__attribute__((noreturn)) static void leave(uint32_t status)
{
	for (;;)
		CALL(EXIT, {status});
}

/* Ends with what is wrong: which line of this file. */
__attribute__((noreturn)) static void fail(uint32_t line)
{
	said_bytes = 0;
	say("narrow.c:");
	say_number(line);
	say("\n");
	CALL(WRITE, {1, AT(said), said_bytes});
	leave(1);
}

#define MUST(what)                                                                                 \
	do {                                                                                       \
		if (!(what))                                                                       \
			fail(__LINE__);                                                            \
	} while (0)

/* Notes a call that moved that many bytes, which must be `bytes`. */
static void note(enum way way, enum kind kind, long moved, long bytes, uint32_t line)
{
	if (moved != bytes)
		fail(line);
	calls[way][kind]++;
	bytes_of[way][kind] += (uint32_t)moved;
}

#define NOTE(way, kind, bytes, ...) note(way, kind, CALL(__VA_ARGS__), bytes, __LINE__)

/* ---- the calls ---- */

/* A whole, a short and an empty read. */
STEP static void narrow_read(void)
{
	MUST(CALL(LSEEK, {(uint32_t)file, 0, 0}) == 0);
	NOTE(READS, FILES, 30000, READ, {(uint32_t)file, AT(buffer), 30000});
	NOTE(READS, FILES, FILE_SIZE - 30000, READ, {(uint32_t)file, AT(buffer), 30000});
	NOTE(READS, FILES, 0, READ, {(uint32_t)file, AT(buffer), 30000});
}

STEP static void narrow_places(void)
{
	for (uint32_t i = 0; i < TIMES; i++) {
		NOTE(READS, FILES, 777, PREAD, {(uint32_t)file, AT(buffer), 777, i, 0});
		NOTE(WRITES, FILES, 333, PWRITE, {(uint32_t)file, AT(buffer), 333, i, 0});
	}
}

STEP static void narrow_vectors(void)
{
	static struct narrow_vector two[2];
	uint32_t fd = (uint32_t)file, at = AT(two);

	two[0] = (struct narrow_vector){AT(buffer), 100};
	two[1] = (struct narrow_vector){AT(buffer) + 1000, 23};
	MUST(CALL(LSEEK, {fd, 0, 0}) == 0);
	NOTE(READS, FILES, 123, READV, {fd, at, 2});
	NOTE(WRITES, FILES, 123, WRITEV, {fd, at, 2});
	NOTE(READS, FILES, 123, PREADV, {fd, at, 2, 5, 0});
	NOTE(WRITES, FILES, 123, PWRITEV, {fd, at, 2, 5, 0});
	NOTE(READS, FILES, 123, PREADV2, {fd, at, 2, 5, 0, 0});
	NOTE(WRITES, FILES, 123, PWRITEV2, {fd, at, 2, 5, 0, 0});
}

STEP static void narrow_pipe(void)
{
	for (int i = 0; i < TIMES; i++) {
		NOTE(WRITES, PIPES, 1000, WRITE, {ends[1], AT(buffer), 1000});
		NOTE(READS, PIPES, 1000, READ, {ends[0], AT(buffer), 4000});
	}
}

STEP static void narrow_sockets(void)
{
	for (int i = 0; i < TIMES; i++) {
		NOTE(WRITES, SOCKETS, 500, SENDTO, {streams[0], AT(buffer), 500, 0, 0, 0});
		NOTE(PEEKS, SOCKETS, 300, RECVFROM, {streams[1], AT(buffer), 300, MSG_PEEK, 0, 0});
		NOTE(READS, SOCKETS, 500, RECVFROM, {streams[1], AT(buffer), 900, 0, 0, 0});
		NOTE(WRITES, SOCKETS, 150, SENDTO, {datagrams[0], AT(buffer), 150, 0, 0, 0});
		NOTE(TRUNCS, SOCKETS, 150, RECVFROM,
		     {datagrams[1], AT(buffer), 50, MSG_TRUNC, 0, 0});
	}
}

static struct narrow_vector parts[3];
static struct narrow_message message;
static struct narrow_messages many[3];

/* A message of 200 bytes; three of 10, 20 and 30. */
static void make_messages(void)
{
	static struct narrow_vector part;

	part = (struct narrow_vector){AT(buffer), 200};
	message.vectors = AT(&part);
	message.vectors_count = 1;
	for (uint32_t i = 0; i < COUNT(parts); i++) {
		parts[i] = (struct narrow_vector){AT(buffer), 10 * (i + 1)};
		many[i].message.vectors = AT(&parts[i]);
		many[i].message.vectors_count = 1;
		many[i].bytes = 0;
	}
}

/* Notes a call that moved those three messages. */
static void note_many(enum way way, long messages, uint32_t line)
{
	if (messages != COUNT(many))
		fail(line);
	note(way, SOCKETS, 10 + 20 + 30, 10 + 20 + 30, line);
}

STEP static void narrow_messages(void)
{
	uint32_t from = datagrams[1], to = datagrams[0], one = AT(&message), all = AT(many);

	make_messages();
	for (int i = 0; i < TIMES; i++) {
		NOTE(WRITES, SOCKETS, 200, SENDMSG, {to, one, 0});
		NOTE(PEEKS, SOCKETS, 200, RECVMSG, {from, one, MSG_PEEK});
		NOTE(READS, SOCKETS, 200, RECVMSG, {from, one, 0});
		note_many(WRITES, CALL(SENDMMSG, {to, all, 3, 0}), __LINE__);
		note_many(READS, CALL(RECVMMSG, {from, all, 3, 0, 0}), __LINE__);
		note_many(WRITES, CALL(SENDMMSG, {to, all, 3, 0}), __LINE__);
		note_many(READS, CALL(RECVMMSG_TIME64, {from, all, 3, 0, 0}), __LINE__);
	}
}

/* The arguments of such a call lie in memory. */
static uint32_t within[6];

static void set_within(uint32_t fd, uint32_t at, uint32_t bytes, uint32_t flags)
{
	within[0] = fd;
	within[1] = at;
	within[2] = bytes;
	within[3] = flags;
	within[4] = within[5] = 0;
}

/* Makes a call by socketcall. */
STEP static long call_socket(enum within number, uint32_t fd, uint32_t at, uint32_t bytes,
			     uint32_t flags)
{
	set_within(fd, at, bytes, flags);
	return CALL(SOCKETCALL, {number, AT(within)});
}

#define NOTE_SOCKET(way, bytes, ...) note(way, SOCKETS, call_socket(__VA_ARGS__), bytes, __LINE__)

STEP static void narrow_socketcall(void)
{
	uint32_t at = AT(buffer);

	for (int i = 0; i < TIMES; i++) {
		NOTE_SOCKET(WRITES, 500, SYS_SEND, streams[0], at, 500, 0);
		NOTE_SOCKET(PEEKS, 300, SYS_RECV, streams[1], at, 300, MSG_PEEK);
		NOTE_SOCKET(READS, 400, SYS_RECV, streams[1], at, 400, 0);
		NOTE_SOCKET(READS, 100, SYS_RECVFROM, streams[1], at, 400, 0);
		NOTE_SOCKET(WRITES, 150, SYS_SENDTO, datagrams[0], at, 150, 0);
		NOTE_SOCKET(TRUNCS, 150, SYS_RECVFROM, datagrams[1], at, 50, MSG_TRUNC);
	}
}

STEP static void narrow_socketcall_messages(void)
{
	uint32_t from = datagrams[1], to = datagrams[0], one = AT(&message), all = AT(many);

	make_messages();
	for (int i = 0; i < TIMES; i++) {
		NOTE_SOCKET(WRITES, 200, SYS_SENDMSG, to, one, 0, 0);
		NOTE_SOCKET(PEEKS, 200, SYS_RECVMSG, from, one, MSG_PEEK, 0);
		NOTE_SOCKET(READS, 200, SYS_RECVMSG, from, one, 0, 0);
		note_many(WRITES, call_socket(SYS_SENDMMSG, to, all, 3, 0), __LINE__);
		note_many(READS, call_socket(SYS_RECVMMSG, from, all, 3, 0), __LINE__);
	}
}

/* The arguments are the last three words before a page that isn't there. */
STEP static void narrow_socketcall_edge(void)
{
	static char pages[3 * PAGE];
	uint32_t edge = (AT(pages) + 2 * PAGE - 1) & ~(PAGE - 1U), munmap = 91;
	uint32_t *last = (uint32_t *)(uintptr_t)(edge - 3 * sizeof(uint32_t));

	make_messages();
	MUST(CALL(munmap, {edge, PAGE}) == 0);
	last[0] = datagrams[0];
	last[1] = AT(&message);
	last[2] = 0;
	NOTE(WRITES, SOCKETS, 200, SOCKETCALL, {SYS_SENDMSG, AT(last)});
	NOTE_SOCKET(READS, 200, SYS_RECV, datagrams[1], AT(buffer), 200, 0);
}

STEP static void narrow_copies(void)
{
	static uint32_t at[2], to[2]; /* 64 bits each */
	uint32_t fd = (uint32_t)file;

	for (uint32_t i = 0; i < TIMES; i++) {
		at[0] = i;
		to[0] = 20000 + i;
		NOTE(WRITES, SOCKETS, 1500, SENDFILE, {streams[0], fd, AT(at), 1500});
		note(READS, FILES, 1500, 1500, __LINE__);
		NOTE(WRITES, SOCKETS, 700, SENDFILE64, {streams[0], fd, AT(at), 700});
		note(READS, FILES, 700, 700, __LINE__);
		NOTE(READS, SOCKETS, 2200, READ, {streams[1], AT(buffer), 4000});
		NOTE(WRITES, PIPES, 1200, SPLICE, {fd, AT(at), ends[1], 0, 1200, 0});
		note(READS, FILES, 1200, 1200, __LINE__);
		NOTE(READS, PIPES, 1200, READ, {ends[0], AT(buffer), 1200});
		NOTE(WRITES, FILES, 900, COPY_FILE_RANGE, {fd, AT(at), fd, AT(to), 900, 0});
		note(READS, FILES, 900, 900, __LINE__);
	}
}

/* Nothing of this counts. */
STEP static void narrow_failing(void)
{
	uint32_t at = AT(buffer);

	for (int i = 0; i < TIMES; i++) {
		MUST(CALL(READ, {-1U, at, 10}) == -EBADF);
		MUST(CALL(WRITE, {ends[1], UNMAPPED, 10}) == -EFAULT);
		MUST(CALL(RECVFROM, {streams[1], at, 10, MSG_DONTWAIT, 0, 0}) == -EAGAIN);
		MUST(call_socket(SYS_RECV, streams[1], at, 10, MSG_DONTWAIT) == -EAGAIN);
		MUST(call_socket(SYS_SEND, streams[0], UNMAPPED, 10, 0) == -EFAULT);
		MUST(CALL(SOCKETCALL, {SYS_SEND, UNMAPPED}) == -EFAULT);
	}
}

/* A call of a socket that moves nothing, and gives back 0. */
STEP static void narrow_idle(void)
{
	static uint32_t pair[2];

	MUST(call_socket(SYS_SOCKETPAIR, AF_UNIX, SOCK_STREAM, 0, AT(pair)) == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"narrow_read", narrow_read},
	{"narrow_places", narrow_places},
	{"narrow_vectors", narrow_vectors},
	{"narrow_pipe", narrow_pipe},
	{"narrow_sockets", narrow_sockets},
	{"narrow_messages", narrow_messages},
	{"narrow_socketcall", narrow_socketcall},
	{"narrow_socketcall_messages", narrow_socketcall_messages},
	{"narrow_socketcall_edge", narrow_socketcall_edge},
	{"narrow_copies", narrow_copies},
	{"narrow_failing", narrow_failing},
	{"narrow_idle", narrow_idle},
};

static void stop(void)
{
	CALL(KILL, {(uint32_t)CALL(GETPID, {0}), SIGSTOP});
}

void run(long argc, const char *folder)
{
	static char path[4096]; /* the stack may lie above 4 GiB */
	static const char name[] = "narrowed";

	if (argc != 2)
		leave(0);
	for (uint32_t i = 0; i < sizeof(path) - 1 && folder[i]; i++)
		path[i] = folder[i];
	MUST(CALL(CHDIR, {AT(path)}) == 0);
	file = CALL(OPEN, {AT(name), O_RDWR | O_CREAT | O_TRUNC, 0600});
	MUST(file >= 0 && CALL(WRITE, {(uint32_t)file, AT(buffer), FILE_SIZE}) == FILE_SIZE);
	MUST(CALL(PIPE, {AT(ends)}) == 0);
	MUST(CALL(SOCKETPAIR, {AF_UNIX, SOCK_STREAM, 0, AT(streams)}) == 0);
	MUST(CALL(SOCKETPAIR, {AF_UNIX, SOCK_DGRAM, 0, AT(datagrams)}) == 0);
	stop();
	for (uint32_t i = 0; i < COUNT(steps); i++) {
		steps[i].run();
		say_step(steps[i].name);
	}
	say("}\n");
	CALL(WRITE, {1, AT(said), said_bytes});
	stop();
	leave(0);
}
