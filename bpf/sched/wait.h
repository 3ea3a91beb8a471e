/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wait's way into the counts: at its end (bpf/sched/offcpu.h), and while it goes on at each
 * window's end (bpf/flush.bpf.c), each time the part that isn't in them yet.
 *
 * While a window is being closed, waits that began in it are still counted there. Whoever goes on
 * is handed to the next one by the iterator, stack and all.
 *
 * The thread may come back while the iterator looks at it. Then either of them counts the part
 * before the window's end, and one only:
 *
 *	iterator			switch back
 *	shown_ns = the window's end	ends += 1
 *	barrier				barrier
 *	ends is as before? counted	counts from shown_ns on
 *	else it waits for `ended`	counted_from_ns, ended += 1
 *	and sees from when that counted
 */
#pragma once

#include "bpf/core/count.h"
#include "bpf/core/record.h"

extern struct sched_settings sched;

/* What one part of a wait adds. */
struct part {
	uint64_t from_ns, until_ns;
	uint64_t events;  /* it is counted for the first time: the waits it stands for */
	uint64_t waiting; /* 1: it goes on */
};

static __always_inline void count_part(const struct thread_record *record, uint32_t tid,
				       uint64_t window, uint32_t which, const struct part *part)
{
	struct count_key key = {
		.stack = record->key, .tid = tid, .cpu = record->cpu, .part = which};
	struct stack_count more = {
		.weight = (part->until_ns - part->from_ns) * record->weight,
		.samples = part->events != 0,
		.events = part->events,
		.waiting = part->waiting,
	};

	add_count(window, &key, &more);
}

/* The time until the wake-up and the time from then on, where these are told apart. */
static __always_inline void count_parts(const struct thread_record *record, uint32_t tid,
					uint64_t window, const struct part *part)
{
	struct part blocked = *part, queued = *part;
	uint64_t woken_ns = record->queued_ns;

	if (!sched.wait_split || !woken_ns || woken_ns >= part->until_ns) {
		count_part(record, tid, window, PART_ALL, part);
		return;
	}
	if (woken_ns < part->from_ns)
		woken_ns = part->from_ns;
	blocked.until_ns = queued.from_ns = woken_ns;
	if (blocked.until_ns > blocked.from_ns) {
		queued.events = 0;
		queued.waiting = 0;
		count_part(record, tid, window, PART_ALL, &blocked);
	}
	count_part(record, tid, window, PART_RUNQUEUE, &queued);
}

/* Whether the wait that goes on has a stack. */
static __always_inline bool has_stack(const struct thread_record *record)
{
	return record->weight && record->left_ns >= sched.wait_since_ns;
}

/* Until when it is in the counts. */
static __always_inline uint64_t shown_until(const struct thread_record *record)
{
	return record->shown_ns ? record->shown_ns : record->left_ns;
}

/* The window that a wait's end is counted in: where its stack is known. */
static __always_inline uint64_t window_of(const struct thread_record *record, uint64_t now)
{
	return sched.closing && record->window + 1 == sched.closing ? record->window : now;
}
