/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events with a begin and an end, maybe on another CPU and in another process: a request, a call.
 * An object that includes this header has a map and two programs of its own, of which the daemon
 * loads one (kernel/halves.h).
 *
 *	begin    as in probe_take.h; the stack is sent, remembered under a number (the address of
 *		 the request, the thread), and counted as waiting
 *	end      the event, with its weight, is counted for the stack and the target of the begin,
 *		 in the window of the end
 *
 * The daemon keeps the frames of a stack for the next window if events wait there when the window
 * ends. An event that goes on for longer is counted as waiting by run_halves() or, before Linux
 * 5.13, by the iterator renew_halves(). The daemon runs the one of these that it has loaded right
 * before each window's end.
 *
 * A begin that finds no room, or whose end never came, is counted as lost. An end without a begin
 * counts nothing: the process was not a target, the event was not drawn, or its begin is a loss
 * already.
 */
#pragma once

#include "bpf/stack/probe_take.h"

#define EEXIST	      17 /* include/uapi/asm-generic/errno-base.h */

#define HALVES_MAX    16384
#define HALVES_OLD_NS 60000000000ULL

/* Set before loading, together with the map's size. */
const volatile uint32_t halves_max = HALVES_MAX;

/* Age at which an event whose end may never come is given up, where there is little room. */
const volatile uint64_t halves_old_ns = HALVES_OLD_NS;

struct half_key {
	uint64_t number; /* the caller's: tells the events of a probe that go on apart */
	uint64_t probe;
};

/* An event that has begun. */
struct half_event {
	struct count_key key; /* in the counts, as of the begin */
	uint64_t window;      /* last window that counts it as waiting */
	uint64_t began_ns;    /* right after the walk of the stack */
	uint32_t weight;      /* the guard's: events that the event stands for */
	uint32_t left;	      /* the probe's own: of its bytes, those that are still to come */
	uint32_t state;	      /* HALF_… */
	uint32_t own;	      /* the probe's own */
};

/* Bits of half_event.state. */
#define HALF_ENDED  1U /* nothing more is to come: the event is forgotten at the window's end */
#define HALF_CLOSED 2U /* the probe's own */

/* Not an LRU map: such a map drops events without a word. Here a full map refuses a begin, which is
 * counted, and renew_halves() makes room. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HALVES_MAX);
	__type(key, struct half_key);
	__type(value, struct half_event);
} halves SEC(".maps");

/* Events that were renewed: in this run up to now, and in the last one. */
uint32_t halves_seen, halves_were;

/* Returns the number of the current window. */
static __always_inline uint64_t current_window(void)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);

	return settings ? settings->window : 0;
}

/* Counts an event in a window as waiting: 1; as no longer waiting: -1. Returns false if there is no
 * room. */
static __always_inline bool half_waits(uint64_t window, const struct count_key *key, int64_t more)
{
	struct stack_count waiting = {.waiting = more};

	return add_count(window, key, &waiting);
}

/* Counts an event as lost. */
static __always_inline void half_lose(const struct half_event *event, uint64_t window,
				      enum loss cause)
{
	if (event->window == window)
		half_waits(window, &event->key, -1);
	count_loss(cause, event->key.stack.probe, event->weight);
}

/* Forgets an event of which nothing is to be counted any more. */
static __always_inline void half_forget(uint32_t probe, uint64_t number)
{
	struct half_key key = {.number = number, .probe = probe};
	const struct half_event *found = bpf_map_lookup_elem(&halves, &key);
	struct count_key counted;
	uint64_t window;

	if (!found)
		return;
	counted = found->key;
	window = found->window;
	if (bpf_map_delete_elem(&halves, &key) == 0 && window == current_window())
		half_waits(window, &counted, -1);
}

/* Puts an event into the map, in the place of an earlier one with its number, whose end never
 * came. Returns false if there is no room. */
static __always_inline bool half_put(const struct half_key *key, const struct half_event *event)
{
	const struct half_event *earlier;
	long r = bpf_map_update_elem(&halves, key, event, BPF_NOEXIST);

	if (r != -EEXIST)
		return !r;
	earlier = bpf_map_lookup_elem(&halves, key);
	if (earlier)
		half_lose(earlier, event->window, LOST_UNENDED);
	return !bpf_map_update_elem(&halves, key, event, BPF_ANY);
}

/* Remembers an event. Returns false if it is lost, which is counted. */
static __always_inline bool half_keep(const struct half_key *key, const struct half_event *event)
{
	if (!half_waits(event->window, &event->key, 1)) {
		count_loss(LOST_COUNTS_FULL, key->probe, event->weight);
		return false;
	}
	if (half_put(key, event))
		return true;
	half_lose(event, event->window, LOST_PENDING_FULL);
	return false;
}

/* Fills in an event that begins now, of a stack that was taken. */
static __always_inline void half_begin(struct half_event *event, const struct taking *taking)
{
	event->key.tid = bpf_get_current_pid_tgid();
	event->key.cpu = taking->cpu;
	event->key.part = taking->part;
	event->window = taking->window;
	event->began_ns = taking->until_ns ? taking->until_ns : bpf_ktime_get_ns();
	event->weight = taking->events;
}

