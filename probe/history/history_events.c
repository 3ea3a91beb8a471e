// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define NOW_FILE "events"
#define OLD_FILE "events.old"
#define READ_MAX (2 * EVENTS_FILE_MAX)
#define DAY_NS	 (86400 * (int64_t)NS_PER_S)

/* Reads a number of digits. Returns what is behind it; NULL: there is none, or none that fits. */
static const char *read_number(const char *at, const char *end, int64_t *number)
{
	const char *begin = at;

	for (*number = 0; at < end && *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, *at - '0', number))
			return NULL;
	}
	return at > begin ? at : NULL;
}

int history_event_next(const char **text, const char *end, struct history_event *event)
{
	const char *at = *text;
	const char *stop = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;

	if (!stop) {
		*text = end; /* the end of a line that isn't there */
		return 0;
	}
	*text = stop + 1;
	at = read_number(at, stop, &event->at);
	if (!at || at == stop || *at++ != ' ')
		return -EBADMSG;
	const char *blank = memchr(at, ' ', (size_t)(stop - at));
	if (!blank || blank == at)
		return -EBADMSG;
	event->kind = at;
	event->kind_len = (size_t)(blank - at);
	event->text = blank + 1;
	event->text_len = (size_t)(stop - event->text);
	return 1;
}

/* ---- writing ---- */

/* Returns when the file's first event was; 0: it has none. */
static int64_t begin_of(int fd)
{
	char head[32];
	ssize_t bytes = pread(fd, head, sizeof(head), 0);
	int64_t at;

	return bytes > 0 && read_number(head, head + bytes, &at) ? at : 0;
}

static void remove_aged(int folder, const char *name, int64_t days, int64_t now)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now / (int64_t)NS_PER_S - status.st_mtime > days * 86400)
		unlinkat(folder, name, 0);
}

void history_events_trim(int folder, int64_t days, int64_t now)
{
	if (!days)
		return;
	remove_aged(folder, OLD_FILE, days, now);
	remove_aged(folder, NOW_FILE, days, now);
}

/* Opens the present file for appending, behind a line that is whole. */
static int open_file(int folder, int64_t days, int64_t now)
{
	for (int i = 0; i < 2; i++) {
		struct stat status;
		_cleanup_close_ int fd =
			history_file_open(folder, NOW_FILE, O_RDWR | O_APPEND | O_CREAT, &status);
		char last = '\n';

		if (fd < 0)
			return fd;
		int64_t begin = begin_of(fd);
		bool is_aged = days && begin && now - begin > days * DAY_NS / 2;
		if (i == 0 && (status.st_size >= EVENTS_FILE_MAX || is_aged)) {
			if (renameat(folder, NOW_FILE, folder, OLD_FILE) < 0)
				return -errno;
			continue;
		}
		if (status.st_size && pread(fd, &last, 1, status.st_size - 1) == 1 &&
		    last != '\n' && file_write_all(fd, "\n", 1) < 0)
			return -EIO;
		return TAKE_FD(fd);
	}
	return -EAGAIN;
}

int history_events_append(int folder, const struct buf *lines, int64_t days, int64_t now)
{
	_cleanup_close_ int fd = open_file(folder, days, now);

	return fd < 0 ? fd : file_write_all(fd, lines->data, lines->len);
}

/* ---- reading ---- */

/* Adds the end of a file: it has a bound, so that is all of it. */
static int read_file(int folder, const char *name, struct buf *text)
{
	struct stat status;
	_cleanup_close_ int fd = history_file_open(folder, name, O_RDONLY, &status);
	size_t bytes;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	off_t skipped = status.st_size > READ_MAX ? status.st_size - READ_MAX : 0;
	char *room = buf_reserve(text, READ_MAX);
	if (!room || lseek(fd, skipped, SEEK_SET) < 0)
		return -ENOMEM;
	int r = file_read_up_to(fd, room, READ_MAX, &bytes);
	if (r < 0)
		return r;
	text->len += bytes;
	buf_char(text, '\n'); /* an end that a power cut tore off is no part of the next line */
	return 0;
}

static bool is_in_range(const struct history_event *event, const struct history_range *range)
{
	return event->at >= range->from && event->at < range->until;
}

int history_events_read(int folder, const struct history_range *range, size_t max, struct buf *out,
			uint64_t *left_out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(3 * READ_MAX);
	struct history_event event;
	uint64_t found = 0;
	int r = read_file(folder, OLD_FILE, &text), next;

	if (r == 0)
		r = read_file(folder, NOW_FILE, &text);
	*left_out = 0;
	if (r < 0)
		return r;
	if (!text.len)
		return 0;
	const char *end = text.data + text.len;
	for (const char *at = text.data; at && (next = history_event_next(&at, end, &event));)
		found += next > 0 && is_in_range(&event, range);
	*left_out = found > max ? found - max : 0;
	found = 0;
	for (const char *at = text.data, *line = at;
	     at && (next = history_event_next(&at, end, &event)); line = at) {
		if (next > 0 && is_in_range(&event, range) && found++ >= *left_out)
			buf_add(out, line, (size_t)(at - line));
	}
	return buf_error(out);
}
