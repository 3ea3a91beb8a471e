// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe net: messages of a target through sockets, segments that TCP sent again, waits for
 * descriptors.
 *
 *	bytes	   the socket's own tracepoints, at the end of each send and receive; a kernel
 *without these: the return of the system calls that move bytes, where a descriptor is a socket sent
 *again the last sender's stack (bpf/io/socket_sender.h) waits	   the begin and the return of poll,
 *select and epoll; attached if they are asked for
 *
 * The daemon loads and attaches what the kernel has and what is wanted.
 */
#define GUARD_SKIPPED_NS 60ULL
#define MEMO_BY_PLACE
#include "bpf/stack/probe_take.h"
#include "bpf/io/begun.h"
#include "bpf/io/moved.h"
#include "bpf/io/socket_sender.h"
#include "bpf/io/socket.h"
#include "bpf/io/waited.h"

#define TCP_SYN_SENT 2 /* include/net/tcp_states.h */

/* Set before loading: what is sent again is seen, so senders are to be known. */
const volatile bool keeps_senders = true;

/* Set before loading: tcp_retransmit_skb has the error of a segment that could not be sent. */
const volatile bool has_retransmit_error = true;

/* Set before loading: the enum net_wait of each number, of 64-bit and of 32-bit code. */
const volatile uint8_t net_calls[NET_CALLS_MAX];
const volatile uint8_t net_narrow_calls[NET_CALLS_MAX];

struct sk_buff {
	unsigned int len;
	char cb[48];
} RELOCATED;

/* What TCP keeps in sk_buff.cb. */
struct tcp_skb_cb {
	unsigned short tcp_gso_segs;
} RELOCATED;

/* Counts messages that the current task, of that target, sent or received. Returns whether the
 * stack was taken. */
static __always_inline bool take_messages(void *ctx, const struct target_value *target,
					  uint32_t part, uint64_t bytes, uint64_t messages,
					  struct taking *taking, struct stack_key *key)
{
	uint32_t drawn = guard_admits(PROBE_NET);

	if (!drawn)
		return false;
	*taking = (struct taking){.weight = bytes * drawn,
				  .events = messages * drawn,
				  .part = part,
				  .user_only = true};
	if (!probe_walk(ctx, PROBE_NET, NULL, target, taking, key))
		return false;
	if (!bytes) {
		probe_count_again(taking, key, part, 0);
		count_sample(PROBE_NET);
	}
	return true;
}

SEC("tp_btf/sock_send_length")
int end_send(uint64_t *ctx)
{
	struct sock *sock = (struct sock *)ctx[0];
	int64_t bytes = (int32_t)ctx[1];
	const struct target_value *target = probe_target(PROBE_NET);
	struct stack_key key;
	struct taking taking;
	enum net_kind kind;

	if (!target || bytes < 0)
		return 0;
	kind = socket_kind(sock);
	if (take_messages(ctx, target, NET_PART(NET_SEND, kind), bytes, 1, &taking, &key) &&
	    kind == NET_TCP && keeps_senders)
		sender_keep(sock, &key, &taking);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int end_receive(uint64_t *ctx)
{
	const struct target_value *target = probe_target(PROBE_NET);
	int64_t bytes = (int32_t)ctx[1];
	struct stack_key key;
	struct taking taking;

	if (target && bytes >= 0 && !(ctx[2] & MSG_PEEK))
		take_messages(ctx, target,
			      NET_PART(NET_RECEIVE, socket_kind((struct sock *)ctx[0])), bytes, 1,
			      &taking, &key);
	return 0;
}

/* Takes what a system call sent or received, where the kernel's sockets tell nothing. (Of a copy
 * from file to file one is a socket at most: the other one is a file or a pipe.) */
static __always_inline void take_call(void *ctx, const struct target_value *target,
				      const struct moved *moved)
{
	struct sock *sock = moved->copies ? descriptor_socket(moved->copied_to) : NULL;
	bool sends = sock || (moved->direction == IO_WRITE && !moved->copies);
	struct stack_key key;
	struct taking taking;
	enum net_kind kind;

	if (!sock && moved->direction != IO_PEEKED)
		sock = descriptor_socket(moved->descriptor);
	if (!sock)
		return;
	kind = socket_kind_read(sock);
	if (take_messages(ctx, target, NET_PART(sends ? NET_SEND : NET_RECEIVE, kind), moved->bytes,
			  moved->messages, &taking, &key) &&
	    sends && kind == NET_TCP && keeps_senders)
		sender_keep_read(sock, &key, &taking);
}

/* Finds out what a target's call moved. Returns false if it moved nothing that counts. A function
 * with a frame of its own: together with the walk's, the programs' frames have 512 bytes. */
static __noinline bool measure_exit(uint64_t *ctx, struct moved *moved)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	uint64_t number = system_call_number(regs);
	uint64_t args[SYSTEM_CALL_ARGS];
	bool narrow, within;
	enum io_call call;

	if (!may_move(number) || (int64_t)ctx[1] < 0 || !probe_target(PROBE_NET))
		return false;
	narrow = system_call_is_narrow();
	system_call_args(regs, narrow, args);
	call = call_made(number, narrow, args, &within);
	if (call == IO_NONE)
		return false;
	if (measure_call(call, within, narrow, ctx[1], args, moved))
		return true;
	count_loss(LOST_UNMEASURED, PROBE_NET, moved->messages);
	return false;
}

