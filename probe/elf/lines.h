/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source lines, and functions that are inlined, at places in a file: from its DWARF, read by a
 * process of its own (line_reader/), which has nobody's rights, and limits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* One function at a place: the one whose code it is, or one that is inlined there. */
struct line_text {
	const char *file, *name; /* borrowed; no NUL behind them */
	size_t file_len;	 /* 0: not known */
	size_t name_len;	 /* as the linker has it; 0: the outermost one's */
	uint32_t line;		 /* 0: not known */
};

/* What is known of the places of a file; never changed, and shared. */
struct lines;

/* Files by their descriptors; addresses as the file was linked, rising, LINES_MAX at most. What the
 * reader knows within `limit_ms` is what there is; *whole: it came to its end. In a job; it takes
 * so long at most. -ENOMEM, -ENOENT: the reader can't be started, or errno of starting it. */
int lines_read(struct lines **ret, int fd, int alt_fd, const uint64_t *addresses, size_t count,
	       unsigned limit_ms, bool *whole);

/* From any thread; NULL is nothing. */
struct lines *lines_ref(struct lines *lines);
void lines_free(struct lines *lines); /* takes a reference back */

/*
 * What `more` has, and what `before` (NULL: nothing) has beside it; and that of those of `asked`
 * (rising) that neither has nothing is known. -ENOMEM; -ENOSPC: that would be more than
 * LINES_KEPT_MAX bytes.
 */
int lines_join(struct lines **ret, const struct lines *before, const struct lines *more,
	       const uint64_t *asked, size_t asked_count);
#define LINES_KEPT_MAX (1u * 1024 * 1024)

/* Whether the place has been asked for. */
bool lines_has(const struct lines *lines, uint64_t address);

#define LINES_MAX 65536

/* The functions at that place, innermost first; how many are in `texts`, which has room for
 * LINE_LEVELS. 0: nothing is known. */
#define LINE_LEVELS 32
size_t lines_at(const struct lines *lines, uint64_t address, struct line_text texts[LINE_LEVELS]);

/* Of all that is kept. */
size_t lines_bytes(const struct lines *lines);
