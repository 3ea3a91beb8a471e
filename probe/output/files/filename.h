/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of the names that output/files/store.h gives to files and folders. It is strict, so that
 * retention takes no other file for one of ours. A moment is the local time in a name, in seconds
 * since 1970-01-01 00:00 of the same clock: moments compare like the names and need no time zone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DAY_S		86400
#define FILENAME_BEFORE "-before" /* in the name of a profile of what was before something */

/* Parses "2026-11-21"; *day: days since 1970-01-01. False: another name. */
bool filename_date(const char *name, int64_t *day);

/* Parses "<comm>-<pid>", comm as store_safe_name() makes it. False: another name. */
bool filename_process(const char *name, int *pid);

/* Parses "<date>-<time>[±hhmm][-<pid>][-before][-2]<extension>"; pid 0: the name has no pid. False:
 * another name. */
bool filename_profile(const char *name, int pid, const char *extension, int64_t *moment);

/* Returns whether such a name has FILENAME_BEFORE. */
bool filename_is_before(const char *name);

/* Returns the moment of `time`, in the present time zone. */
int64_t filename_moment(time_t time);
