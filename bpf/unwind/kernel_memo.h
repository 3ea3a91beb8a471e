/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of kernel stacks, for a hook on the task's own kernel stack: a switch. A stack that can't
 * have changed is used again. The kernel's unwinder takes 2 us for a dozen frames, a look at their
 * return addresses a tenth of that.
 *
 * The size of a frame is decided by the return address into it. So a walk that begins at the same
 * place goes the same way, as long as it finds the same return addresses in the same places,
 * counted from where the walk begins. One frame has no certain size: the system call's entry adds a
 * random gap (RANDOMIZE_KSTACK_OFFSET); but the return address above the gap lies right below the
 * user's registers.
 *
 * The unwinder tells addresses only, not places. So a memo has all places that held one of the
 * addresses at each walk which came to these frames: the places of the walk, and some where an old
 * address was left. Each later walk to the same frames removes the places that held something else.
 * (While somebody traces a function's return, the return address lies elsewhere: then there is no
 * memo, or a call in the middle may be shown as another call of the same function.)
 */
#pragma once

#include "bpf/unwind/lookup.h"

#define RAW_AT	   KERNEL_FRAMES_MAX /* the stack's words are read to walk->words, from here on */
#define RAW_WORDS  512		     /* a power of two */
#define BELOW	   3  /* frames that lie below: two of the program, and their caller */
#define REBUILD	   8  /* one in so many walks to other frames makes a new memo */
#define PLACES_RUN 16 /* words or places that one call looks at */

_Static_assert(RAW_AT + RAW_WORDS <= NATIVE_WORDS_MAX, "there is room for them");

int kernel_is_known(uint32_t level);
int kernel_places(uint32_t level);
int kernel_places_run(uint32_t level, uint32_t first, uint64_t filter);
int kernel_which(uint32_t level, uint64_t address);
int kernel_narrow_run(uint32_t level, uint32_t first);
int kernel_learn(uint32_t level);

/* A memo has the program's own frames, so the map belongs to one object, which has one program that
 * walks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, KERNEL_MEMOS);
	__type(key, uint32_t);
	__type(value, struct kernel_memo);
} kernel_memos SEC(".maps");

static __always_inline struct kernel_memo *kernel_memo_of(const struct walk *walk)
{
	uint32_t number = (walk->user.pc ^ walk->head.key.tgid) * 0x9e3779b97f4a7c15ULL >> 32 &
			  (KERNEL_MEMOS - 1);

	return bpf_map_lookup_elem(&kernel_memos, &number);
}

static __always_inline uint64_t raw_word(const struct walk *walk, uint32_t place)
{
	return walk->words[RAW_AT + (place & (RAW_WORDS - 1))];
}

static __always_inline bool raw_read(struct walk *walk, uint32_t words)
{
	uint64_t bytes = walk->kernel_to - walk->kernel_from;

	if (bytes > THREAD_BYTES || bytes % sizeof(uint64_t))
		return false;
	if (words > bytes / sizeof(uint64_t))
		words = bytes / sizeof(uint64_t);
	if (words > RAW_WORDS)
		words = RAW_WORDS;
	walk->raw_count = 0;
	if (!words || bpf_probe_read_kernel(walk->words + RAW_AT, words * sizeof(uint64_t),
					    (const void *)walk->kernel_from))
		return false;
	walk->raw_count = words;
	return true;
}

/* Returns 0 if a word of the stack is a frame's address. */
static __always_inline uint64_t word_differs(uint64_t raw, uint64_t frame)
{
	return ((raw ^ frame) & FRAME_ADDRESS) | ~(raw | FRAME_ADDRESS);
}

/* Returns 0 if the last frame's return address is the word next to the user's registers. */
static __always_inline uint64_t top_differs(const struct walk *walk, const struct kernel_memo *memo)
{
	uint64_t top;

	if (bpf_probe_read_kernel(&top, sizeof(top), (const void *)walk->kernel_to - sizeof(top)))
		return 1;
	return word_differs(top, memo->words[(memo->frames - 1) & (KERNEL_MEMO_FRAMES - 1)]);
}

/* Returns whether the walk would come to the memo's frames; then pushes these frames. */
__noinline int kernel_is_known(uint32_t level)
{
	struct walk *walk = walk_at(level);
	const struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;
	uint64_t differ = 0;
	uint32_t frames;

	if (!memo || memo->window != walk->head.window + 1)
		return 0;
	frames = memo->frames;
	if (frames > KERNEL_MEMO_FRAMES || !raw_read(walk, memo->words_read) ||
	    walk->raw_count != memo->words_read)
		return 0;
	for (uint32_t i = 0; i < KERNEL_PLACES && i < memo->places_count; i++)
		differ |= word_differs(raw_word(walk, memo->places[i]),
				       memo->words[memo->which[i] & (KERNEL_MEMO_FRAMES - 1)]);
	if (differ || top_differs(walk, memo))
		return 0;
	for (uint32_t i = 0; i < KERNEL_MEMO_FRAMES && i < frames; i++)
		walk->words[i] = memo->words[i];
	walk->head.words_count = frames;
	walk->head.key.hash = memo->hash;
	return 1;
}

/* Returns the number of the memo's frame that has this address; negative: none has. */
__noinline int kernel_which(uint32_t level, uint64_t address)
{
	struct walk *walk = walk_at(level);
	const struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;

	if (!memo)
		return -1;
	for (uint32_t i = 0; i < KERNEL_MEMO_FRAMES && i < memo->frames; i++) {
		if (!word_differs(address, memo->words[i]))
			return i;
	}
	return -1;
}

