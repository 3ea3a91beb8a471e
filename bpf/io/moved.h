/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a system call moved, at its return: which way, through which descriptors, how many bytes in
 * how many messages. An object that includes this header has the tables of calls, which the daemon
 * fills in before loading (bpf/shared/io_calls.h).
 */
#pragma once

#include "bpf/io/system_call.h"
#include "bpf/shared/io_calls.h"

#define MSG_PEEK       0x02 /* include/linux/socket.h */
#define MSG_TRUNC      0x20
#define MESSAGES_MAX   1024 /* of a call: UIO_MAXIOV */
#define MESSAGE_BYTES  64   /* struct mmsghdr */
#define MESSAGE_LEN_AT 56   /* msg_len */
#define NARROW_BYTES   32   /* struct compat_mmsghdr */
#define NARROW_LEN_AT  28
#define NOT_MEASURED   (~0ULL)

/* Set before loading: the enum io_call of each number, of 64-bit and of 32-bit code. */
const volatile uint8_t io_calls[IO_CALLS_MAX];
const volatile uint8_t io_narrow_calls[IO_CALLS_MAX];

/* Where bytes went. */
struct moved {
	uint64_t bytes;
	uint64_t descriptor; /* of the file or socket that they were read from, or written to */
	uint64_t copied_to;  /* of a copy from file to file: the descriptor of the second one */
	uint32_t messages;
	enum io_direction direction;
	bool copies;
};

/* Calls within socketcall: include/uapi/linux/net.h */
enum socket_call {
	SYS_SEND = 9,
	SYS_RECV = 10,
	SYS_SENDTO = 11,
	SYS_RECVFROM = 12,
	SYS_SENDMSG = 16,
	SYS_RECVMSG = 17,
	SYS_RECVMMSG = 19,
	SYS_SENDMMSG = 20,
};

static __always_inline enum io_call call_in_socketcall(uint64_t number)
{
	switch (number) {
	case SYS_SEND:
	case SYS_SENDTO:
	case SYS_SENDMSG:
		return IO_OUT;
	case SYS_RECV:
	case SYS_RECVFROM:
		return IO_RECEIVE;
	case SYS_RECVMSG:
		return IO_RECEIVE3;
	case SYS_RECVMMSG:
		return IO_MESSAGES_IN;
	case SYS_SENDMMSG:
		return IO_MESSAGES_OUT;
	default:
		return IO_NONE;
	}
}

static __always_inline enum io_call call_of(uint64_t number, bool narrow)
{
	if (number >= IO_CALLS_MAX)
		return IO_NONE;
	return narrow ? io_narrow_calls[number] : io_calls[number];
}

/* Returns which call was made: that within a socketcall, of which *within tells. */
static __always_inline enum io_call call_made(uint64_t number, bool narrow,
					      const uint64_t args[SYSTEM_CALL_ARGS], bool *within)
{
	enum io_call call = call_of(number, narrow);

	*within = call == IO_SOCKETCALL;
	return *within ? call_in_socketcall(args[0]) : call;
}

/* Replaces the arguments of a socketcall by those of the call within, which are 32-bit words in the
 * caller's memory: three of sendmsg and recvmsg, else four or more. Returns false if they can't be
 * read. (They are read to where the last two arguments are: the programs have little stack.) */
static __always_inline bool read_args_within(enum io_call call, uint64_t args[SYSTEM_CALL_ARGS])
{
	const void *from = (const void *)args[1];
	bool are_three = args[0] == SYS_SENDMSG || call == IO_RECEIVE3;

	if (are_three ? bpf_probe_read_user(&args[2], 3 * sizeof(uint32_t), from)
		      : bpf_probe_read_user(&args[2], 4 * sizeof(uint32_t), from))
		return false;
	args[0] = (uint32_t)args[2];
	args[1] = args[2] >> 32;
	args[2] = (uint32_t)args[3];
	args[3] = args[3] >> 32;
	return true;
}

/* Returns whether some call with that number moves bytes. */
static __always_inline bool may_move(uint64_t number)
{
	return number < IO_CALLS_MAX && io_calls[number] | io_narrow_calls[number];
}

/* Returns the bytes of so many messages, by the lengths that the kernel wrote `step` bytes apart;
 * NOT_MEASURED: one can't be read. A global function, so the verifier checks it once. */
__noinline uint64_t sum_messages(uint64_t lens_at, uint32_t count, uint32_t step)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < MESSAGES_MAX && i < count; i++) {
		uint32_t len = 0;

		if (bpf_probe_read_user(&len, sizeof(len), (void *)(lens_at + (uint64_t)i * step)))
			return NOT_MEASURED;
		sum += len;
	}
	return sum;
}

static __always_inline uint64_t message_bytes(uint64_t messages, uint64_t count, bool narrow)
{
	if (narrow)
		return sum_messages(messages + NARROW_LEN_AT, count, NARROW_BYTES);
	return sum_messages(messages + MESSAGE_LEN_AT, count, MESSAGE_BYTES);
}

static __always_inline enum io_direction receive_direction(uint64_t flags)
{
	if (flags & MSG_PEEK)
		return IO_PEEKED;
	return flags & MSG_TRUNC ? IO_TRUNCATED : IO_READ;
}

/* Finds out what a call moved; `within` a socketcall, whose arguments are replaced. Returns false
 * if it can't be measured. */
static __always_inline bool measure_call(enum io_call call, bool within, bool narrow,
					 uint64_t result, uint64_t args[SYSTEM_CALL_ARGS],
					 struct moved *moved)
{
	moved->bytes = result;
	moved->messages = 1;
	if (within && !read_args_within(call, args))
		return false;
	moved->direction = IO_READ;
	moved->descriptor = call == IO_COPY_10 ? args[1] : args[0];
	moved->copies = call == IO_COPY_10 || call == IO_COPY_02;
	moved->copied_to = call == IO_COPY_10 ? args[0] : args[2];
	if (call == IO_OUT || call == IO_MESSAGES_OUT)
		moved->direction = IO_WRITE;
	else if (call == IO_RECEIVE || call == IO_MESSAGES_IN)
		moved->direction = receive_direction(args[3]);
	else if (call == IO_RECEIVE3)
		moved->direction = receive_direction(args[2]);
	if (call == IO_MESSAGES_IN || call == IO_MESSAGES_OUT) {
		moved->messages = result;
		moved->bytes = message_bytes(args[1], result, narrow);
	}
	return moved->bytes != NOT_MEASURED;
}
