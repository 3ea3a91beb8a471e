/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws folded text (stacks.h) as a flame graph. */
#pragma once

#include "output/format/output.h"
#include "output/svg/picture.h"
#include "output/svg/stacks.h"
#include "output/svg/judged_functions.h"

struct stacks_svg {
	struct profile_meta meta;
	enum picture_form form;
	uint32_t width; /* px, see picture.h */
	bool is_diff;	/* colours compare `after` with `before`; widths are those of `after` */
	struct change_rules rules; /* diff: the scales are set here */
	bool has_processes;	   /* diff: it is of processes, whose pids were left out */
	unsigned common;	   /* diff: percent that both have in common */
	bool has_common;	   /* diff: `common` is known */
	bool negate;		   /* diff: swaps the colours of frames that grew and that shrank */
	const struct judged_functions
		*judged;    /* diff: which functions changed; NULL: `rules` tell */
	const char *remark; /* diff: of the head; NULL: none */
	/* Takes the bytes of `out` and empties it. Returns 0, or a negative errno that ends the
	 * writing. */
	int (*flush)(void *arg, struct buf *out);
	void *arg;
};

/*
 * Sorts the stacks and writes the picture. The kind of a frame is told by its suffix; pods,
 * containers and processes by `[Pod]`, `[Con]`, `[pid]` in the first three rows. Returns 0, or a
 * negative errno: -ENOMEM, or what flush() returned.
 */
int stacks_svg_write(struct stacks *stacks, const struct stacks_svg *svg);
