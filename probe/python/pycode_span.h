/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads in one go the part of a code object that has all fields that are needed. Private to
 * pycode_read.c. */
#pragma once

#include "python/pycode.h"

#define SPAN_BYTES_MAX 1024

struct span {
	uint32_t from, bytes; /* offset in the object, and size */
	uint8_t data[SPAN_BYTES_MAX];
};

/* Reads the span of the object at `address`. Returns 0, -EBADMSG if the layout makes no sense, or
 * the errno of memory->read(). */
int span_read(struct span *span, const struct python_layout *layout,
	      const struct process_memory *memory, uint64_t address);

/* Returns the word of a field at the object's offset `at`, which the layout must have. */
uint64_t span_word(const struct span *span, uint32_t at);
