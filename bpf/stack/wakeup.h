/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when a new stack wakes the daemon. The daemon reads the ring by control.look_ns anyway,
 * and moves that time on as long as it finds something. A stack can wait until then if it brings
 * nothing that may be gone soon. What may be gone soon:
 *
 *	a process that the daemon has not looked at, that is young, or that has not told the daemon
 *	of its runtime yet
 *	mappings, if their sum has changed since the daemon was woken for such a stack
 *	the interrupted code, if that lies in no mapping that the daemon has told
 *	a Python code object that no stack had in this window and that was not copied completely
 *	a Java method that no stack had in this window
 *
 * A wake-up costs an interrupt here and a switch there, more than all that the daemon does with a
 * stack; and nearly every sample of a program that computes is a new stack.
 */
#pragma once

#include "bpf/core/shared_maps.h"
#include "bpf/python/python_copy.h"

/*
 * Least time between two wake-ups, unless a quarter of the ring is full: the daemon looks once more
 * a bit later (kernel/tracer_rings.c). The daemon has to read the maps of a young process before
 * the process ends, above all if it has read none yet, and code objects before they are gone. (The
 * id of a target is the time of its exec.)
 */
#define WAKE_EVERY_NS	     20000000ULL
#define WAKE_EVERY_YOUNG_NS  2000000ULL
#define WAKE_EVERY_URGENT_NS 500000ULL
#define YOUNG_NS	     200000000ULL
#define LOOK_MARGIN_NS	     1000000ULL /* a stack sent this late may miss the look */

/* Bits of struct walk.hurry. */
#define HURRY_UNREAD 1U /* the daemon has not looked at the process */
#define HURRY_ASKED  2U /* the daemon still asks the process about its runtime */
#define HURRY_MAPPED 4U /* the process has mapped or unmapped code */

#define JAVA_SEEN    4096 /* a power of two */
#define JAVA_RUN     32	  /* details looked at by one call */

int java_news(uint32_t level, uint32_t first);
int java_has_news(uint32_t level);

/* A lost race costs one more wake-up. */
uint64_t last_wake_ns, last_notice_ns;

/* Upper halves of the hashes of the Java methods seen in this window; a new entry replaces the one
 * with the same slot. */
uint32_t java_seen[JAVA_SEEN];

static __always_inline uint32_t hurry_of(const struct target_value *target, uint32_t exec_pages)
{
	uint32_t hurry = target->unread ? HURRY_UNREAD : 0;

	if (target->asked)
		hurry |= HURRY_ASKED;
	if (target->exec_pages != exec_pages)
		hurry |= HURRY_MAPPED;
	return hurry;
}

/* Returns whether a run of details from `first` on has a method that no stack had in this window.
 * (Computed without jumps: the verifier would follow both ways of each, in each turn.) */
__noinline int java_news(uint32_t level, uint32_t first)
{
	struct walk *walk = walk_at(level);
	uint64_t news = 0, seed;

	if (!walk || first > PYTHON_WORDS_MAX - JAVA_RUN)
		return 0;
	seed = walk->head.target_id ^ walk->head.window << 48;
	for (uint32_t i = 0; i < JAVA_RUN && first + i < walk->hotspot.details; i++) {
		uint32_t id = walk->words[PYTHON_AT + first + i];
		uint64_t hash = hash_word(seed, id);
		uint32_t *seen = &java_seen[hash & (JAVA_SEEN - 1)];
		uint64_t is_method = ((uint64_t)id + 0xffffffff) >> 32; /* 0: a stub, which stays */
		uint32_t differs;

		asm volatile("" : "+r"(is_method));
		differs = (*seen ^ hash >> 32) * is_method;
		*seen ^= differs;
		news |= differs;
	}
	asm volatile("" : "+r"(news));
	return (news + 0xffffffff) >> 32;
}

