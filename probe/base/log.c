// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *const names[] = {
	[LOG_DEBUG] = "debug",
	[LOG_INFO] = "info",
	[LOG_WARN] = "warn",
	[LOG_ERROR] = "error",
};
static enum log_level threshold = LOG_INFO;

static bool has_times;

void log_set_times(void)
{
	has_times = true;
}

/* Writes the time and a blank. Returns their length. */
static int put_time(char *line, size_t bytes)
{
	struct timespec now;
	struct tm parts;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &parts) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts))
		return 0;
	return snprintf(line, bytes, "%s.%03dZ ", text, (int)(now.tv_nsec / 1000000));
}

void log_set_level(enum log_level level)
{
	threshold = level;
}

int log_level_parse(const char *text, enum log_level *level)
{
	for (int i = LOG_DEBUG; i <= LOG_ERROR; i++) {
		if (strcasecmp(text, names[i]) == 0) {
			*level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* Replaces, in place, each character that can't be shown by one '?'. Returns the new length. */
static size_t clean_line(char *line, size_t len)
{
	size_t to = 0;

	for (size_t from = 0; from < len;) {
		size_t shown = utf8_printable(line + from, len - from);
		size_t bytes = shown ? shown : utf8_sequence(line + from, len - from);

		if (shown)
			memmove(line + to, line + from, shown);
		else
			line[to] = '?';
		to += shown ? shown : 1;
		from += bytes ? bytes : 1;
	}
	return to;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (level < threshold)
		return;
	int head = has_times ? put_time(line, sizeof(line)) : 0;
	head += snprintf(line + head, sizeof(line) - (size_t)head, "%s ", names[level]);
	va_start(args, format);
	int body = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
	va_end(args);
	if (body < 0)
		return;
	size_t len = (size_t)head + (size_t)body;
	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	len = clean_line(line, len);
	line[len++] = '\n';
	/* One write a line, so that lines of several threads don't mix. There is nobody to tell
	 * of a failure here. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}
