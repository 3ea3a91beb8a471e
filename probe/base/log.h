/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log: writes one line for each event, `LEVEL message`, to standard error. Systemd's journal
 * adds the time, else log_set_times() does. Any thread. Only the rooms from `capability` on (see
 * FLOORS) and upload/sender/sender_log log; the rooms below return errors.
 */
#pragma once

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };

void log_set_level(enum log_level level);

/* Has each line begin with the time, for where nobody else adds it: "2026-11-28T22:17:03.123Z ". */
void log_set_times(void);

/* Turns "debug", "info", "warn" or "error" (any case) into a level. Returns 0, or -EINVAL for any
 * other text. */
int log_level_parse(const char *text, enum log_level *level);

/* Writes a line of at most 1023 bytes, if the level is high enough. Bytes that aren't UTF-8 and
 * characters that aren't printable (utf8_printable()) become '?', so that a process's name can
 * neither forge a line nor control a terminal. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
