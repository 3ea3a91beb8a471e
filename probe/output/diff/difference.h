/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The difference of two folded texts as a picture: their names are made comparable, and the rules
 * for what counts as a change follow from what is counted. */
#pragma once

#include "base/buf.h"
#include "output/diff/comparable.h"
#include "output/svg/stacks.h"
#include "output/svg/stacks_svg.h"

struct difference {
	struct stacks stacks; /* of the comparable texts */
	struct comparable comparable;
};

/*
 * Makes it from `raw`, which has read both texts, and sets what `svg` says of a difference.
 * `counts_told`: svg->meta.count_name was told by who asks. Returns 0 or a negative errno, as
 * stacks_read(). In both cases difference_done() frees it.
 */
int difference_make(struct difference *difference, const struct stacks *raw,
		    enum places_wish places, bool counts_told, struct stacks_svg *svg);
void difference_done(struct difference *difference);
#define _cleanup_difference_ _cleanup_(difference_done)

/* Adds a line for each fact that makes the difference mislead: other units, rates or lengths,
 * little in common (`negate`: as in struct stacks_svg); and one if lines and addresses were left
 * out. */
void difference_warnings(const struct difference *difference, bool negate, struct buf *out);
