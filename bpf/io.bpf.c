// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe io: the bytes that system calls of a target moved, at the calls' return:
 *
 *	a call that moves bytes (one load) -> of a target? -> drawn by the guard?
 *	  -> which files, which way, how many bytes -> the stack, counted
 *
 * sys_enter is needed for the time in the call alone. It is attached if that is asked for.
 */
#define GUARD_SKIPPED_NS 60ULL
#define MEMO_BY_PLACE
#include "bpf/stack/probe_take.h"
#include "bpf/io/descriptor.h"
#include "bpf/io/system_call.h"

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

/* 1: the time in the call is counted as well. */
uint32_t io_timed;

/* A call that has begun. */
struct begun_call {
	uint64_t began_ns;
	uint64_t number;
};

/* By thread, until the call returns or the thread ends. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IO_CALLS_WAITING);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint64_t);
	__type(value, struct begun_call);
} begun_calls SEC(".maps");

/* Where bytes went. */
struct moved {
	uint64_t bytes;
	uint32_t part;	/* struct count_key.part */
	uint32_t other; /* of a copy from file to file: the second one's part; else 0 */
};

static __always_inline enum io_call call_of(uint64_t number, bool narrow)
{
	if (number >= IO_CALLS_MAX)
		return IO_NONE;
	return narrow ? io_narrow_calls[number] : io_calls[number];
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

static __always_inline enum io_direction received_direction(uint64_t flags)
{
	if (flags & MSG_PEEK)
		return IO_PEEKED;
	return flags & MSG_TRUNC ? IO_TRUNCATED : IO_READ;
}

/* Finds out what a call moved. Returns false if it can't be measured. */
static __always_inline bool measure_call(enum io_call call, bool narrow, uint64_t result,
					 const uint64_t args[SYSTEM_CALL_ARGS], struct moved *moved)
{
	uint64_t first = call == IO_COPY_10 ? args[1] : args[0];
	enum io_direction direction = IO_READ;

	moved->bytes = result;
	if (call == IO_OUT || call == IO_MESSAGES_OUT)
		direction = IO_WRITE;
	else if (call == IO_RECEIVE || call == IO_MESSAGES_IN)
		direction = received_direction(args[3]);
	else if (call == IO_RECEIVE3)
		direction = received_direction(args[2]);
	if (call == IO_MESSAGES_IN || call == IO_MESSAGES_OUT)
		moved->bytes = message_bytes(args[1], result, narrow);
	moved->part = IO_PART(direction, descriptor_kind(first));
	moved->other = 0;
	if (call == IO_COPY_10 || call == IO_COPY_02)
		moved->other =
			IO_PART(IO_WRITE, descriptor_kind(call == IO_COPY_10 ? args[0] : args[2]));
	return moved->bytes != NOT_MEASURED;
}

/* Returns how long the current thread's call took, ns; 0: its begin was not seen. */
static __always_inline uint64_t time_in_call(uint64_t number)
{
	uint64_t id = bpf_get_current_pid_tgid();
	const struct begun_call *begun = bpf_map_lookup_elem(&begun_calls, &id);
	uint64_t ns = 0;

	if (begun && begun->number == number)
		ns = bpf_ktime_get_ns() - begun->began_ns;
	if (begun)
		bpf_map_delete_elem(&begun_calls, &id);
	return ns;
}

/* Counts what a call moved. `ns`: time in the call, 0: none is counted. */
static __always_inline void take_call(void *ctx, const struct target_value *target,
				      const struct moved *moved, uint64_t ns, uint32_t events)
{
	struct taking taking = {.weight = moved->bytes * events,
				.events = events,
				.part = moved->part,
				.user_only = true};
	struct stack_key key;

	if (!probe_walk(ctx, PROBE_IO, NULL, target, &taking, &key))
		return;
	if (!moved->bytes) {
		probe_count_again(&taking, &key, moved->part, 0);
		count_sample(PROBE_IO);
	}
	if (moved->other)
		probe_count_again(&taking, &key, moved->other, taking.weight);
	if (ns)
		probe_count_again(&taking, &key, moved->part | PART_SECOND, ns * events);
}

SEC("tp_btf/sys_exit")
int end_call(uint64_t *ctx)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	uint64_t number = system_call_number(regs), ns;
	uint64_t args[SYSTEM_CALL_ARGS];
	const struct target_value *target;
	struct moved moved;
	enum io_call call;
	uint32_t events;
	bool narrow;

	if (!may_move(number) || ((int64_t)ctx[1] < 0 && !io_timed))
		return 0;
	target = probe_target(PROBE_IO);
	if (!target)
		return 0;
	ns = io_timed ? time_in_call(number) : 0;
	if ((int64_t)ctx[1] < 0)
		return 0;
	narrow = system_call_is_narrow();
	call = call_of(number, narrow);
	if (call == IO_NONE)
		return 0;
	events = guard_admits(PROBE_IO);
	if (!events)
		return 0;
	system_call_args(regs, narrow, args);
	if (measure_call(call, narrow, ctx[1], args, &moved))
		take_call(ctx, target, &moved, ns, events);
	else
		count_loss(LOST_UNMEASURED, PROBE_IO, events);
	return 0;
}

SEC("tp_btf/sys_enter")
int begin_call(uint64_t *ctx)
{
	uint64_t id = bpf_get_current_pid_tgid();
	struct begun_call begun = {.number = ctx[1]};

	if (!may_move(begun.number) || !probe_target(PROBE_IO))
		return 0;
	begun.began_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&begun_calls, &id, &begun, BPF_ANY))
		count_loss(LOST_PENDING_FULL, PROBE_IO, 1);
	return 0;
}

/* Forgets the call in which a thread ends. */
SEC("raw_tp/sched_process_exit")
int end_thread(void *ctx)
{
	uint64_t id = bpf_get_current_pid_tgid();

	if (io_timed)
		bpf_map_delete_elem(&begun_calls, &id);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