static __always_inline uint64_t filter_bit(uint64_t address)
{
	return 1ULL << ((address & FRAME_ADDRESS) * 0x9e3779b97f4a7c15ULL >> 58);
}

/* Begins a memo of the frames that were pushed. Returns false if there are too many. */
static __always_inline bool memo_frames(struct walk *walk, struct kernel_memo *memo,
					uint64_t *filter)
{
	uint32_t frames = walk->head.words_count;

	memo->window = 0;
	if (frames <= BELOW || frames > KERNEL_MEMO_FRAMES)
		return false;
	memo->frames = frames;
	memo->hash = walk->head.key.hash;
	memo->places_count = 0;
	for (uint32_t i = 0; i < KERNEL_MEMO_FRAMES && i < frames; i++) {
		memo->words[i] = walk->words[i];
		*filter |= filter_bit(walk->words[i]);
	}
	return true;
}

/* Adds the places from `first` on, a run of them, that hold the address of a frame; `filter` has
 * the filter_bit() of each frame. Returns 0 if there are too many. */
__noinline int kernel_places_run(uint32_t level, uint32_t first, uint64_t filter)
{
	struct walk *walk = walk_at(level);
	struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;

	if (!memo)
		return 0;
	for (uint32_t i = 0; i < PLACES_RUN; i++) {
		uint64_t word = raw_word(walk, first + i);
		uint32_t n = memo->places_count;
		int which;

		if (first + i >= walk->raw_count)
			return 1;
		if (!(filter & filter_bit(word)))
			continue;
		which = kernel_which(level, word);
		if (which < 0)
			continue;
		if (n >= KERNEL_PLACES)
			return 0;
		memo->places[n] = first + i;
		memo->which[n] = which;
		memo->places_count = n + 1;
	}
	return 1;
}

/* Makes a memo: finds all places that hold the address of a frame. Returns 0 if that fails. (The
 * verifier walks each turn of a loop, so the words are looked at in runs.) */
__noinline int kernel_places(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;
	uint64_t filter = 0;

	if (!memo || !memo_frames(walk, memo, &filter) || !raw_read(walk, RAW_WORDS))
		return 0;
	for (uint32_t i = 0; i < RAW_WORDS && i < walk->raw_count; i += PLACES_RUN) {
		if (!kernel_places_run(level, i, filter))
			return 0;
	}
	return 1;
}

/* Returns 1 if a < b; else 0. Computed without a jump: the verifier would follow both ways, in each
 * turn of a loop. */
static __always_inline uint64_t is_less(uint32_t a, uint32_t b)
{
	uint64_t difference = (uint64_t)a - b;

	asm volatile("" : "+r"(difference));
	return difference >> 63;
}

static __always_inline uint64_t is_zero(uint64_t a)
{
	uint64_t sign = a | -a;

	asm volatile("" : "+r"(sign));
	return ~sign >> 63;
}

/* Looks at a run of places from `first` on, and keeps those that memo_narrow() keeps; walk->low
 * counts them. */
__noinline int kernel_narrow_run(uint32_t level, uint32_t first)
{
	struct walk *walk = walk_at(level);
	struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;

	if (!memo)
		return 0;
	for (uint32_t i = 0; i < PLACES_RUN; i++) {
		uint32_t at = (first + i) & (KERNEL_PLACES - 1);
		uint32_t place = memo->places[at],
			 which = memo->which[at] & (KERNEL_MEMO_FRAMES - 1);
		uint32_t kept = BOUND(walk->low), read = BOUND(memo->words_read);
		uint64_t keep = is_less(first + i, memo->places_count) &
				is_less(which + 1, memo->frames) & is_less(place, walk->raw_count) &
				is_zero(word_differs(raw_word(walk, place), memo->words[which]));

		memo->places[kept & (KERNEL_PLACES - 1)] = place;
		memo->which[kept & (KERNEL_PLACES - 1)] = which;
		memo->found |= keep << which;
		BOUND(memo->words_read) = read + (place + 1 - read) * keep;
		BOUND(walk->low) = kept + keep;
	}
	return 0;
}

/* Removes the places that hold something else, and those of the last frame, which lies above the
 * gap. The memo is valid if each other frame has a place. */
static __always_inline void memo_narrow(struct walk *walk, struct kernel_memo *memo)
{
	uint32_t frames = memo->frames;

	memo->window = 0;
	memo->found = 0;
	memo->words_read = 0;
	BOUND(walk->low) = 0;
	for (uint32_t i = 0; i < KERNEL_PLACES && i < memo->places_count; i += PLACES_RUN)
		kernel_narrow_run(walk->level, i);
	memo->places_count = BOUND(walk->low);
	if (frames > BELOW && frames <= KERNEL_MEMO_FRAMES &&
	    (memo->found | ((1U << BELOW) - 1)) == (1ULL << (frames - 1)) - 1 &&
	    !top_differs(walk, memo))
		memo->window = walk->head.window + 1;
}

/* Makes or narrows the memo: the walk came to the frames that were pushed. */
__noinline int kernel_learn(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct kernel_memo *memo = walk ? kernel_memo_of(walk) : NULL;

	if (!memo)
		return 0;
	if (memo->window != walk->head.window + 1 || memo->hash != walk->head.key.hash) {
		if (memo->tried == walk->head.window + 1 && ++memo->others % REBUILD)
			return 0;
		memo->tried = walk->head.window + 1;
		if (!kernel_places(level))
			return 0;
	}
	memo_narrow(walk, memo);
	return 0;
}
