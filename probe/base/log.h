/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One line an event on standard error: `LEVEL message`. systemd's journal adds the time.
 * Only profile, api and main log, and upload/sender/sender_log; the floors below return errors.
 */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level);

/* "debug", "info", "warn" or "error" (any case) to a level; -EINVAL for anything else. */
int log_level_parse(const char *text, enum log_level *level);

/* What isn't UTF-8, or is a control character or the like (utf8_printable()), becomes '?' in the
 * message, so that a process's name can't forge a line, nor tell a terminal what to do. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
