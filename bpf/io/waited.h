/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a call of poll, select or epoll waits for: the part that its time is counted under
 * (bpf/shared/net_parts.h). The sets of select are overwritten by the call, so this looks at a
 * call's begin.
 */
#pragma once

#include "bpf/io/descriptor.h"
#include "bpf/io/system_call.h"
#include "bpf/shared/net_parts.h"

#define WORD_BITS 64

/* include/uapi/asm-generic/poll.h */
struct pollfd {
	int fd; /* below 0: the entry is left out */
	short events, revents;
};

/* Functions that are called in loops are global: the verifier checks each once, and then knows
 * nothing of the result, so it doesn't go on with each that there may be. */

__noinline uint32_t kind_waited(uint64_t descriptor)
{
	switch (descriptor_kind(descriptor)) {
	case IO_SOCKET:
		return NET_WAITS_SOCKETS;
	case IO_PIPE:
		return NET_WAITS_PIPES;
	case IO_TTY:
		return NET_WAITS_TTYS;
	default:
		return NET_WAITS_OTHERS;
	}
}

/* Returns the kinds of the descriptors in an array of struct pollfd. */
__noinline uint32_t poll_kinds(uint64_t entries, uint32_t count)
{
	uint32_t kinds = count > NET_LOOKS ? NET_WAITS_MORE : 0;

	for (uint32_t i = 0; i < NET_LOOKS && i < count; i++) {
		struct pollfd entry;

		if (bpf_probe_read_user(&entry, sizeof(entry),
					(const struct pollfd *)entries + i)) {
			kinds |= NET_WAITS_MORE;
			break;
		}
		if (entry.fd >= 0)
			kinds |= kind_waited(entry.fd);
	}
	return kinds;
}

/* Reads the word of a set that has the bit `at`. Returns false if it can't be read. */
static __always_inline bool add_word(uint64_t set, uint32_t at, uint64_t *word)
{
	uint64_t more = 0;

	if (set && bpf_probe_read_user(&more, sizeof(more), (const void *)(set + at / 8)))
		return false;
	*word |= more;
	return true;
}

__noinline uint32_t lowest_bit(uint64_t word)
{
	uint32_t bit = 0;

	for (uint32_t half = WORD_BITS / 2; half; half /= 2) {
		if (!(word << (WORD_BITS - half))) {
			word >>= half;
			bit += half;
		}
	}
	return bit;
}

/* Returns the kinds of the descriptors in a word of the sets of select, from descriptor `at` on, of
 * `count` that are left. */
__noinline uint32_t word_kinds(uint64_t in, uint64_t out, uint64_t except, uint32_t at,
			       uint32_t count)
{
	uint32_t kinds = 0;
	uint64_t word = 0;

	if (!add_word(in, at, &word) || !add_word(out, at, &word) || !add_word(except, at, &word))
		return NET_WAITS_MORE;
	if (count < WORD_BITS)
		word &= (1ULL << count) - 1;
	for (uint32_t i = 0; i < NET_WORD_LOOKS && word; i++) {
		kinds |= kind_waited(at + lowest_bit(word));
		word &= word - 1;
	}
	return word ? kinds | NET_WAITS_MORE : kinds;
}

/* Returns the kinds of the descriptors in the sets of a call of select. */
__noinline uint32_t select_kinds(uint32_t count, uint64_t in, uint64_t out, uint64_t except)
{
	uint32_t kinds = count > NET_WORDS * WORD_BITS ? NET_WAITS_MORE : 0;

	for (uint32_t at = 0; at < NET_WORDS * WORD_BITS && at < count; at += WORD_BITS)
		kinds |= word_kinds(in, out, except, at, count - at);
	return kinds;
}

/* Returns the part of a call that begins. */
static __always_inline uint32_t waited_part(enum net_wait call,
					    const uint64_t args[SYSTEM_CALL_ARGS])
{
	uint32_t number = args[0];

	if (call == NET_WAIT_POLL)
		return NET_PART_POLL(poll_kinds(args[0], args[1]) & (NET_WAITS_COUNT - 1));
	if (call == NET_WAIT_SELECT)
		return NET_PART_SELECT(select_kinds(number, args[1], args[2], args[3]) &
				       (NET_WAITS_COUNT - 1));
	return NET_PART_EPOLL(number < NET_EPOLLS ? number : NET_EPOLLS - 1);
}
