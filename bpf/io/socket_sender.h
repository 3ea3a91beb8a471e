/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sent last through a TCP socket: in the socket's own storage, which ends with the socket. When
 * a segment is sent again the current task is a stranger (a timer, or the receiver of an
 * acknowledgement), so the segment is counted for the sender's stack:
 *
 *	send		the stack is known in this window; it is marked as waiting there, so that
 *the daemon keeps its frames for the next window as well
 *	retransmission	in this window or the next one: counted, and marked again; later: lost, for
 *			the frames are gone
 *
 * The sender writes while a timer on another CPU reads: `changes` tells (a sequence lock).
 */
#pragma once

#include "bpf/core/count.h"
#include "bpf/io/socket.h"
#include "bpf/stack/stack.h"

struct sender {
	uint32_t busy;	  /* 1: somebody writes */
	uint32_t changes; /* odd: what follows is being written */
	struct count_key key;
	uint64_t window; /* the last one in which the stack is known */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sender);
} senders SEC(".maps");

static __always_inline bool sender_is(const struct sender *sender, const struct count_key *key,
				      uint64_t window)
{
	return sender->window == window && sender->key.stack.hash == key->stack.hash &&
	       sender->key.stack.tgid == key->stack.tgid && sender->key.tid == key->tid &&
	       sender->key.cpu == key->cpu;
}

/* Writes, unless another CPU does: of two that send at once, either is the last one. (An exchange
 * orders what is before and behind it on each processor.) */
static __always_inline void sender_write(struct sender *sender, const struct count_key *key,
					 uint64_t window)
{
	uint32_t changes;

	if (__sync_lock_test_and_set(&sender->busy, 1))
		return;
	changes = sender->changes;
	__sync_lock_test_and_set(&sender->changes, changes + 1);
	sender->key = *key;
	sender->window = window;
	__sync_lock_test_and_set(&sender->changes, changes + 2);
	__sync_lock_test_and_set(&sender->busy, 0);
}

/* Reads. Returns false if somebody writes meanwhile. */
static __always_inline bool sender_read(struct sender *sender, struct sender *copy)
{
	uint32_t before = __sync_fetch_and_add(&sender->changes, 0);

	copy->key = sender->key;
	copy->window = sender->window;
	return !(before & 1) && before == __sync_fetch_and_add(&sender->changes, 0);
}

/* Marks a sender's stack as waiting in a window that knows it. */
static __always_inline bool sender_waits(const struct count_key *key, uint64_t window)
{
	struct stack_count waiting = {.waiting = 1};

	return add_count(window, key, &waiting);
}

/* Remembers the current thread as the socket's last sender, with a stack that was taken. */
static __always_inline void sender_keep(struct sock *sock, const struct stack_key *stack,
					const struct taking *taking)
{
	struct count_key key = {.stack = *stack,
				.tid = bpf_get_current_pid_tgid(),
				.cpu = taking->cpu,
				.part = NET_PART(NET_SEND, NET_TCP)};
	struct sender *sender =
		bpf_sk_storage_get(&senders, sock, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!sender)
		count_loss(LOST_RECORDS_FULL, stack->probe, taking->events);
	else if (!sender_is(sender, &key, taking->window) && sender_waits(&key, taking->window))
		sender_write(sender, &key, taking->window);
}

/* Counts segments of a socket that were sent again, if its last sender is known. */
static __always_inline void sender_count(struct sock *sock, uint32_t part, uint64_t bytes,
					 uint64_t segments)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct sender *sender = bpf_sk_storage_get(&senders, sock, NULL, 0);
	struct stack_count more = {.weight = bytes, .samples = 1, .events = segments, .waiting = 1};
	struct count_key key;
	struct sender copy;

	if (!sender || !settings)
		return;
	if (!sender_read(sender, &copy) ||
	    (copy.window != settings->window && copy.window + 1 != settings->window)) {
		count_loss(LOST_STACK_MISSING, PROBE_NET, segments);
		return;
	}
	key = copy.key;
	key.part = part;
	if (!add_count(settings->window, &key, &more))
		return;
	count_sample(PROBE_NET);
	if (copy.window != settings->window)
		sender_write(sender, &copy.key, settings->window);
}
