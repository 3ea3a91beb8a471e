// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pylines.h"

#include <stdbool.h>

#define UNIT_BYTES    2 /* bytes of an instruction, 3.11 and later */
#define DELTA_NO_LINE (-128)

/* Objects/locations.md */
#define LOCATION_START	    0x80
#define LOCATION_NONE	    15
#define LOCATION_LONG	    14
#define LOCATION_NO_COLUMNS 13
#define LOCATION_ONE_LINE   10 /* 10 to 12: code - 10 lines further */
#define VARINT_MORE	    0x40
#define VARINT_BITS	    6
#define VARINT_SHIFT_MAX    30
#define LOCATION_BYTES_MAX  32 /* every entry is shorter */

/* The range of code from a mark's offset to `to`, and its line; NO_LINE: none. */
#define NO_LINE INT64_MIN
struct range {
	uint32_t to;
	int64_t line;
};

static int64_t signed_varint(const struct pylines *lines, uint32_t at)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift <= VARINT_SHIFT_MAX && at < lines->bytes;
	     shift += VARINT_BITS) {
		uint8_t byte = lines->table[at++];

		value |= (uint64_t)(byte & (VARINT_MORE - 1)) << shift;
		if (!(byte & VARINT_MORE))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t location_delta(const struct pylines *lines, uint32_t at, unsigned int code)
{
	if (code == LOCATION_LONG || code == LOCATION_NO_COLUMNS)
		return signed_varint(lines, at + 1);
	if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMNS)
		return code - LOCATION_ONE_LINE;
	return 0;
}

static void step_location(const struct pylines *lines, struct pylines_mark *mark,
			  struct range *range)
{
	uint8_t first = lines->table[mark->at];
	unsigned int code = first >> 3 & 15;

	mark->line += location_delta(lines, mark->at, code);
	range->line = code == LOCATION_NONE ? NO_LINE : mark->line;
	range->to = mark->offset + ((first & 7) + 1) * UNIT_BYTES;
	uint32_t end = mark->at + LOCATION_BYTES_MAX;
	do
		mark->at++;
	while (mark->at < lines->bytes && mark->at < end &&
	       !(lines->table[mark->at] & LOCATION_START));
}

/* Decodes one entry. Returns false if none is left. */
static bool step_entry(const struct pylines *lines, struct pylines_mark *mark, struct range *range)
{
	if (lines->form == PYTHON_LINES_LOCATIONS) {
		if (mark->at >= lines->bytes)
			return false;
		step_location(lines, mark, range);
	} else {
		if (mark->at + 2 > lines->bytes)
			return false;
		uint8_t forward = lines->table[mark->at];
		int8_t delta = (int8_t)lines->table[mark->at + 1];
		mark->at += 2;
		range->to = mark->offset + forward;
		if (lines->form ==
		    PYTHON_LINES_LNOTAB) { /* the entry's line is that of the code behind it */
			range->line = mark->line;
			mark->line += delta;
		} else if (delta == DELTA_NO_LINE) {
			range->line = NO_LINE;
		} else {
			mark->line += delta;
			range->line = mark->line;
		}
	}
	mark->offset = range->to;
	return true;
}

void pylines_index(struct pylines *lines)
{
	struct pylines_mark mark = {.line = lines->first_line};
	struct range range;
	size_t max = pylines_marks_max(lines->bytes);

	lines->marks_count = 0;
	while (step_entry(lines, &mark, &range)) {
		if (lines->marks_count < max && mark.at / PYLINES_MARK_BYTES > lines->marks_count)
			lines->marks[lines->marks_count++] = mark;
	}
	lines->code_bytes = mark.offset;
}

/* Returns the last mark that isn't behind `offset`. */
static struct pylines_mark nearest_mark(const struct pylines *lines, uint32_t offset)
{
	uint32_t from = 0, to = lines->marks_count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (lines->marks[middle].offset <= offset)
			from = middle + 1;
		else
			to = middle;
	}
	if (from)
		return lines->marks[from - 1];
	return (struct pylines_mark){.line = lines->first_line};
}

uint32_t pylines_line(const struct pylines *lines, uint32_t offset)
{
	struct pylines_mark mark = nearest_mark(lines, offset);
	struct range range;
	int64_t line = NO_LINE;

	for (;;) {
		if (!step_entry(lines, &mark, &range)) {
			/* The last entry of co_lnotab has no end. */
			if (lines->form == PYTHON_LINES_LNOTAB)
				line = mark.line;
			break;
		}
		if (offset < range.to) {
			line = range.line;
			break;
		}
	}
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}
