// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Multikey quicksort (Bentley and Sedgewick, 1997) by words of 8 bytes. Each line keeps the current
 * word as its key, so that most comparisons read no text.
 *
 * A key holds 8 bytes of the stack from some depth on, the first byte as the highest, mapped so
 * that the stack's end sorts before `;`, `;` before all else, and different bytes stay different:
 *
 *	end -> 0    ; -> 1    0x00..0x09 -> 2..11    0x0b -> ';'    all others: themselves
 *
 * (No line has 0x0a.) So a key whose lowest byte is 0 holds the end of its stack.
 */
#include "output/svg/stacks.h"

#include <stdbool.h>
#include <string.h>

#define KEY_BYTES      8
#define AHEAD	       8
#define SMALL	       12  /* lines: sorted by insertion */
#define SAMPLED	       200 /* lines: the pivot is chosen from nine */
#define REPEATED(byte) (UINT64_C(0x0101010101010101) * (byte))
#define END_BYTE(key)  ((key)&0xff)

static uint64_t map_slowly(uint64_t word)
{
	uint64_t key = 0;

	for (int shift = 56; shift >= 0; shift -= 8) {
		uint64_t c = word >> shift & 0xff;

		key |= (c == ';' ? 1 : c <= 0x09 ? c + 2 : c == 0x0b ? ';' : c) << shift;
	}
	return key;
}

/* Maps all 8 bytes of a word at once. */
static uint64_t map_bytes(uint64_t word)
{
	const uint64_t low = REPEATED(0x7f), high = REPEATED(0x80);
	uint64_t differs = word ^ REPEATED(';');
	uint64_t is_separator = ~(((differs & low) + low) | differs) & high;

	/* This test is exact for whether any byte is below 0x0c. */
	if ((word - REPEATED(0x0c)) & ~word & high)
		return map_slowly(word);
	return word ^ (is_separator >> 7) * (';' ^ 1);
}

static uint64_t key_at(const struct stacks *stacks, const struct stacks_line *line, size_t depth)
{
	size_t len = stacks_length(line);
	uint64_t word;

	if (depth >= len)
		return 0;
	memcpy(&word, stacks_text(stacks, line) + depth, KEY_BYTES);
	word = map_bytes(__builtin_bswap64(word));
	size_t left = len - depth;
	return left >= KEY_BYTES ? word : word & ~(UINT64_MAX >> left * 8);
}

/* Returns whether `a` sorts before `b`; both keys are those at `depth`. */
static bool is_before(const struct stacks *stacks, const struct stacks_line *a,
		      const struct stacks_line *b, size_t depth)
{
	if (a->key != b->key || !END_BYTE(a->key))
		return a->key < b->key;
	size_t a_len = stacks_length(a), b_len = stacks_length(b);
	size_t shorter = a_len < b_len ? a_len : b_len;

	depth += KEY_BYTES;
	depth += stacks_same_bytes(stacks_text(stacks, a) + depth, stacks_text(stacks, b) + depth,
				   shorter - depth);
	return key_at(stacks, a, depth) < key_at(stacks, b, depth);
}

static void insertion_sort(const struct stacks *stacks, struct stacks_line *lines, size_t count,
			   size_t depth)
{
	for (size_t i = 1; i < count; i++) {
		struct stacks_line line = lines[i];
		size_t at = i;

		for (; at > 0 && is_before(stacks, &line, &lines[at - 1], depth); at--)
			lines[at] = lines[at - 1];
		lines[at] = line;
	}
}

static uint64_t median_of_three(uint64_t a, uint64_t b, uint64_t c)
{
	if (a < b)
		return b < c ? b : a < c ? c : a;
	return a < c ? a : b < c ? c : b;
}

/* Returns a median of randomly drawn keys, so that no usual order of lines is a bad case. */
static uint64_t choose_pivot(uint64_t *random, const struct stacks_line *lines, size_t count)
{
	uint64_t keys[9];

	for (int i = 0; i < (count < SAMPLED ? 3 : 9); i++) {
		*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		keys[i] = lines[(*random >> 32) % count].key;
	}
	if (count < SAMPLED)
		return median_of_three(keys[0], keys[1], keys[2]);
	return median_of_three(median_of_three(keys[0], keys[1], keys[2]),
			       median_of_three(keys[3], keys[4], keys[5]),
			       median_of_three(keys[6], keys[7], keys[8]));
}