/* Begins an event of the current process, if it is to be taken. `taking` has no weight. Returns
 * whether its end is awaited. */
static __always_inline bool probe_begin_as(void *ctx, uint32_t probe, const struct pt_regs *regs,
					   struct taking *taking, uint64_t number)
{
	struct half_key key = {.number = number, .probe = probe};
	struct half_event event = {};

	if (!probe_take_as(ctx, probe, regs, taking, &event.key.stack))
		return false;
	half_begin(&event, taking);
	return half_keep(&key, &event);
}

/* Begins an event with that number. `regs`: see probe_take.h. */
static __always_inline bool probe_begin(void *ctx, uint32_t probe, const struct pt_regs *regs,
					uint64_t number)
{
	struct taking taking = {.part = PART_ALL};

	return probe_begin_as(ctx, probe, regs, &taking, number);
}

/* Like probe_begin(), with the stack of user code alone, as at a system call. */
static __always_inline bool probe_begin_user(void *ctx, uint32_t probe, uint64_t number)
{
	struct taking taking = {.part = PART_ALL, .user_only = true};

	return probe_begin_as(ctx, probe, NULL, &taking, number);
}

/* Takes an event out of the map, into *ended. Returns false if it isn't there. */
static __always_inline bool half_end(uint32_t probe, uint64_t number, struct half_event *ended)
{
	struct half_key key = {.number = number, .probe = probe};
	const struct half_event *found = bpf_map_lookup_elem(&halves, &key);

	if (!found)
		return false;
	*ended = *found;
	return bpf_map_delete_elem(&halves, &key) == 0;
}

/* Counts an event that has ended, of that weight. */
static __always_inline bool half_count(uint32_t probe, const struct half_event *ended,
				       uint64_t weight)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	struct stack_count more = {
		.weight = weight * ended->weight, .samples = 1, .events = ended->weight};

	if (!settings)
		return false;
	if (ended->window == settings->window)
		more.waiting = -1;
	if (!add_count(settings->window, &ended->key, &more))
		return false;
	count_sample(probe);
	return true;
}

/* Ends the event with that number, from any context; `weight` is that of this event alone. Returns
 * whether the event was counted. */
static __always_inline bool probe_end(uint32_t probe, uint64_t number, uint64_t weight)
{
	struct half_event ended;

	return half_end(probe, number, &ended) && half_count(probe, &ended, weight);
}

/* Like probe_end(); the weight is the time since the begin, in ns. */
static __always_inline bool probe_end_timed(uint32_t probe, uint64_t number)
{
	struct half_event ended;

	return half_end(probe, number, &ended) &&
	       half_count(probe, &ended, bpf_ktime_get_ns() - ended.began_ns);
}

/* Makes room: gives up an event that is so old that its end may never come, if the map was half
 * full at the last run, and forgets one that has ended. Returns whether it is gone. */
static __always_inline bool half_drop(const struct half_key *key, const struct half_event *event,
				      uint64_t window)
{
	bool ended = event->state & HALF_ENDED;

	if (!ended &&
	    (halves_were <= halves_max / 2 || bpf_ktime_get_ns() - event->began_ns < halves_old_ns))
		return false;
	if (bpf_map_delete_elem(&halves, key))
		return true;
	if (!ended)
		half_lose(event, window, LOST_UNENDED);
	else if (event->window == window)
		half_waits(window, &event->key, -1);
	return true;
}

/* Counts an event that goes on as waiting in the current window. */
static __always_inline void half_renew(const struct half_key *key, struct half_event *event)
{
	uint64_t window = current_window();
	struct half_event copy = *event;
	struct half_key number = *key;

	halves_seen++;
	if (!half_drop(&number, &copy, window) && copy.window < window &&
	    half_waits(window, &copy.key, 1))
		event->window = window;
}

static __always_inline void halves_seen_all(void)
{
	halves_were = halves_seen;
	halves_seen = 0;
}

/* include/linux/bpf.h, DEFINE_BPF_ITER_FUNC(bpf_map_elem, …) */
struct bpf_iter__bpf_map_elem {
	void *meta;
	void *map;
	struct half_key *key;
	struct half_event *value;
};

/* Iterator over the events that go on, at a window's end. The program is attached to the map
 * `halves`, not together with its object. */
SEC("iter/bpf_map_elem")
int renew_halves(struct bpf_iter__bpf_map_elem *ctx)
{
	struct half_event *event = ctx->value;
	const struct half_key *key = ctx->key;

	if (key && event)
		half_renew(key, event);
	else
		halves_seen_all(); /* the end */
	return 0;
}

static long renew_half(void *map, struct half_key *key, struct half_event *event, void *arg)
{
	(void)map;
	(void)arg;
	half_renew(key, event);
	return 0;
}

/* Like renew_halves(), for all events at once; for BPF_PROG_TEST_RUN, attached nowhere. */
SEC("raw_tp")
int run_halves(void *ctx)
{
	(void)ctx;
	bpf_for_each_map_elem(&halves, renew_half, NULL, 0);
	halves_seen_all();
	return 0;
}
