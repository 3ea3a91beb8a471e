/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which functions changed beyond noise between two profiles, for the picture of their difference.
 * Who knows how much weights vary judges them (history/history_changes.h). A function is a kind of
 * frame and a name, in whichever stack it is.
 */
#pragma once

#include <stddef.h>

#include "elf/frame.h"

/* A function's own weight, and that of all stacks that it is in: 1 grew, -1 shrank, beyond noise;
 * 0: the change is within it. */
struct judged_function {
	signed char self, total;
};

struct judged_functions;

/* Makes an empty table. Returns 0 or -ENOMEM. The caller owns *ret. */
int judged_new(struct judged_functions **ret);
void judged_free(struct judged_functions *judged);

/* Adds a function. Returns 0, -ENOMEM, or -ENOSPC: there are too many. */
int judged_add(struct judged_functions *judged, enum frame_type type, const char *name,
	       struct judged_function verdict);

/* Finds a function by its frame in folded text: `name_[k]`, `name (file:12)_[p]`. NULL: it isn't
 * judged, or is no function. Borrowed until judged_free(). */
const struct judged_function *judged_find(const struct judged_functions *judged, const char *frame,
					  size_t len);
