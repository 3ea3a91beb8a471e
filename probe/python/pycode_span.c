// SPDX-License-Identifier: GPL-2.0-or-later
#include "python/pycode_span.h"

#include <errno.h>
#include <string.h>

static void span_add(struct span *span, uint32_t at, uint32_t bytes)
{
	uint32_t to = span->from + span->bytes;

	if (at == CPYTHON_NO)
		return;
	if (!span->bytes) {
		span->from = at;
		to = at;
	}
	if (at + bytes > to)
		to = at + bytes;
	if (at < span->from)
		span->from = at;
	span->bytes = to - span->from;
}

static int span_of(struct span *span, const struct python_layout *layout)
{
	const struct cpython *walk = &layout->walk;

	span->bytes = 0;
	span_add(span, walk->object_type, sizeof(uint64_t));
	if (walk->object_type == sizeof(uint64_t))
		span_add(span, 0, sizeof(uint64_t)); /* the reference count */
	span_add(span, walk->code_sum_at, walk->code_sum_words * sizeof(uint64_t));
	span_add(span, layout->code_name, sizeof(uint64_t));
	span_add(span, layout->code_qualname, sizeof(uint64_t));
	span_add(span, layout->code_filename, sizeof(uint64_t));
	span_add(span, layout->code_lines, sizeof(uint64_t));
	span_add(span, layout->code_first_line, sizeof(uint32_t));
	span_add(span, layout->code_copies, sizeof(uint64_t));
	if (walk->object_type == CPYTHON_NO || walk->code_sum_at == CPYTHON_NO ||
	    layout->code_name == CPYTHON_NO || layout->code_filename == CPYTHON_NO ||
	    layout->code_lines == CPYTHON_NO || layout->code_first_line == CPYTHON_NO)
		return -EBADMSG;
	if (walk->code_sum_words > CPYTHON_CODE_WORDS || span->bytes > SPAN_BYTES_MAX)
		return -EBADMSG;
	return 0;
}

int span_read(struct span *span, const struct python_layout *layout,
	      const struct process_memory *memory, uint64_t address)
{
	int r = span_of(span, layout);

	if (r < 0)
		return r;
	return memory->read(memory->arg, address + span->from, span->data, span->bytes);
}

uint64_t span_word(const struct span *span, uint32_t at)
{
	uint64_t word;

	memcpy(&word, span->data + (at - span->from), sizeof(word));
	return word;
}
