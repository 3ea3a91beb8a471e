// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe io: the bytes that system calls of a target moved, at the calls' return:
 *
 *	a call that moves bytes (one load) -> of a target? -> drawn by the guard?
 *	  -> which files, which way, how many bytes -> the stack, counted
 *
 * sys_enter is needed for the time in the call alone. It is attached if that is asked for, and then
 * it draws the calls.
 *
 * Requests of an io_uring are events with a begin and an end: at their submission the stack, at
 * their completion, anywhere, the bytes. Some complete many times.
 */
#define GUARD_SKIPPED_NS 60ULL
#define MEMO_BY_PLACE
#include "bpf/stack/probe_halves.h"
#include "bpf/io/begun.h"
#include "bpf/io/descriptor.h"
#include "bpf/io/moved.h"
#include "bpf/io/ring_repeats.h"
#include "bpf/io/ring_request.h"

/* 1: the time in the call is counted as well. */
uint32_t io_timed;

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

/* Returns whether a call that has returned moves bytes. */
static __always_inline bool call_moves(const struct pt_regs *regs, uint64_t number, bool narrow)
{
	uint64_t args[SYSTEM_CALL_ARGS];
	bool within;

	system_call_args(regs, narrow, args);
	return call_made(number, narrow, args, &within) != IO_NONE;
}

/* Finds out what such a call moved. Returns false if it can't be measured. A function with a frame
 * of its own: together with the walk's, the programs' frames have 512 bytes. */
static __noinline bool measure_exit(uint64_t *ctx, bool narrow, struct moved *moved)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	uint64_t args[SYSTEM_CALL_ARGS];
	enum io_call call;
	bool within;

	system_call_args(regs, narrow, args);
	call = call_made(system_call_number(regs), narrow, args, &within);
	return measure_call(call, within, narrow, ctx[1], args, moved);
}

/* Returns the events that a call stands for which has returned, by its begin; 0: it isn't drawn. So
 * what isn't drawn costs a look-up. *ns is the time in the call. Of one that went on when the probe
 * began *ns is 0; such are drawn only while all calls are. */
static __always_inline uint32_t begun_events(uint64_t number, uint64_t *ns)
{
	const struct guard *guard = guard_of(PROBE_IO);
	struct begun_call begun;

	if (!begun_take(number, &begun))
		return !guard || guard->interval <= 1;
	*ns = bpf_ktime_get_ns() - begun.began_ns;
	return begun.events;
}

SEC("tp_btf/sys_exit")
int end_call(uint64_t *ctx)
{
	const struct pt_regs *regs = (const struct pt_regs *)ctx[0];
	uint64_t number = system_call_number(regs), ns = 0;
	const struct target_value *target;
	struct moved moved = {};
	uint32_t events = 0;
	bool narrow;

	if (!may_move(number) || ((int64_t)ctx[1] < 0 && !io_timed))
		return 0;
	target = probe_target(PROBE_IO);
	if (!target)
		return 0;
	if ((int64_t)ctx[1] < 0) {
		begun_forget();
		return 0;
	}
	if (io_timed && !(events = begun_events(number, &ns)))
		return 0;
	narrow = system_call_is_narrow();
	if (!call_moves(regs, number, narrow))
		return 0;
	if (!io_timed && !(events = guard_admits(PROBE_IO)))
		return 0;
	if (measure_exit(ctx, narrow, &moved))
		take_call(ctx, target, &moved, ns, events);
	else
		count_loss(LOST_UNMEASURED, PROBE_IO, events);
	return 0;
}

SEC("tp_btf/sys_enter")
int begin_call(uint64_t *ctx)
{
	struct begun_call begun = {.number = ctx[1]};

	if (!may_move(begun.number) || !probe_target(PROBE_IO) ||
	    !call_moves((const struct pt_regs *)ctx[0], begun.number, system_call_is_narrow()))
		return 0;
	begun.events = guard_admits(PROBE_IO);
	if (!begun.events)
		return 0;
	begun.began_ns = bpf_ktime_get_ns();
	if (!begun_put(&begun))
		count_loss(LOST_PENDING_FULL, PROBE_IO, begun.events);
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

/* Bit of half_event.state: the request may complete more than once. */
#define HALF_REPEATS 4U

/* Bits of look_at_request(). */
#define REQUEST_MEASURED 1
#define REQUEST_REPEATS	 2

/* Looks at a request that is submitted, and fills in the event's own fields: `own`, bytes of a
 * result that are no data; `left`, the kind of file that a splice reads from. (look_at_request()
 * and keep_request() have frames of their own: together with the walk's, the programs' frames have
 * 512 bytes.) */
static __noinline int look_at_request(const struct io_kiocb *request, struct half_event *event)
{
	uint32_t opcode = BPF_CORE_READ(request, opcode);
	int found = ring_repeats(request, opcode) ? REQUEST_REPEATS : 0;

	if (ring_tells(request, opcode) && ring_head_bytes(request, opcode, &event->own) &&
	    ring_source(request, opcode, &event->left))
		found |= REQUEST_MEASURED;
	return found;
}

/* Remembers a request whose stack was taken. `left` of one that repeats is its serial number. */
static __noinline int keep_request(const struct io_kiocb *request, struct half_event *event,
				   bool repeats)
{
	struct half_key key = {.number = (uint64_t)request, .probe = PROBE_IO};
	struct ring_number number = {.ring = (uint64_t)BPF_CORE_READ(request, ctx),
				     .user_data = BPF_CORE_READ(request, cqe.user_data)};

	if (repeats) {
		event->left = event->began_ns;
		event->state = HALF_REPEATS;
	}
	if (!half_keep(&key, event) || !repeats ||
	    repeated_put(PROBE_IO, &number, key.number, event->left))
		return 0;
	if (bpf_map_delete_elem(&halves, &key) == 0)
		half_lose(event, event->window, LOST_PENDING_FULL);
	return 0;
}

/* Counts requests that a ring's own thread submitted. */
static __always_inline void count_ring_thread(uint32_t requests)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine)
		mine->ring_thread_requests += requests;
}

