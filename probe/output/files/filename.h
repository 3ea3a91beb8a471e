/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names that output/files/store.h gives, read back, so that nothing else is taken for one of
 * its files. Moments are local time as the name tells it, counted in seconds from 1970-01-01 00:00
 * of the same clock: they compare like the names and need no time zone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define DAY_S 86400

/* "2026-11-21": days since 1970-01-01. */
bool filename_date(const char *name, int64_t *day);

/* "<comm>-<pid>", as store_safe_name() leaves a comm. */
bool filename_process(const char *name, int *pid);

/* "<date>-<time>[±hhmm][-<pid>][-2]<extension>"; pid 0: a name without one. */
bool filename_profile(const char *name, int pid, const char *extension, int64_t *moment);

/* A moment of the clock, as the names of now tell it. */
int64_t filename_moment(time_t time);