SEC("tp_btf/sys_exit")
int end_call(uint64_t *ctx)
{
	const struct target_value *target;
	struct moved moved = {};

	if (!measure_exit(ctx, &moved))
		return 0;
	target = probe_target(PROBE_NET);
	if (target)
		take_call(ctx, target, &moved);
	return 0;
}

/* Remembers the current thread as the sender of a socket that nobody has sent through: the stack is
 * taken, and counts nothing. */
static __always_inline void keep_first_sender(void *ctx, struct sock *sock)
{
	const struct target_value *target = probe_target(PROBE_NET);
	struct taking taking = {.events = 1, .user_only = true};
	const struct guard *guard;
	struct stack_key key;

	if (!target || sender_find(sock))
		return;
	guard = guard_of(PROBE_NET);
	if (guard && guard->interval > 1 && (uint64_t)draw_random() * guard->interval >> 32)
		return;
	if (probe_walk(ctx, PROBE_NET, NULL, target, &taking, &key))
		sender_keep(sock, &key, &taking);
}

/* The begin of a connection: its first segment may have to be sent again. */
SEC("tp_btf/inet_sock_set_state")
int begin_connection(uint64_t *ctx)
{
	struct sock *sock = (struct sock *)ctx[0];

	if (ctx[2] == TCP_SYN_SENT && socket_kind(sock) == NET_TCP)
		keep_first_sender(ctx, sock);
	return 0;
}

/* The end of a TCP socket, whose address may then be another one's. */
SEC("tp_btf/tcp_destroy_sock")
int end_socket(uint64_t *ctx)
{
	sender_forget((const struct sock *)ctx[0]);
	return 0;
}

/* In a send, before its segments leave. */
SEC("tp_btf/tcp_sendmsg_locked")
int begin_send(uint64_t *ctx)
{
	keep_first_sender(ctx, (struct sock *)ctx[0]);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int on_retransmission(uint64_t *ctx)
{
	const struct sk_buff *segments = (const struct sk_buff *)ctx[1];
	const struct tcp_skb_cb *of_tcp = (const void *)segments->cb;

	if (has_retransmit_error && (int32_t)ctx[2])
		return 0;
	sender_count((struct sock *)ctx[0], NET_PART_RETRANSMITTED, segments->len,
		     BPF_CORE_READ(of_tcp, tcp_gso_segs));
	return 0;
}

/* Returns whether some call with that number waits. */
static __always_inline bool may_wait(uint64_t number)
{
	return number < NET_CALLS_MAX && net_calls[number] | net_narrow_calls[number];
}

SEC("tp_btf/sys_enter")
int begin_wait(uint64_t *ctx)
{
	struct begun_call begun = {.number = ctx[1]};
	uint64_t args[SYSTEM_CALL_ARGS];
	enum net_wait call;
	bool narrow;

	if (!may_wait(begun.number) || !probe_target(PROBE_NET))
		return 0;
	narrow = system_call_is_narrow();
	call = narrow ? net_narrow_calls[begun.number] : net_calls[begun.number];
	if (call == NET_WAIT_NONE)
		return 0;
	begun.events = guard_admits(PROBE_NET);
	if (!begun.events) {
		begun_forget();
		return 0;
	}
	system_call_args((const struct pt_regs *)ctx[0], narrow, args);
	begun.part = waited_part(call, args) | PART_SECOND;
	begun.began_ns = bpf_ktime_get_ns();
	if (!begun_put(&begun))
		count_loss(LOST_PENDING_FULL, PROBE_NET, begun.events);
	return 0;
}

SEC("tp_btf/sys_exit")
int end_wait(uint64_t *ctx)
{
	uint64_t number = system_call_number((const struct pt_regs *)ctx[0]);
	struct taking taking = {.user_only = true};
	const struct target_value *target;
	struct begun_call begun;
	struct stack_key key;

	if (!may_wait(number) || !begun_take(number, &begun))
		return 0;
	target = probe_target(PROBE_NET);
	if (!target)
		return 0;
	taking.events = begun.events;
	taking.part = begun.part;
	taking.weight = (bpf_ktime_get_ns() - begun.began_ns) * begun.events;
	probe_walk(ctx, PROBE_NET, NULL, target, &taking, &key);
	return 0;
}

/* Forgets the wait in which a thread ends. */
SEC("raw_tp/sched_process_exit")
int end_thread(void *ctx)
{
	begun_forget();
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
