/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Folded text as stacks in order: `a;b;c 12` a line, root first. No tree is built: sorting the
 * lines brings together what begins alike, and one pass over neighbours finds every frame with its
 * weight (stacks_walk.h). Besides the text, which is borrowed and never copied, a line takes 16
 * bytes.
 *
 * Two texts are kept apart as `before` and `after`, for a difference.
 *
 * A line's stack ends at the last blank or tab, its weight is the digits after that; a fraction is
 * left out, a line end may be CR LF, and blanks may follow. What is not such a line is left out and
 * counted. Any bytes may be in a name; the text may be cut anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STACKS_LENGTH_MAX ((1u << 24) - 2)    /* bytes of one stack */
#define STACKS_TEXT_MAX	  (UINT64_C(1) << 39) /* bytes of one text */
#define STACKS_PADDING	  8		      /* bytes behind a text that must be there and 0 */

enum stacks_side { STACKS_AFTER, STACKS_BEFORE };

/* One line. What it holds at which time is stacks_*.c's matter. */
struct stacks_line {
	uint64_t key;
	uint64_t place; /* side : 1, offset in the text : 39, length of the stack : 24 */
};

struct stacks {
	const char *texts[2];
	struct stacks_line *lines;
	size_t count, capacity;
	uint64_t totals[2]; /* weight of each side */
	uint64_t malformed; /* lines without a stack and a weight, empty ones not among them */
	uint64_t
		too_large; /* lines that are too long, or with whose weight the total has no room */
	uint64_t fractions; /* lines whose weight was cut to a whole number */
	bool normalize;	    /* weights of `before` are scaled to the total of `after` */
};

/*
 * Adds the lines of a text, which must stay where it is, with STACKS_PADDING zeros behind it. Each
 * side has one text. -ENOMEM; -EFBIG: longer than STACKS_TEXT_MAX.
 */
int stacks_read(struct stacks *stacks, enum stacks_side side, const char *text, uint64_t bytes);
void stacks_done(struct stacks *stacks);
#define _cleanup_stacks_ _cleanup_(stacks_done)

/*
 * Brings the lines in order: byte by byte with `;` before all other bytes, so that a frame's stacks
 * stand together, and a stack before those that it begins.
 */
void stacks_sort(struct stacks *stacks);

static inline size_t stacks_length(const struct stacks_line *line)
{
	return line->place & ((1u << 24) - 1);
}

static inline enum stacks_side stacks_side(const struct stacks_line *line)
{
	return line->place >> 63 ? STACKS_BEFORE : STACKS_AFTER;
}

static inline const char *stacks_text(const struct stacks *stacks, const struct stacks_line *line)
{
	return stacks->texts[line->place >> 63] + (line->place << 1 >> 25);
}

/* How many bytes are the same. */
static inline size_t stacks_same_bytes(const char *a, const char *b, size_t len)
{
	size_t same = 0;

	for (; same + 8 <= len; same += 8) {
		uint64_t left, right;

		memcpy(&left, a + same, 8);
		memcpy(&right, b + same, 8);
		if (left != right)
			return same + (size_t)(__builtin_ctzll(left ^ right) / 8);
	}
	while (same < len && a[same] == b[same])
		same++;
	return same;
}

/* The weight that stands behind a stack in its text. */
uint64_t stacks_weight(const struct stacks *stacks, const struct stacks_line *line);
