// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The probe event:NAME, an event that a user has named: a tracepoint, or a point in code, with the
 * return of its function where the time in it is wanted:
 *
 *	hit       counted -> of a target? -> drawn by the guard? -> the stack, counted
 *	entry     the same; or, where short calls aren't counted, only remembered
 *	return    the time since the entry, for the stack of the entry
 *
 * Each slot (PROBE_SLOTS) has an object of its own. Hits of all processes are counted: the daemon
 * gives up an event whose hits alone cost too much.
 */
#include "bpf/core/call_ends.h"

/* What an event costs whose stack isn't taken, ns: the hook and the program. The daemon's figure.
 */
uint64_t event_skipped_ns = 60;

#define GUARD_SKIPPED_NS event_skipped_ns
#include "bpf/shared/event_arg.h"
#include "bpf/stack/probe_halves.h"

/* Set before loading: which slot it is. */
const volatile uint32_t event_probe = PROBE_EVENT_0;

/* 1: points of an earlier text may still be attached: nothing is counted. */
uint32_t event_off;

/* 1: the time of each call is counted as well. */
uint32_t event_timed;

/* 1: the point is in user code, whose stack pointer is the same at both ends of a call. */
uint32_t event_of_user;

/* Calls that took less aren't counted; 0: all are. */
uint64_t event_min_ns;

/* The argument whose value is a frame; 0: none. */
uint64_t event_arg;

/* 1: each point has an argument of its own (its cookie). */
uint32_t event_arg_of_point;

/* Hits of all processes, by CPU and enum event_hit. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENT_HIT_COUNTS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} hits SEC(".maps");

static __always_inline void count_hit(enum event_hit which)
{
	uint32_t index = which;
	uint64_t *mine = bpf_map_lookup_elem(&hits, &index);

	if (mine)
		(*mine)++;
}

/* Returns the part of an argument's value. */
static __always_inline uint32_t part_of_value(int64_t value)
{
	uint32_t power = EVENT_POWER_LEAST;

	if (value >= 0 && value < EVENT_VALUES)
		return EVENT_PART_VALUES + value;
	if (value < 0 && value >= -EVENT_NEGATIVES)
		return EVENT_PART_NEGATIVES - 1 - value;
	if (value < 0)
		return EVENT_PART_BELOW;
	for (uint32_t step = 32; step; step /= 2) { /* the highest bit */
		if (power + step < 64 && (uint64_t)value >> (power + step))
			power += step;
	}
	return EVENT_PART_POWERS + power;
}

/* Returns a value of the argument's size, with its sign. */
static __always_inline int64_t extend_value(uint64_t value, uint64_t arg)
{
	uint32_t unused = 64 - 8 * EVENT_ARG_BYTES(arg);

	value <<= unused & 63;
	return EVENT_ARG_SIGNED(arg) ? (int64_t)value >> (unused & 63) : value >> (unused & 63);
}

/* Returns the part of an event with that argument; `from`: the registers, or a tracepoint's
 * arguments. An argument that can't be read counts without a frame. */
static __always_inline uint32_t part_of_arg(const void *from, uint64_t arg)
{
	uint64_t value = EVENT_ARG_NUMBER(arg);

	if (!arg)
		return PART_ALL;
	if (EVENT_ARG_PLACE(arg) != EVENT_ARG_CONSTANT &&
	    bpf_probe_read_kernel(&value, sizeof(value), from + EVENT_ARG_AT(arg)))
		return PART_ALL;
	if (EVENT_ARG_PLACE(arg) == EVENT_ARG_MEMORY) {
		const void *at = (const void *)(value + EVENT_ARG_NUMBER(arg));
		uint64_t room[2] = {}; /* for 15 bytes, the most that the verifier sees */

		if (bpf_probe_read_user(room, forget_value(EVENT_ARG_BYTES(arg), arg) & 15, at))
			return PART_ALL;
		value = room[0];
	}
	return part_of_value(extend_value(value, arg));
}

/* Returns the number of a call: of the thread, and of the call among those of the thread that go
 * on. `sp`: as it is right after the return. In the kernel a thread has one call. */
static __always_inline uint64_t number_of_call(uint64_t sp)
{
	uint64_t tid = (uint32_t)bpf_get_current_pid_tgid();

	return tid << 42 ^ (event_of_user ? sp >> 3 : 0);
}

/* Counts an event, unless it is a call that may be too short, and remembers a call until its
 * return. Returns whether its return is awaited. */
static __always_inline bool take_event(struct pt_regs *regs, uint64_t arg)
{
	struct taking taking = {.weight = !event_min_ns, .part = part_of_arg(regs, arg)};
	struct half_event event = {};
	struct half_key key = {.probe = event_probe};

	if (!probe_take_as(regs, event_probe, regs, &taking, &event.key.stack) || !event_timed)
		return false;
	key.number = number_of_call(sp_returned(regs));
	taking.part |= PART_SECOND;
	half_begin(&event, &taking);
	return half_keep(&key, &event);
}

/* Counts a call that was not too short, for the stack of its entry. */
static __always_inline void count_call(const struct half_event *ended)
{
	struct count_key counted = ended->key;
	struct stack_count more = {.weight = ended->weight, .samples = 1, .events = ended->weight};

	counted.part &= ~PART_SECOND;
	add_count(current_window(), &counted, &more);
}

/* Ends a call. */
static __always_inline void take_return(const struct pt_regs *regs)
{
	uint64_t number = number_of_call(PT_REGS_SP(regs));
	struct half_key key = {.number = number, .probe = event_probe};
	const struct half_event *found = bpf_map_lookup_elem(&halves, &key);
	struct half_event ended;
	uint64_t ns;

	if (!found)
		return;
	ns = bpf_ktime_get_ns() - found->began_ns;
	if (ns < event_min_ns) {
		half_forget(event_probe, number);
		return;
	}
	if (!half_end(event_probe, number, &ended))
		return;
	if (event_min_ns)
		count_call(&ended);
	half_count(event_probe, &ended, ns);
}

SEC("uprobe")
int at_point(struct pt_regs *ctx)
{
	if (event_off)
		return 0;
	count_hit(EVENT_HIT);
	take_event(ctx, event_arg);
	return 0;
}

SEC("uprobe")
int at_return(struct pt_regs *ctx)
{
	take_return(ctx);
	return 0;
}

/* Both, in one program of a session (Linux 6.13). */
SEC("uprobe")
int at_session(struct pt_regs *ctx)
{
	if (event_off)
		return 1;
	if (event_timed && is_at_return(ctx)) {
		take_return(ctx);
		return 0;
	}
	count_hit(EVENT_HIT);
	if (!take_event(ctx, event_arg_of_point ? bpf_get_attach_cookie(ctx) : event_arg))
		return 1; /* the return is not wanted */
	count_hit(EVENT_HIT_RETURNING);
	return 0;
}

SEC("raw_tp")
int at_tracepoint(void *ctx)
{
	struct taking taking = {.weight = 1, .part = part_of_arg(ctx, event_arg)};
	struct stack_key key;

	if (event_off)
		return 0;
	count_hit(EVENT_HIT);
	probe_take_as(ctx, event_probe, NULL, &taking, &key);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
