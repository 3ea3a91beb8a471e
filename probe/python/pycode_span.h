/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a code object that has all fields wanted: one read. pycode_read.c's own. */
#pragma once

#include "python/pycode.h"

#define SPAN_BYTES_MAX 1024

struct span {
	uint32_t from, bytes; /* in the object */
	uint8_t data[SPAN_BYTES_MAX];
};

/* -EBADMSG: the layout makes no sense; or what memory->read() says. */
int span_read(struct span *span, const struct python_layout *layout,
	      const struct process_memory *memory, uint64_t address);

/* The word of a field that the layout has. */
uint64_t span_word(const struct span *span, uint32_t at);
