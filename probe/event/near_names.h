/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that somebody may have meant by one that there isn't: the most
 * like of many, which are given one by one. */
#pragma once

#include <stddef.h>

#include "base/why.h"

#define NEAR_NAMES_MAX	5
#define NEAR_NAME_BYTES 128

struct near_names {
	const char *word; /* borrowed */
	char found[NEAR_NAMES_MAX][NEAR_NAME_BYTES];
	size_t count;
};

/* Takes the name if it is near the word, and nearer than those it has if there is no room. */
void near_names_meet(struct near_names *near, const char *name);

/* Writes " Is it a, b or c?", or "" if none was found. */
void near_names_write(const struct near_names *near, struct why *to);
