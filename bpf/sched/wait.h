/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts waits: at the end of a wait (bpf/sched/offcpu.h), and at each window's end while the wait
 * goes on (bpf/flush.bpf.c). Each time the part is counted that isn't in the counts yet.
 *
 * While a window is being closed, waits that began in it are still counted there. The iterator
 * hands a wait that goes on to the next window, together with its stack.
 *
 * The thread may come back while the iterator looks at it. Then one of the two counts the part
 * before the window's end, and only one:
 *
 *	iterator			switch back
 *	shown_ns = the window's end	ends += 1
 *	barrier				barrier
 *	ends unchanged? counted		counts from shown_ns on
 *	else waits for `ended`,		counted_from_ns, ended += 1
 *	and reads from when on the
 *	switch counted
 */
#pragma once

#include "bpf/core/count.h"
#include "bpf/core/record.h"

extern struct sched_settings sched;

/* One part of a wait, as it is added to the counts. */
struct part {
	uint64_t from_ns, until_ns;
	/* The waits that the wait stands for, if it is counted for the first time; else 0. */
	uint64_t events;
	uint64_t waiting; /* 1: the wait goes on */
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

/* Counts the time until the wake-up and the time after it; apart, where the daemon wants so. */
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

/* Returns whether the wait that goes on has a stack. */
static __always_inline bool has_stack(const struct thread_record *record)
{
	return record->weight && record->stack == WAIT_STACK_TAKEN &&
	       record->left_ns >= sched.wait_since_ns;
}

/* Returns whether the stack of the wait is to be taken when the wait is over. */
static __always_inline bool lacks_stack(const struct thread_record *record)
{
	return record->weight && record->stack == WAIT_STACK_LATER &&
	       record->left_ns >= sched.wait_since_ns;
}

static __always_inline void count_over_maxblock(uint32_t weight)
{
	uint32_t zero = 0;
	struct counters *mine = bpf_map_lookup_elem(&counters, &zero);

	if (mine)
		mine->waits_over_maxblock += weight;
}

/* Returns whether a span ends no earlier than it begins, and counts a span that does. */
static __always_inline bool is_forward(uint64_t from_ns, uint64_t until_ns)
{
	uint32_t zero = 0;
	struct counters *mine;

	if (from_ns <= until_ns)
		return true;
	mine = bpf_map_lookup_elem(&counters, &zero);
	if (mine)
		mine->spans_backwards++;
	return false;
}

/* Returns until when the wait is in the counts. */
static __always_inline uint64_t shown_until(const struct thread_record *record)
{
	return record->shown_ns ? record->shown_ns : record->left_ns;
}

/* Returns the window in which the end of a wait is counted: the window that has the wait's
 * stack. */
static __always_inline uint64_t window_of(const struct thread_record *record, uint64_t now)
{
	return sched.closing && record->window + 1 == sched.closing ? record->window : now;
}
