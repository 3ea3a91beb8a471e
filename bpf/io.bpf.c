// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe io: the bytes that system calls of a target moved, at the calls' return:
 *
 *	a call that moves bytes (one load) -> of a target? -> drawn by the guard?
 *	  -> which files, which way, how many bytes -> the stack, counted
 *
 * sys_enter is needed for the time in the call alone. It is attached if that is asked for.
 *
 * Requests of an io_uring are events with a begin and an end: at their submission the stack, at
 * their completion, anywhere, the bytes.
 */
#define GUARD_SKIPPED_NS 60ULL
#define MEMO_BY_PLACE
#include "bpf/stack/probe_halves.h"
#include "bpf/io/begun.h"
#include "bpf/io/descriptor.h"
#include "bpf/io/moved.h"
#include "bpf/io/ring_request.h"

/* 1: the time in the call is counted as well. */
uint32_t io_timed;

/* Returns how long the current thread's call took, ns; 0: its begin was not seen. */
static __always_inline uint64_t time_in_call(uint64_t number)
{
	struct begun_call begun;

	return begun_take(number, &begun) ? bpf_ktime_get_ns() - begun.began_ns : 0;
}

/* Counts what a call moved. `ns`: time in the call, 0: none is counted. */
static __always_inline void take_call(void *ctx, const struct target_value *target,
				      const struct moved *moved, uint64_t ns, uint32_t events)
{
	uint32_t part = IO_PART(moved->direction, descriptor_kind(moved->descriptor));
	struct taking taking = {
		.weight = moved->bytes * events, .events = events, .part = part, .user_only = true};
	struct stack_key key;

	if (!probe_walk(ctx, PROBE_IO, NULL, target, &taking, &key))
		return;
	if (!moved->bytes) {
		probe_count_again(&taking, &key, part, 0);
		count_sample(PROBE_IO);
	}
	if (moved->copies)
		probe_count_again(&taking, &key,
				  IO_PART(IO_WRITE, descriptor_kind(moved->copied_to)),
				  taking.weight);
	if (ns)
		probe_count_again(&taking, &key, part | PART_SECOND, ns * events);
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
	struct begun_call begun = {.number = ctx[1]};

	if (!may_move(begun.number) || !probe_target(PROBE_IO))
		return 0;
	begun.began_ns = bpf_ktime_get_ns();
	if (!begun_put(&begun))
		count_loss(LOST_PENDING_FULL, PROBE_IO, 1);
	return 0;
}

/* Forgets the call in which a thread ends. */
SEC("raw_tp/sched_process_exit")
int end_thread(void *ctx)
{
	if (io_timed)
		begun_forget();
	return 0;
}

/* ---- io_uring ---- */

SEC("raw_tp/io_uring_submit_req")
int begin_request(struct bpf_raw_tracepoint_args *ctx)
{
	const struct io_kiocb *request = (const void *)ctx->args[0];

	if (ring_way(BPF_CORE_READ(request, opcode)) != RING_NOTHING)
		probe_begin_user(ctx, PROBE_IO, (uint64_t)request);
	return 0;
}

/* Counts what a request has moved, for the stack of its submission. */
static __always_inline void count_request(struct half_event *ended, uint32_t part, uint64_t bytes)
{
	struct stack_count more = {
		.weight = bytes * ended->weight, .samples = 1, .events = ended->weight};
	uint64_t window = current_window();

	ended->key.part = part;
	if (!add_count(window, &ended->key, &more))
		return;
	count_sample(PROBE_IO);
	if (!io_timed)
		return;
	ended->key.part |= PART_SECOND;
	more.weight = (bpf_ktime_get_ns() - ended->began_ns) * ended->weight;
	add_count(window, &ended->key, &more);
}

SEC("raw_tp/io_uring_complete")
int end_request(struct bpf_raw_tracepoint_args *ctx)
{
	const struct io_kiocb *request = (const void *)ctx->args[1];
	struct half_event ended;
	enum ring_way way;
	int32_t result;

	if (!request || !half_end(PROBE_IO, (uint64_t)request, &ended))
		return 0;
	if (ended.window == current_window())
		half_waits(ended.window, &ended.key, -1);
	result = ring_result(ctx);
	way = ring_way(BPF_CORE_READ(request, opcode));
	if (result >= 0)
		count_request(&ended,
			      IO_PART(way == RING_OUT ? IO_WRITE : IO_READ,
				      file_kind((const void *)BPF_CORE_READ(request, file))),
			      result);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
