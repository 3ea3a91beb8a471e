/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the daemon is woken for a stack. It reads the ring by control.look_ns anyway, which it moves
 * on as long as it finds something there. Until then a stack can lie that brings nothing which may
 * be gone soon. What may be:
 *
 *	a process that it has not looked at, that is young, or that it still asks about its runtime
 *	mappings, where their sum has changed since it was woken for such a stack
 *	the interrupted code, where that lies in no mapping that it has told
 *	a Python code object that none had in this window and that was not copied as a whole
 *	a Java method that none had in this window
 *
 * A wake-up costs an interrupt here and a switch there, more than all that the daemon does with a
 * stack; and of a program that computes nearly every sample is a new stack.
 */
#pragma once

#include "bpf/core/maps.h"
#include "bpf/python/python_copy.h"

/* It is not woken more often than this either, but when a quarter of the ring is full: it looks
 * once more a bit later (kernel/tracer_rings.c). It has to read the maps of a young process before
 * that ends, above all where it hasn't read any; and code objects before they are gone. (An id is
 * the time of the exec.) */
#define WAKE_EVERY_NS	     20000000ULL
#define WAKE_EVERY_YOUNG_NS  2000000ULL
#define WAKE_EVERY_URGENT_NS 500000ULL
#define YOUNG_NS	     200000000ULL
#define LOOK_MARGIN_NS	     1000000ULL /* what is sent this late may miss the look */

/* struct walk.hurry */
#define HURRY_UNREAD 1U /* its process was not looked at */
#define HURRY_ASKED  2U /* … is still asked */
#define HURRY_MAPPED 4U /* … has mapped or unmapped code */

#define JAVA_SEEN    4096 /* a power of two */
#define JAVA_RUN     64	  /* details at a time */

int java_news(uint32_t level, uint32_t first);

uint64_t last_wake_ns; /* a lost race costs one wake-up more */

/* Upper halves of hashes; who comes later takes the place. */
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

/* How many of these details are of methods that no stack had in this window. */
__noinline int java_news(uint32_t level, uint32_t first)
{
	struct walk *walk = walk_at(level);
	int news = 0;

	if (!walk || first > PYTHON_WORDS_MAX - JAVA_RUN)
		return 0;
	for (uint32_t i = 0; i < JAVA_RUN; i++) {
		uint32_t id = walk->words[PYTHON_AT + first + i];
		uint64_t hash = walk->head.target_id ^ walk->head.window << 48;

		if (first + i >= walk->hotspot.details)
			break;
		if (!id) /* a stub: it stays */
			continue;
		hash = hash_word(hash, id);
		if (java_seen[hash & (JAVA_SEEN - 1)] == hash >> 32)
			continue;
		java_seen[hash & (JAVA_SEEN - 1)] = hash >> 32;
		news++;
	}
	return news;
}

static __always_inline bool has_java_news(const struct walk *walk)
{
	int news = 0;

	for (uint32_t at = 0; at <= NATIVE_WORDS_MAX; at += JAVA_RUN) {
		if (at >= walk->hotspot.details)
			break;
		news += java_news(walk->level, at);
	}
	return news > 0;
}

/* Whether the stack, which isn't sent yet, brings something that may be gone soon. */
static __always_inline bool has_news(const struct walk *walk, uint64_t now_ns)
{
	/* A walk that ended at its first frame: see unwind_leaf(). */
	bool lost = walk->head.truncated == TRUNCATED_ADDRESS && walk->known & WALK_EXACT;
	bool java = walk->hotspot_at && has_java_news(walk);

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

/* The daemon is awake and looks at its process now. A stack without a user half came before there
 * were maps to be read. */
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
