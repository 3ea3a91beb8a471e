// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/svg/stacks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define FIRST_LINES 65536 /* many, as the kernel gives pages only when they are written */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Reads the digits from `p` on; false: the value doesn't fit into 64 bits. */
static bool read_digits(const char *p, const char *end, uint64_t *value)
{
	uint64_t sum = 0;

	for (; p < end && is_digit(*p); p++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(*p - '0'), &sum))
			return false;
	}
	*value = sum;
	return true;
}

/* Returns where the last number of the line begins, behind its blank; NULL: there is none. */
static const char *find_number(const char *line, const char *end, bool *is_fraction)
{
	const char *p = end;

	*is_fraction = false;
	while (p > line && is_digit(p[-1]))
		p--;
	if (p > line && p[-1] == '.') { /* 12.34 or 12. */
		*is_fraction = true;
		end = --p;
		while (p > line && is_digit(p[-1]))
			p--;
	}
	return p < end && p > line && is_blank(p[-1]) ? p : NULL;
}

static int add_line(struct stacks *stacks, uint64_t place)
{
	if (array_grow(stacks->lines, stacks->capacity, stacks->count + 1, FIRST_LINES) < 0)
		return -ENOMEM;
	stacks->lines[stacks->count++].place = place;
	return 0;
}

/* Returns whether the line is a header; the first one of a side is kept. */
static bool take_header(struct stacks *stacks, enum stacks_side side, const char *line,
			const char *end)
{
	struct folded_header header;

	if (*line != '#' || stacks->is_rewritten ||
	    !folded_header_read(line, (size_t)(end - line), &header))
		return false;
	if (!stacks->has_header[side])
		stacks->headers[side] = header;
	else /* of several texts, one behind the other: their times aren't known together */
		stacks->headers[side].from_ms = stacks->headers[side].until_ms = 0;
	stacks->has_header[side] = true;
	return true;
}

static int read_line(struct stacks *stacks, enum stacks_side side, const char *line,
		     const char *end)
{
	uint64_t weight, total, offset = (uint64_t)(line - stacks->texts[side]);
	bool is_fraction;

	while (end > line && (is_blank(end[-1]) || end[-1] == '\r'))
		end--;
	if (end == line || take_header(stacks, side, line, end))
		return 0;
	const char *number = find_number(line, end, &is_fraction);
	if (!number) {
		stacks->malformed++;
		return 0;
	}
	size_t len = (size_t)(number - 1 - line);
	if (len > STACKS_LENGTH_MAX || !read_digits(number, end, &weight) ||
	    __builtin_add_overflow(stacks->totals[side], weight, &total)) {
		stacks->too_large++;
		return 0;
	}
	stacks->fractions += is_fraction;
	if (!weight)
		return 0;
	stacks->totals[side] = total;
	return add_line(stacks, (uint64_t)side << 63 | offset << 24 | len);
}

int stacks_read(struct stacks *stacks, enum stacks_side side, const char *text, uint64_t bytes)
{
	const char *end = text + bytes;
	int r = bytes > STACKS_TEXT_MAX ? -EFBIG : 0;

	stacks->texts[side] = text;
	while (r == 0 && text < end) {
		const char *line_end = memchr(text, '\n', (size_t)(end - text));

		if (!line_end)
			line_end = end;
		r = read_line(stacks, side, text, line_end);
		text = line_end + 1;
	}
	return r;
}

uint64_t stacks_weight(const struct stacks *stacks, const struct stacks_line *line)
{
	const char *number = stacks_text(stacks, line) + stacks_length(line) + 1;
	uint64_t sum = 0;

	/* read_line() checked the number; the digits are followed by another byte or by padding. */
	for (; is_digit(*number); number++)
		sum = sum * 10 + (uint64_t)(*number - '0');
	return sum;
}

void stacks_done(struct stacks *stacks)
{
	free(stacks->lines);
	*stacks = (struct stacks){0};
}
