// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/entry.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* The program's entry and what C libraries put between it and main, and between clone and a
 * thread's function (glibc, musl). */
static const char *const entries[] = {
	"_start",
	"__libc_start_call_main",
	"__libc_start_main",
	"__libc_start_main_impl",
	"__libc_start_main@@GLIBC_2.34",
	"libc_start_main_stage2",
	"_start_c",
	"start_thread",
	"clone",
	"__clone",
	"clone3",
	"__clone3",
	"start",
	"start_c11",
};

/* In a stripped glibc they have no name, but lie right before functions that it exports:
 * __libc_start_call_main before the first of these, start_thread before the second. */
static const char *const behind_entries[] = {"__libc_start_main", "pthread_create"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; name && i < count; i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

bool is_entry_function(const char *name, const char *next)
{
	if (name)
		return is_one_of(name, entries, ARRAY_SIZE(entries));
	return is_one_of(next, behind_entries, ARRAY_SIZE(behind_entries));
}
