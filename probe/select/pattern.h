/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regular expressions from outside, with limits on size, nesting and steps: no pattern can hurt.
 * The only user of PCRE2.
 */
#pragma once

#include <stdbool.h>

#define PATTERN_BYTES_MAX 255

/* Of what a pattern is searched in; the steps that one look may take go by it. */
enum pattern_for { PATTERN_FOR_COMM, PATTERN_FOR_NAME };

/* `*ret` is NULL where the text is empty: any name. -E2BIG: too long; -EINVAL: no expression, or
 * one that takes too many steps for names of the worst kind; -ENOMEM. */
int pattern_new(void **ret, const char *text, enum pattern_for what);
void pattern_free(void *pattern);

/* 1 it matches, 0 it doesn't, -E2BIG it takes too many steps to tell, -ENOMEM. From any
 * thread. */
int pattern_match(const void *pattern, const char *name, enum pattern_for what);
