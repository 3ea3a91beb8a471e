/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a picture around its frames: document, title, facts, legend, controls, script. */
#pragma once

#include "output/svg/picture.h"

/* CSS class and legend of each frame type. Types of one class share a legend entry. The colours are
 * in flamegraph.css: `.n0` to `.n5` for native code. */
extern const struct picture_kind {
	char class;
	const char *legend; /* NULL: another type of this class has the entry */
} picture_kinds[FRAME_TYPE_COUNT];

/* Write all that stands before the frames, and all that stands after them. */
void picture_head_begin(const struct picture *picture);
void picture_head_end(const struct picture *picture);
