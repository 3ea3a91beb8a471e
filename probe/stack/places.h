/* SPDX-License-Identifier: GPL-2.0-only */
/* The distinct places in files that a tree's frames have, and what is known of their sources. */
#pragma once

#include "stack/tree.h"
#include "elf/lines.h"

/* Of one file. */
struct places_file {
	const struct module *module; /* the tree's */
	const uint64_t *addresses;   /* rising, each once; LINES_MAX at most */
	size_t count;
	struct lines *lines; /* to be filled in by who reads them; NULL: nothing is known */
};

struct places {
	struct places_file *files;
	size_t count;
	uint64_t *addresses; /* of all files */
};

/* Of all frames; they live as long as the tree. -ENOMEM */
int places_new(struct places **ret, const struct tree *tree);
void places_free(struct places *places);

/* The functions at a frame's place, innermost first, as lines_at(); 0: nothing is known. `places`
 * may be NULL. */
size_t places_lines(const struct places *places, const struct frame *frame,
		    struct line_text texts[LINE_LEVELS]);
