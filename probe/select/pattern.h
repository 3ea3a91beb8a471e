/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Regular expressions from outside, with limits on size, nesting and steps: no pattern can hurt.
 * The only user of PCRE2.
 */
#pragma once

#include <stdbool.h>

#define PATTERN_BYTES_MAX 255

/* What a pattern is searched in, which limits the steps of a match. */
enum pattern_for { PATTERN_FOR_COMM, PATTERN_FOR_NAME };

/*
 * Compiles a pattern; the caller owns *ret, NULL for an empty text, which matches any name. Returns
 * 0; -E2BIG: too long; -EINVAL: not valid, or one that takes too many steps for names of the worst
 * kind; -ENOMEM.
 */
int pattern_new(void **ret, const char *text, enum pattern_for what);
void pattern_free(void *pattern);

/*
 * Returns 1 for a match, 0 for none, -E2BIG if it takes too many steps to tell, or -ENOMEM. Any
 * thread.
 */
int pattern_match(const void *pattern, const char *name, enum pattern_for what);