SEC("raw_tp/io_uring_submit_req")
int begin_request(struct bpf_raw_tracepoint_args *ctx)
{
	const struct io_kiocb *request = (const void *)ctx->args[0];
	struct taking taking = {.part = PART_ALL, .user_only = true};
	const struct target_value *target;
	struct half_event event = {};
	int found;

	if (!ring_moves(BPF_CORE_READ(request, opcode)))
		return 0;
	target = probe_target(PROBE_IO);
	if (!target)
		return 0;
	taking.events = guard_admits(PROBE_IO);
	if (!taking.events)
		return 0;
	if (ring_thread_is_kernels())
		count_ring_thread(taking.events);
	found = look_at_request(request, &event);
	if (!(found & REQUEST_MEASURED)) {
		count_loss(LOST_UNMEASURED, PROBE_IO, taking.events);
		return 0;
	}
	if (!probe_walk(ctx, PROBE_IO, NULL, target, &taking, &event.key.stack))
		return 0;
	half_begin(&event, &taking);
	keep_request(request, &event, found & REQUEST_REPEATS);
	return 0;
}

/* Counts bytes of a request once, for the stack of its submission. */
static __always_inline void count_part(const struct half_event *event, uint32_t part,
				       uint64_t weight)
{
	struct stack_count more = {
		.weight = weight * event->weight, .samples = 1, .events = event->weight};
	struct count_key key = event->key;

	key.part = part;
	add_count(current_window(), &key, &more);
}

/* Counts what a request has moved, `result` bytes by the completion. */
static __noinline int count_request(const struct io_kiocb *request, const struct half_event *event,
				    uint32_t result)
{
	uint32_t opcode = BPF_CORE_READ(request, opcode);
	enum io_kind kind = file_kind(BPF_CORE_READ(request, file));
	uint32_t part = IO_PART(ring_direction(request, opcode), kind);
	uint64_t bytes = result > event->own ? result - event->own : 0;

	if (opcode == RING_SPLICE) {
		count_part(event, part, bytes);
		part = IO_PART(IO_READ, event->left);
	}
	count_part(event, part, bytes);
	count_sample(PROBE_IO);
	if (io_timed)
		count_part(event, part | PART_SECOND, bpf_ktime_get_ns() - event->began_ns);
	return 0;
}

/* Counts a completion after which more are to come. */
static __always_inline void count_repeated(uint64_t ring, const struct ring_completion *completion)
{
	struct ring_number number = {.ring = ring, .user_data = completion->user_data};
	const struct ring_repeated *repeated;
	struct half_event *event, copy;
	uint64_t request;

	repeated = bpf_map_lookup_elem(&repeated_requests, &number);
	if (!repeated)
		return;
	request = repeated->request;
	event = repeated_event(PROBE_IO, repeated);
	if (!event) { /* another request of that number goes on */
		count_loss(LOST_UNMEASURED, PROBE_IO, 1);
		return;
	}
	if (repeated->count > 1) {
		count_loss(LOST_UNMEASURED, PROBE_IO, event->weight);
		return;
	}
	copy = *event;
	event->began_ns = bpf_ktime_get_ns();
	count_request((const struct io_kiocb *)request, &copy, completion->result);
}

SEC("raw_tp/io_uring_complete")
int end_request(struct bpf_raw_tracepoint_args *ctx)
{
	const struct io_kiocb *request = (const void *)ctx->args[1];
	struct ring_number number = {.ring = ctx->args[0]};
	struct ring_completion completion;
	struct half_event ended;

	if (!request) {
		ring_completed(ctx, &completion);
		if (completion.result >= 0 && (completion.flags & DATA_AND_MORE) == DATA_AND_MORE)
			count_repeated(number.ring, &completion);
		return 0;
	}
	if (!half_end(PROBE_IO, (uint64_t)request, &ended))
		return 0;
	if (ended.window == current_window())
		half_waits(ended.window, &ended.key, -1);
	ring_completed(ctx, &completion);
	number.user_data = completion.user_data;
	if (ended.state & HALF_REPEATS)
		repeated_forget(&number);
	if (completion.result >= 0)
		count_request(request, &ended, completion.result);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
