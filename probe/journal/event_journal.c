// SPDX-License-Identifier: GPL-2.0-or-later
#include "journal/event_journal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PENDING_MAX		  (128 << 10)

#define JOURNAL_NAME(value, name) [value] = (name),
static const char *const kind_names[JOURNAL_KINDS] = {JOURNAL_KINDS_LIST(JOURNAL_NAME)};

static struct {
	struct buf pending;
	uint64_t missing;
	void (*wake)(void *arg);
	void *arg;
} journal = {.pending = BUF_INIT(PENDING_MAX)};

const char *journal_kind_name(enum journal_kind kind)
{
	return kind_names[kind];
}

/* Adds a line, if there is room. */
static bool add_line(enum journal_kind kind, const char *text)
{
	char line[JOURNAL_LINE_BYTES + 1];
	struct timespec now;

	if (journal.pending.len + sizeof(line) > PENDING_MAX)
		return false;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(line, sizeof(line), "%" PRId64 " %s %s",
		 (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, kind_names[kind], text);
	for (char *at = line; *at; at++) {
		if ((unsigned char)*at < ' ' || *at == '\x7f')
			*at = ' ';
	}
	size_t before = journal.pending.len;
	buf_str(&journal.pending, line);
	buf_char(&journal.pending, '\n');
	if (!buf_error(&journal.pending))
		return true;
	journal.pending.len = before;
	journal.pending.error = 0;
	return false;
}

void journal_note(enum journal_kind kind, const char *format, ...)
{
	char text[JOURNAL_LINE_BYTES], missing[64];
	bool was_empty = !journal.pending.len;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (journal.missing) {
		snprintf(missing, sizeof(missing), "%" PRIu64 " events have no line",
			 journal.missing);
		if (add_line(JOURNAL_DAEMON, missing))
			journal.missing = 0;
	}
	if (journal.missing || !add_line(kind, text))
		journal.missing++;
	if (was_empty && journal.pending.len && journal.wake)
		journal.wake(journal.arg);
}

void journal_watch(void (*wake)(void *arg), void *arg)
{
	journal.wake = wake;
	journal.arg = arg;
	if (wake && journal.pending.len)
		wake(arg);
}

void journal_take(struct buf *out)
{
	buf_add(out, journal.pending.data, journal.pending.len);
	buf_done(&journal.pending);
	journal.pending = (struct buf)BUF_INIT(PENDING_MAX);
}
