/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text of intervals on its way to a reader: of one interval at a time. Who reads too slowly misses
 * the intervals that come meanwhile, and is told how many. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "output/format/output.h"

#define INTERVAL_TEXT_MAX (64UL * 1024 * 1024)

struct interval_text {
	struct buf text; /* not read yet, from `taken` on */
	size_t taken;
	unsigned missed; /* intervals that were not written */
	bool json;	 /* what is said beside the intervals is JSON */
};

#define INTERVAL_TEXT_INIT(is_json)                                                                \
	{                                                                                          \
		.text = BUF_INIT(INTERVAL_TEXT_MAX), .json = (is_json)                             \
	}

void interval_text_done(struct interval_text *text);

/* As struct stream.read(); `more` comes later. */
ssize_t interval_text_read(struct interval_text *text, char *to, size_t bytes, bool more);

/* Drops `bytes` bytes that were read: text->text from text->taken on. */
void interval_text_take(struct interval_text *text, size_t bytes);

/* Returns whether the next interval is to be added to text->text; else it is missed. */
bool interval_text_begin(struct interval_text *text);

/*
 * Adds the profile of the next interval, in whose format (output_has_intervals()) `content` is:
 * with a line of JSON before that tells its time and its losses, but for folded text, whose header
 * (meta->header) tells the time. A tree of JSON becomes one line. Returns whether; false: it is
 * missed.
 */
bool interval_text_profile(struct interval_text *text, const struct output *output,
			   const struct profile_meta *meta, const struct buf *content);

/* Adds a document of JSON as one line: the line feeds between its parts become blanks. */
void interval_text_line(struct interval_text *text, const struct buf *json);

/* Adds how many intervals were missed, and why no more come (NULL: nothing is to be said). */
void interval_text_end(struct interval_text *text, const char *why);
