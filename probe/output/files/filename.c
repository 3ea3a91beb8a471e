// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/files/filename.h"

#include <stdio.h>
#include <string.h>

#define SAFE "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-"

/* Takes exactly `digits` digits; false: fewer, or the value is out of min–max. */
static bool take_number(const char **at, int digits, int min, int max, int *value)
{
	*value = 0;
	for (int i = 0; i < digits; i++) {
		char c = (*at)[i];

		if (c < '0' || c > '9')
			return false;
		*value = *value * 10 + (c - '0');
	}
	*at += digits;
	return *value >= min && *value <= max;
}

static bool take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

/* Takes "-<number>" without leading zeros; returns the number, 0: there is none. */
static int take_suffix(const char **at)
{
	const char *digit = *at + 1;
	int value = 0;

	if (**at != '-' || *digit < '1' || *digit > '9')
		return 0;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		if (value > 99999999)
			return 0;
		value = value * 10 + (*digit - '0');
	}
	*at = digit;
	return value;
}

/* Returns the days since 1970-01-01 of a Gregorian date. The computation begins years in March, so
 * that the leap day is the last of a year. */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return y * 365 + y / 4 - y / 100 + y / 400 + day_of_year - 719468;
}

static bool take_date(const char **at, int64_t *days)
{
	int year, month, day;

	if (!take_number(at, 4, 1970, 9999, &year) || !take_char(at, '-') ||
	    !take_number(at, 2, 1, 12, &month) || !take_char(at, '-') ||
	    !take_number(at, 2, 1, 31, &day))
		return false;
	*days = days_of(year, month, day);
	return true;
}

bool filename_date(const char *name, int64_t *day)
{
	return take_date(&name, day) && *name == '\0';
}

bool filename_process(const char *name, int *pid)
{
	const char *dash = strrchr(name, '-');

	if (!dash || name[0] == '.' || name[strspn(name, SAFE)] != '\0')
		return false;
	*pid = take_suffix(&dash);
	return *pid > 0 && *dash == '\0';
}

/* Whether `at` is the rest of a name behind its time: the pid, perhaps "-before", and "-2", "-3" …
 * where the name was taken (perhaps twice, for the second file of a profile), and the extension. */
static bool is_tail(const char *at, int pid, const char *extension)
{
	if (pid && take_suffix(&at) != pid)
		return false;
	if (strncmp(at, FILENAME_BEFORE, strlen(FILENAME_BEFORE)) == 0)
		at += strlen(FILENAME_BEFORE);
	for (int i = 0; i < 2; i++) {
		if (*at == '-' && take_suffix(&at) < 2)
			return false;
	}
	return strcmp(at, extension) == 0;
}

bool filename_profile(const char *name, int pid, const char *extension, int64_t *moment)
{
	const char *at = name;
	int64_t day;
	int hour, minute, second, offset;

	if (!take_date(&at, &day) || !take_char(&at, '-') || !take_number(&at, 2, 0, 23, &hour) ||
	    !take_char(&at, '-') || !take_number(&at, 2, 0, 59, &minute) || !take_char(&at, '-') ||
	    !take_number(&at, 2, 0, 60, &second))
		return false;
	if (!is_tail(at, pid, extension)) {
		if (!take_char(&at, '+') && !take_char(&at, '-'))
			return false;
		if (!take_number(&at, 4, 0, 1459, &offset) || !is_tail(at, pid, extension))
			return false;
	}
	*moment = day * DAY_S + hour * 3600 + minute * 60 + second;
	return true;
}

bool filename_is_before(const char *name)
{
	return strstr(name, FILENAME_BEFORE) != NULL;
}

int64_t filename_moment(time_t time)
{
	struct tm local;

	localtime_r(&time, &local);
	return days_of(local.tm_year + 1900, local.tm_mon + 1, local.tm_mday) * DAY_S +
	       local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec;
}