/* Returns whether a detail is of a method that no stack had in this window. */
__noinline int java_has_news(uint32_t level)
{
	struct walk *walk = walk_at(level);
	uint32_t news = 0;

	if (!walk)
		return 0;
	for (uint32_t at = 0; at <= NATIVE_WORDS_MAX && at < walk->hotspot.details; at += JAVA_RUN)
		news |= java_news(level, at);
	return news;
}

/* Returns whether the stack, which isn't sent yet, brings something that may be gone soon. */
static __always_inline bool has_news(const struct walk *walk, uint64_t now_ns)
{
	/* True if the walk ended at its first frame: see unwind_leaf(). */
	bool lost = walk->head.truncated == TRUNCATED_ADDRESS && walk->known & WALK_EXACT;
	bool java = hotspot_of(walk) && java_has_news(walk->level);

	return java || lost || walk->hurry || walk->python.flags & PYTHON_UNSEEN ||
	       now_ns - walk->head.target_id < YOUNG_NS;
}

static __always_inline uint64_t wake_every(const struct walk *walk, uint64_t now_ns)
{
	if (walk->hurry & HURRY_UNREAD || walk->python.flags & PYTHON_UNSEEN)
		return WAKE_EVERY_URGENT_NS;
	return now_ns - walk->head.target_id < YOUNG_NS ? WAKE_EVERY_YOUNG_NS : WAKE_EVERY_NS;
}

static __always_inline uint64_t wake_flag(const struct walk *walk, uint64_t now_ns)
{
	uint32_t zero = 0;
	const struct control *settings = bpf_map_lookup_elem(&control, &zero);
	bool wakes =
		has_news(walk, now_ns) || !settings || now_ns + LOOK_MARGIN_NS >= settings->look_ns;

	if (!(wakes && now_ns - last_wake_ns >= wake_every(walk, now_ns)) &&
	    bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) <
		    bpf_ringbuf_query(&stacks, BPF_RB_RING_SIZE) / 4)
		return BPF_RB_NO_WAKEUP;
	last_wake_ns = now_ns;
	return BPF_RB_FORCE_WAKEUP;
}

/*
 * Tells the daemon that a thread of the process begins to wait, if it has to know: it has not
 * looked at the process or its mappings, or no stack and no notice of it came yet. `task` is the
 * thread.
 */
static __always_inline void notice_wait(struct target_value *target, const struct task_struct *task,
					uint64_t now_ns)
{
	uint32_t exec_pages = task->mm->exec_vm;
	uint32_t hurry = hurry_of(target, exec_pages) & (HURRY_UNREAD | HURRY_MAPPED);
	bool wakes = now_ns - last_notice_ns >= WAKE_EVERY_URGENT_NS;
	struct stack *notice;

	if (target->noticed && (!hurry || !wakes))
		return;
	notice = bpf_ringbuf_reserve(&stacks, sizeof(*notice), 0);
	if (!notice)
		return; /* the stack itself tells it */
	__builtin_memset(notice, 0, sizeof(*notice));
	notice->key.tgid = task->tgid;
	notice->key.probe = NOTICE_KIND;
	notice->target_id = target->id;
	notice->time_ns = now_ns;
	notice->exec_pages = exec_pages;
	bpf_ringbuf_submit(notice, wakes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	target->noticed = 1;
	if (!wakes)
		return;
	last_notice_ns = now_ns;
	target->exec_pages = exec_pages;
	target->unread = 0;
}

/* Notes that the daemon is awake and looks at the process now. A stack without a user half came
 * before there were maps to be read. */
static __always_inline void set_told(const struct walk *walk)
{
	uint32_t tgid = walk->head.key.tgid, last = walk->head.words_count - 1;
	struct target_value *target = bpf_map_lookup_elem(&targets, &tgid);
	uint64_t kind;

	if (!target || target->id != walk->head.target_id || last >= WORDS_MAX)
		return;
	target->exec_pages = walk->head.exec_pages;
	kind = walk->words[last] >> FRAME_KIND_SHIFT;
	if (walk->python.words_count || (kind != FRAME_KERNEL && kind != FRAME_KERNEL_RETURN))
		target->unread = 0;
}
