/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser and sorter of folded text: `a;b;c 12` a line, root first. No tree is built: sorting the
 * lines brings stacks with a common beginning together, and one pass over neighbours finds every
 * frame with its weight (stacks_walk.h). The text is borrowed and never copied; besides the text a
 * line takes 16 bytes. A difference has two texts, `before` and `after`.
 *
 * A line's stack ends at the last blank or tab, the digits after it are the weight. A fraction of
 * the weight is dropped; a line may end with blanks and with CR LF. Other lines are left out and
 * counted. A name may have any bytes; the text may be cut anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "output/text/folded_header.h"

#define STACKS_LENGTH_MAX ((1u << 24) - 2)    /* bytes of one stack */
#define STACKS_TEXT_MAX	  (UINT64_C(1) << 39) /* bytes of one text */
#define STACKS_PADDING	  8		      /* bytes behind a text; they must be 0 */

enum stacks_side { STACKS_AFTER, STACKS_BEFORE };

/* One line. `key` is for stacks_sort() the next 8 bytes, after stacks_link() cut and weight. */
struct stacks_line {
	uint64_t key;
	uint64_t place; /* side : 1, offset in the text : 39, length of the stack : 24 */
};

struct stacks {
	const char *texts[2];
	struct stacks_line *lines;
	size_t count, capacity;
	uint64_t totals[2]; /* weight of each side */
	uint64_t malformed; /* lines left out: not empty, without a weight */
	uint64_t too_large; /* lines left out: too long, or the total would overflow */
	uint64_t fractions; /* lines whose weight was cut to a whole number */
	/* Of each side: the first line that tells what the text is of (folded_header.h). Such lines
	 * are no stacks. */
	struct folded_header headers[2];
	bool has_header[2];
	bool is_rewritten; /* set before stacks_read(): each line is a stack, also "# stackprobe …"
			    */
	bool normalize;	   /* scale the weights of `before` to the total of `after` */
	/* How long each side was sampled; both set: scale the weights of `before` to the time of
	 * `after`. */
	uint64_t took_ns[2];
};

/*
 * Parses the text of one side; each side has one text. `text` is borrowed until stacks_done() and
 * has STACKS_PADDING zeros behind its `bytes`. Returns 0, or a negative errno: -ENOMEM; -EFBIG if
 * the text is longer than STACKS_TEXT_MAX.
 */
int stacks_read(struct stacks *stacks, enum stacks_side side, const char *text, uint64_t bytes);
void stacks_done(struct stacks *stacks);
#define _cleanup_stacks_ _cleanup_(stacks_done)

/*
 * Sorts the lines: byte by byte with `;` before all other bytes, so that all stacks through a frame
 * stand together, and a stack stands before longer stacks that begin with it.
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

/* Returns the length of the common beginning of `a` and `b`, at most `len` bytes. */
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

/* Returns the weight that stands behind the stack in the text. */
uint64_t stacks_weight(const struct stacks *stacks, const struct stacks_line *line);
