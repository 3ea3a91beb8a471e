/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a jitdump as programs write it: a header, then records, the unwind rows of a function
 * before the function. All its functions are of one kind, 14 bytes of x86-64:
 *
 *	sub $24, %rsp; call *%rdi; inc %rax; add $24, %rsp; ret
 *
 * (With nothing between the call and the function's end, the caller would be known without rows.)
 * Pointers in .eh_frame count from where they would lie behind the code, as V8 has it.
 */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jit_elf.h"

#define DUMP_MAGIC    0x4a695444u
#define DUMP_FRAMES   128
#define DUMP_HEAD     20 /* bytes of .eh_frame_hdr */
#define DUMP_TEXT_MAX 4096

enum { DUMP_LOAD, DUMP_MOVE, DUMP_DEBUG_INFO, DUMP_CLOSE, DUMP_UNWINDING };

struct dump_header {
	uint32_t magic, version, bytes, machine, pad, pid;
	uint64_t time, flags;
};

struct dump_head {
	uint32_t kind, bytes;
	uint64_t time;
};

struct dump_load {
	struct dump_head head;
	uint32_t pid, tid;
	uint64_t vma, start, bytes, index;
};

struct dump_move {
	struct dump_head head;
	uint32_t pid, tid;
	uint64_t vma, from, start, bytes, index;
};

struct dump_unwinding {
	struct dump_head head;
	uint64_t bytes, head_bytes, mapped_bytes;
};

#define DUMP_BYTES 16 /* from a function to the next */
#define DUMP_CODE  14

static const unsigned char dumped_function[DUMP_CODE] = {0x48, 0x83, 0xec, 24,	 0xff, 0xd7, 0x48,
							 0xff, 0xc0, 0x48, 0x83, 0xc4, 24,   0xc3};

static inline uint64_t dump_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct dump_header dump_header(uint32_t pid)
{
	return (struct dump_header){
		.magic = DUMP_MAGIC,
		.version = 1,
		.bytes = sizeof(struct dump_header),
		.machine = EM_X86_64,
		.pid = pid,
		.time = dump_now(),
	};
}

/* Returns whether all was written; so do those below. */
static inline int dump_put(int fd, const void *bytes, size_t count)
{
	return write(fd, bytes, count) == (ssize_t)count;
}

/* A function with that name, and `bytes` bytes of code, of which the file has some anything. */
static inline int dump_put_load(int fd, uint32_t pid, uint64_t time, uint64_t start, uint64_t bytes,
				uint64_t index, const char *name)
{
	static const char code[DUMP_TEXT_MAX];
	size_t name_bytes = strlen(name) + 1;
	size_t kept = bytes < sizeof(code) ? (size_t)bytes : sizeof(code);
	const struct dump_load load = {
		.head = {DUMP_LOAD, (uint32_t)(sizeof(load) + name_bytes + kept), time},
		.pid = pid,
		.tid = pid,
		.vma = start,
		.start = start,
		.bytes = bytes,
		.index = index,
	};

	return dump_put(fd, &load, sizeof(load)) && dump_put(fd, name, name_bytes) &&
	       dump_put(fd, code, kept);
}

static inline int dump_put_move(int fd, uint32_t pid, uint64_t time, uint64_t from, uint64_t start,
				uint64_t bytes, uint64_t index)
{
	const struct dump_move move = {
		.head = {DUMP_MOVE, sizeof(move), time},
		.pid = pid,
		.tid = pid,
		.vma = start,
		.from = from,
		.start = start,
		.bytes = bytes,
		.index = index,
	};

	return dump_put(fd, &move, sizeof(move));
}

/* Writes .eh_frame of a function of `bytes` bytes to `to`; returns its bytes. */
static inline size_t dump_frames(unsigned char *to, uint64_t bytes)
{
	/* as jit_elf.h has them, but pointers are of 4 bytes and count from where they lie */
	static const unsigned char cie[] = {0,	0, 0,	 0,    1, 'z', 'R',  0, 1, 0x78,
					    16, 1, 0x1b, 0x0c, 7, 8,   0x90, 1, 0, 0};
	/* advance 4; CFA = rsp + 32; advance 9; CFA = rsp + 8 */
	static const unsigned char program[] = {0, 0x44, 0x0e, 32, 0x49, 0x0e, 8, 0};
	uint32_t length = sizeof(cie), value;
	size_t at = made_put(to, 0, &length, sizeof(length));

	at = made_put(to, at, cie, sizeof(cie));
	length = 3 * sizeof(value) + sizeof(program);
	at = made_put(to, at, &length, sizeof(length));
	value = (uint32_t)at;
	at = made_put(to, at, &value, sizeof(value));
	value = (uint32_t) - (int32_t)(((bytes + 7) & ~UINT64_C(7)) + at);
	at = made_put(to, at, &value, sizeof(value));
	value = (uint32_t)bytes;
	at = made_put(to, at, &value, sizeof(value));
	at = made_put(to, at, program, sizeof(program));
	length = 0;
	return made_put(to, at, &length, sizeof(length));
}

/* The rows of the next function. .eh_frame_hdr lies behind .eh_frame, as perf has it, or before. */
static inline int dump_put_frames(int fd, uint64_t time, const unsigned char *frames, size_t bytes,
				  int head_first)
{
	static const unsigned char head[DUMP_HEAD] = {1, 0x1b, 0x03, 0x3b};
	const struct dump_unwinding unwinding = {
		.head = {DUMP_UNWINDING, (uint32_t)(sizeof(unwinding) + bytes + sizeof(head)),
			 time},
		.bytes = bytes + sizeof(head),
		.head_bytes = sizeof(head),
	};

	return dump_put(fd, &unwinding, sizeof(unwinding)) &&
	       (!head_first || dump_put(fd, head, sizeof(head))) && dump_put(fd, frames, bytes) &&
	       (head_first || dump_put(fd, head, sizeof(head)));
}