static void swap_lines(struct stacks_line *a, struct stacks_line *b)
{
	struct stacks_line line = *a;

	*a = *b;
	*b = line;
}

/* Orders the lines as less than, equal to, greater than the pivot. Returns the number of lines that
 * are less; *equal is the number of equal ones. */
static size_t partition_lines(struct stacks_line *lines, size_t count, uint64_t pivot,
			      size_t *equal)
{
	size_t less = 0, at = 0, greater = count;

	while (at < greater) {
		if (lines[at].key < pivot)
			swap_lines(&lines[less++], &lines[at++]);
		else if (lines[at].key > pivot)
			swap_lines(&lines[at], &lines[--greater]);
		else
			at++;
	}
	*equal = greater - less;
	return less;
}

struct line_group {
	struct stacks_line *lines;
	size_t count, depth;
};

/* Prefetches the text of a line. */
static void look_ahead(const struct stacks *stacks, struct line_group group, size_t at)
{
	if (at < group.count)
		__builtin_prefetch(stacks_text(stacks, &group.lines[at]) + group.depth);
}

/* Returns how many bytes from the group's depth on are the same in all its lines, rounded down to a
 * multiple of KEY_BYTES. */
static size_t common_bytes(const struct stacks *stacks, struct line_group group)
{
	const char *first = stacks_text(stacks, group.lines) + group.depth;
	size_t common = stacks_length(group.lines) - group.depth;

	for (size_t i = 1; i < group.count && common >= KEY_BYTES; i++) {
		const char *text = stacks_text(stacks, group.lines + i) + group.depth;
		size_t len = stacks_length(group.lines + i) - group.depth;

		look_ahead(stacks, group, i + AHEAD);
		common = stacks_same_bytes(first, text, len < common ? len : common);
	}
	return common & ~(size_t)(KEY_BYTES - 1);
}

static void load_keys(const struct stacks *stacks, struct line_group group)
{
	for (size_t i = 0; i < group.count; i++) {
		look_ahead(stacks, group, i + AHEAD);
		group.lines[i].key = key_at(stacks, &group.lines[i], group.depth);
	}
}

/* Moves a group, whose lines all have the same key, to a greater depth. */
static struct line_group descend_group(const struct stacks *stacks, struct line_group group)
{
	if (group.count < 2 || END_BYTE(group.lines[0].key) == 0) {
		group.count = 0; /* the same stack, all of them */
		return group;
	}
	group.depth += KEY_BYTES;
	group.depth += common_bytes(stacks, group);
	load_keys(stacks, group);
	return group;
}

/* Sorts a group. The largest part is sorted in the loop, the others by recursion, so that the
 * recursion's depth is logarithmic. */
static void sort_group(const struct stacks *stacks, struct line_group group, uint64_t *random)
{
	while (group.count > SMALL) {
		struct line_group parts[3];
		size_t equal, largest = 0;
		size_t less =
			partition_lines(group.lines, group.count,
					choose_pivot(random, group.lines, group.count), &equal);

		parts[0] = (struct line_group){group.lines, less, group.depth};
		parts[1] = (struct line_group){group.lines + less, equal, group.depth};
		parts[2] = (struct line_group){group.lines + less + equal,
					       group.count - less - equal, group.depth};
		for (size_t i = 1; i < 3; i++)
			largest = parts[i].count > parts[largest].count ? i : largest;
		parts[1] = descend_group(stacks, parts[1]);
		for (size_t i = 0; i < 3; i++) {
			if (i != largest)
				sort_group(stacks, parts[i], random);
		}
		group = parts[largest];
	}
	insertion_sort(stacks, group.lines, group.count, group.depth);
}

void stacks_sort(struct stacks *stacks)
{
	uint64_t random = stacks->count;

	struct line_group all = {stacks->lines, stacks->count, 0};

	load_keys(stacks, all);
	sort_group(stacks, all, &random);
}
