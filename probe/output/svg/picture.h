/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flame graph as SVG, written while its frames come: picture_begin(), picture_frame() for each
 * frame in any order, picture_end(). Nothing is remembered about a frame, so `out` may be emptied
 * between two calls. Errors stick to `out`.
 *
 * A frame is `<path class="n3" d="M10.123 84h12.34"><title>name (1,234 samples, 12.34%)</title>
 * </path>`, a thick stroke along the middle of its row, and where three characters fit a `<text>`
 * directly behind it. All is right without the script; the script takes a frame's name and weight
 * from its title and its place from the path, whose x therefore has 3 decimals: enough to zoom into
 * the narrowest frame.
 */
#pragma once

#include <stdbool.h>

#include "output/format/output.h"

#define PICTURE_WIDTH	 1200 /* px, where nothing else is wished */
#define PICTURE_UNIT_MAX 100  /* bytes of the unit that are shown */

enum { PICTURE_MARGIN = 10, PICTURE_ROW = 16, PICTURE_HEADER = 76, PICTURE_FOOTER = 28 };

struct picture_setup {
	const struct profile_meta *meta; /* borrowed */
	uint32_t width;			 /* px of the image, more than 2 * PICTURE_MARGIN */
	uint64_t total;			 /* weight that is as wide as the picture */
	uint32_t rows;			 /* how many frames lie one above the other */
	bool is_diff;			 /* compares: colours say what grew and what shrank */
	uint64_t max_change;		 /* diff: the change with the strongest colour */
	uint64_t total_before;		 /* diff: weight of the other side */
};

struct picture {
	struct buf *out;
	struct picture_setup setup;
	const char *unit;
	size_t unit_len;
	uint32_t kinds; /* bit set of the frame types drawn */

	/* Frames that carry one another are often equally wide: their numbers are written once. */
	uint64_t offset, weight, own, own_before;
	char where[40], span[40], share[PICTURE_UNIT_MAX * 6 + 120];
	size_t where_len, span_len, share_len;
};

struct picture_frame {
	const char *name; /* without its kind's suffix; anything for the root */
	size_t name_len;
	enum frame_type type;
	uint32_t row;		  /* 0 is the root's */
	uint64_t offset, weight;  /* where it begins, from the left, and how wide it is */
	uint64_t own, own_before; /* diff: of the stacks that end at this frame, after and before */
};

/* The weight of the narrowest frame to draw (a tenth of a pixel), at least 1. */
uint64_t picture_least(uint64_t total, uint32_t width);

void picture_begin(struct picture *picture, const struct picture_setup *setup, struct buf *out);
void picture_frame(struct picture *picture, const struct picture_frame *frame);
void picture_end(struct picture *picture);
