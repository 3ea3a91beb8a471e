/* SPDX-License-Identifier: GPL-2.0-only */
/* What stands around the frames of a picture: the document, title, facts, legend, controls. */
#pragma once

#include "output/svg/picture.h"

/* The colours are in flamegraph.css: `.n0` to `.n5` for native code. Kinds share a legend entry. */
extern const struct picture_kind {
	char class;
	const char *legend; /* NULL: an earlier kind's */
} picture_kinds[FRAME_TYPE_COUNT];

/* All that comes before the frames, and after them. */
void picture_head_begin(const struct picture *picture);
void picture_head_end(const struct picture *picture);
