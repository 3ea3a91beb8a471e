/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each scenario runs with the 1st, 2nd, 3rd … allocation failing, until none failed: once with that
 * one alone, once with all from there on. It must end with -ENOMEM, leave outputs untouched and
 * (with SAN=1) leak nothing.
 *
 * The linker turns our objects' malloc() and its kin into those below (UNITFLAGS).
 */
#pragma once

#include "unit/lib/unit.h"

/* Weak: without the linker's flags all tests are skipped. */
void *__real_malloc(size_t bytes) __attribute__((weak));
void *__real_calloc(size_t count, size_t bytes) __attribute__((weak));
void *__real_realloc(void *old, size_t bytes) __attribute__((weak));
void *__real_reallocarray(void *old, size_t count, size_t bytes) __attribute__((weak));
char *__real_strdup(const char *text) __attribute__((weak));
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_reallocarray(void *old, size_t count, size_t bytes);
char *__wrap_strdup(const char *text);

static struct {
	unsigned left; /* until an allocation fails; 0: none does */
	bool all;      /* and all after it */
	bool failed;
} failing;

static inline bool fails(void)
{
	if (!failing.left || (failing.failed && !failing.all))
		return false;
	if (!failing.failed && --failing.left > 0)
		return false;
	failing.left = 1;
	failing.failed = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_reallocarray(void *old, size_t count, size_t bytes)
{
	return fails() ? NULL : __real_reallocarray(old, count, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

/* From here on nothing fails: for looking at what is left. */
static inline void no_more_failures(void)
{
	failing.left = 0;
}

/* `lenient`: it may do with less (a build id that could not be read is left out). */
static inline void run(int (*scenario)(void), bool lenient)
{
	unsigned failures = 0;

	if (!__real_malloc) {
		print_message("not linked with --wrap=malloc\n");
		skip();
	}
	for (int all = 0; all < 2; all++) {
		for (unsigned n = 1;; n++) {
			failing.left = n;
			failing.all = all;
			failing.failed = false;
			int r = scenario();
			bool failed = failing.failed;

			failing.left = 0;
			if (!failed) {
				assert_int_equal(r, 0);
				break;
			}
			if (r != -ENOMEM && !(lenient && r == 0))
				fail_msg("allocation %u%s: %d", n, all ? " and all after it" : "",
					 r);
			failures++;
		}
	}
	assert_true(failures > 0);
}

/* A test. `lenient`: see run(). */
#define SCENARIO(name, scenario, lenient)                                                          \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		run(scenario, lenient);                                                            \
	}
