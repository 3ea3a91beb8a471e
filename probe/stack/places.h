/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distinct places (module and address) of a tree's frames, by module, with their source lines.
 * One thread at a time. */
#pragma once

#include "stack/tree.h"
#include "elf/lines.h"

/* The places in one module. */
struct places_file {
	const struct module *module; /* borrowed from the tree */
	const uint64_t *addresses;   /* ascending, distinct; at most LINES_MAX */
	size_t count;
	struct lines *lines; /* filled in by the reader of lines, owned here; NULL: not known */
};

struct places {
	struct places_file *files;
	size_t count;
	uint64_t *addresses; /* the addresses of all files */
};

/* Collects the places of all frames. The tree must outlive *ret. Returns 0, or -ENOMEM. The caller
 * owns *ret. */
int places_new(struct places **ret, const struct tree *tree);
void places_free(struct places *places); /* with all `lines` */

/* Fills in the functions at a frame's place, innermost first, like lines_at(). Returns their
 * number; 0: not known. `places` may be NULL. */
size_t places_lines(const struct places *places, const struct frame *frame,
		    struct line_text texts[LINE_LEVELS]);
