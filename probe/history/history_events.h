/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events on disk: the lines of journal/event_journal.h in history's folder, in the file `events`,
 * and those before them in `events.old`. Both are only appended to and have a bound, so there are
 * always the latest ones. One thread at a time; each call may block as the file system does.
 */
#pragma once

#include "base/buf.h"
#include "history/history_index.h"

#define EVENTS_FILE_MAX (1u << 20)

/*
 * Appends lines. A file that is full, or that began half of `days` ago, becomes `events.old`. 0
 * days: no limit. Returns 0 or a negative errno.
 */
int history_events_append(int folder, const struct buf *lines, int64_t days, int64_t now);

/* Removes files that weren't written to for `days`. */
void history_events_trim(int folder, int64_t days, int64_t now);

/*
 * Adds the lines of a range to `out`, oldest first, the latest `max` if there are more; *left_out
 * says how many more. What isn't a line of ours, after a power cut say, is skipped. Returns 0 or a
 * negative errno.
 */
int history_events_read(int folder, const struct history_range *range, size_t max, struct buf *out,
			uint64_t *left_out);

/* A line, taken apart; borrowed. */
struct history_event {
	int64_t at; /* ns since 1970 */
	const char *kind, *text;
	size_t kind_len, text_len;
};

/* Reads the line at *text, and moves *text behind it. Returns 1; 0 at the end; -EBADMSG: it is no
 * line of ours. */
int history_event_next(const char **text, const char *end, struct history_event *event);
