/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sent last through a TCP socket: in the socket's own storage, which ends with the socket.
 * Where the kernel's sockets tell no lengths: by the socket's address, until the socket ends. When
 * a segment is sent again the current task is a stranger (a timer, or the receiver of an
 * acknowledgement), so the segment is counted for the sender's stack:
 *
 *	send	the stack is known in this window; it is marked as waiting there, so the daemon
 *		keeps its frames for the next window as well
 *	again	in this window or the next one: counted, and marked again; later: lost, for the
 *		frames are gone
 *
 * The sender writes while a timer on another CPU reads: what was read is whole if its check fits.
 */
#pragma once

#include "bpf/core/count.h"
#include "bpf/io/socket.h"
#include "bpf/stack/stack.h"

/* Set before loading: false, where senders are found by the address of their socket. (Who looks at
 * system calls has no typed socket.) */
const volatile bool has_socket_storage = true;

#define SENDERS_MAX 65536

struct sender {
	struct count_key key; /* in the counts, of the last send */
	uint64_t window;      /* the last one in which the stack is known */
	uint64_t check;	      /* sender_check() of the other fields */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sender);
} senders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SENDERS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint64_t);
	__type(value, struct sender);
} senders_by_address SEC(".maps");

static __always_inline uint64_t sender_check(const struct sender *sender)
{
	const struct count_key *key = &sender->key;
	uint64_t hash = hash_word(sender->window, key->stack.hash);

	hash = hash_word(hash, (uint64_t)key->stack.tgid << 32 | key->tid);
	return hash_word(hash, key->cpu);
}

static __always_inline bool sender_is(const struct sender *sender, const struct sender *other)
{
	return sender->check == other->check && sender->window == other->window &&
	       sender->key.stack.hash == other->key.stack.hash && sender->key.tid == other->key.tid;
}

/* Finds who sent last; NULL: nobody is known. */
static __always_inline struct sender *sender_find(struct sock *sock)
{
	uint64_t address = (uint64_t)sock;

	if (has_socket_storage)
		return bpf_sk_storage_get(&senders, sock, NULL, 0);
	return bpf_map_lookup_elem(&senders_by_address, &address);
}

/* Marks a sender's stack as waiting in a window that knows it. */
static __always_inline bool sender_waits(const struct count_key *key, uint64_t window)
{
	struct stack_count waiting = {.waiting = 1};

	return add_count(window, key, &waiting);
}

/* Write who sent last, if that has changed. Return false if there is no room. */

static __always_inline bool sender_store(struct sock *sock, const struct sender *sender)
{
	struct sender *known =
		bpf_sk_storage_get(&senders, sock, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!known || sender_is(known, sender))
		return known;
	if (!sender_waits(&sender->key, sender->window))
		return false;
	*known = *sender;
	return true;
}

static __always_inline bool sender_map(uint64_t address, const struct sender *sender)
{
	const struct sender *known = bpf_map_lookup_elem(&senders_by_address, &address);

	if (known && sender_is(known, sender))
		return true;
	return sender_waits(&sender->key, sender->window) &&
	       !bpf_map_update_elem(&senders_by_address, &address, sender, BPF_ANY);
}

static __always_inline bool sender_write(struct sock *sock, const struct sender *sender)
{
	return has_socket_storage ? sender_store(sock, sender) : sender_map((uint64_t)sock, sender);
}

/* Makes the current thread, with a stack that was taken, a sender. */
static __always_inline void sender_make(struct sender *sender, const struct stack_key *stack,
					const struct taking *taking)
{
	*sender = (struct sender){.key = {.stack = *stack,
					  .tid = bpf_get_current_pid_tgid(),
					  .cpu = taking->cpu,
					  .part = NET_PART(NET_SEND, NET_TCP)},
				  .window = taking->window};
	sender->check = sender_check(sender);
}

/* Remembers the current thread as the last sender of a socket: of a typed one, or of one whose
 * address was read. */

static __always_inline void sender_keep(struct sock *sock, const struct stack_key *stack,
					const struct taking *taking)
{
	struct sender sender;

	sender_make(&sender, stack, taking);
	if (!sender_write(sock, &sender))
		count_loss(LOST_RECORDS_FULL, PROBE_NET, taking->events);
}

/* (A function of its own: with the walk's, the frames of a program have 512 bytes.) */
static __noinline void sender_keep_read(const struct sock *sock, const struct stack_key *stack,
					const struct taking *taking)
{
	struct sender sender;

	sender_make(&sender, stack, taking);
	if (!sender_map((uint64_t)sock, &sender))
		count_loss(LOST_RECORDS_FULL, PROBE_NET, taking->events);
}

/* Forgets a socket that ends. */
static __always_inline void sender_forget(const struct sock *sock)
{
	uint64_t address = (uint64_t)sock;

	bpf_map_delete_elem(&senders_by_address, &address);
}

/* Counts segments of a socket that were sent again, if its last sender is known. */
static __always_inline void sender_count(struct sock *sock, uint32_t part, uint64_t bytes,
					 uint64_t segments)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct stack_count more = {.weight = bytes, .samples = 1, .events = segments};
	const struct sender *found = sender_find(sock);
	struct sender sender;
	struct count_key key;

	if (!settings || !found)
		return;
	sender = *found;
	if (sender.check != sender_check(&sender) ||
	    (sender.window != settings->window && sender.window + 1 != settings->window)) {
		count_loss(LOST_STACK_MISSING, PROBE_NET, segments);
		return;
	}
	key = sender.key;
	key.part = part;
	if (!add_count(settings->window, &key, &more))
		return;
	count_sample(PROBE_NET);
	sender.window = settings->window;
	sender.check = sender_check(&sender);
	if (!sender_write(sock, &sender))
		count_loss(LOST_RECORDS_FULL, PROBE_NET, segments);
}
