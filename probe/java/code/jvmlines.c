// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/code/jvmlines.h"

#include <stdbool.h>
#include <stdlib.h>

#include "java/code/unsigned5.h"

#define LONG_ENTRY 0xff /* two signed numbers follow; other bytes: 5 bits of bci, 3 of line */
#define LINE_BITS  3

static int compare_lines(const void *a, const void *b)
{
	const struct jvmline *one = a, *other = b;

	if (one->bci != other->bci)
		return one->bci < other->bci ? -1 : 1;
	return one->order < other->order ? -1 : one->order > other->order;
}

size_t jvmlines_decode(struct jvmline *lines, size_t max, const uint8_t *table, size_t bytes,
		       uint8_t base)
{
	struct unsigned5 stream = {.data = table, .bytes = bytes, .base = base};
	uint32_t bci = 0, line = 0, count = 0;
	bool sorted = true;

	while (stream.at < bytes && count < max && table[stream.at]) {
		uint8_t byte = table[stream.at++];

		if (byte == LONG_ENTRY) {
			bci += (uint32_t)unsigned5_next_signed(&stream);
			line += (uint32_t)unsigned5_next_signed(&stream);
		} else {
			bci += byte >> LINE_BITS;
			line += byte & ((1U << LINE_BITS) - 1);
		}
		if (stream.wrong || bci > UINT16_MAX || line > UINT16_MAX)
			break;
		sorted = sorted && (!count || bci >= lines[count - 1].bci);
		lines[count] = (struct jvmline){(uint16_t)bci, (uint16_t)line, count};
		count++;
	}
	if (!sorted)
		qsort(lines, count, sizeof(*lines), compare_lines);
	return count;
}

/* If several lines begin at one bci, the VM takes the first for that bci, the last for those
 * behind.
 */
uint32_t jvmlines_line(const struct jvmline *lines, size_t count, uint32_t bci)
{
	size_t from = 0, to = count;

	while (from < to) { /* finds the first entry behind `bci` */
		size_t middle = from + (to - from) / 2;

		if (lines[middle].bci <= bci)
			from = middle + 1;
		else
			to = middle;
	}
	if (!from)
		return 0;
	for (from--; from && lines[from].bci == bci && lines[from - 1].bci == bci;)
		from--;
	return lines[from].line;
}
