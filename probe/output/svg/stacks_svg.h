/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks as a flame graph. */
#pragma once

#include "output/format/output.h"
#include "output/svg/stacks.h"

struct stacks_svg {
	struct profile_meta meta;
	uint32_t width; /* px, see picture.h */
	bool is_diff;	/* colours compare `after` with `before`; widths are those of `after` */
	bool negate; /* diff: as if `after` were the older: what grew has the colour of what shrank
		      */
	/* Takes what is in `out` and empties it; 0 or a negative errno, which ends the writing. */
	int (*flush)(void *arg, struct buf *out);
	void *arg;
};

/*
 * Sorts the stacks and writes them. A frame's kind is told by its suffix, a process by its `[pid]`
 * in the first row. -ENOMEM or what flush() returned.
 */
int stacks_svg_write(struct stacks *stacks, const struct stacks_svg *svg);
