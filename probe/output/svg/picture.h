/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SVG writer of a flame graph, in one pass: picture_begin(), picture_frame() for each frame in any
 * order, picture_end(). The writer keeps nothing of a frame, so the caller may empty `out` between
 * two calls. Errors stick to `out` (buf_error()).
 *
 * A frame is `<path class="n3" d="M10.123 84h12.34"><title>name (1,234 samples, 12.34%)</title>
 * </path>`, a thick stroke along the middle of its row, followed by a `<text>` if three characters
 * fit. The picture is complete without its script. The script takes a frame's name and weight from
 * the title, and its place from the path, whose x therefore has 3 decimals: enough to zoom into the
 * narrowest frame.
 */
#pragma once

#include <stdbool.h>

#include "output/format/output.h"
#include "output/svg/change.h"

#define PICTURE_WIDTH	 1200 /* px, the default */
#define PICTURE_UNIT_MAX 100  /* bytes of the unit's name that are shown */

/* Which document it is. */
enum picture_form { PICTURE_SVG, PICTURE_HTML };

enum { PICTURE_MARGIN = 10, PICTURE_ROW = 16, PICTURE_HEADER = 76, PICTURE_FOOTER = 28 };

struct picture_setup {
	const struct profile_meta *meta; /* borrowed until picture_end() */
	enum picture_form form;
	uint32_t width;	       /* px of the image, more than 2 * PICTURE_MARGIN */
	uint64_t total;	       /* weight of the root, which has the full width */
	uint32_t rows;	       /* height of the tree in frames, the root included */
	bool is_diff;	       /* colours say which frames grew and which shrank */
	uint64_t max_change;   /* diff: the change that gets the strongest colour */
	uint64_t total_before; /* diff: weight of the profile before */
	bool negate; /* diff: the widths are those of the older profile, `before` is the newer */
	struct change_rules rules; /* diff: which changes are coloured */
	bool is_judged;		   /* diff: frames have verdicts, which count for the rules */
	bool by_time; /* diff: weights are compared by time. Else as they are, or by totals */
	double scale; /* diff by time: weights of `total_before` are compared multiplied with it */
	uint64_t took_ms[2];		  /* diff: time of after and before; 0: unknown */
	time_t before_from, before_until; /* diff by time: the other profile's; 0: unknown */
	uint64_t undrawn;   /* diff by time: what `total_before` has in stacks that changed and have
			       no width */
	const char *remark; /* diff: a fact; NULL: none */
	unsigned common;    /* diff: what both have in common, in percent */
	bool has_common;    /* diff: `common` is known */
};

struct picture {
	struct buf *out;
	struct picture_setup setup;
	const char *unit;
	size_t unit_len;
	const char *event; /* struct profile_meta.event_name */
	size_t event_len;  /* 0: titles don't tell of events */
	uint32_t kinds;	   /* bit set of the frame types drawn */

	/* The numbers of the last frame and their text: a frame and its child are often equally
	 * wide, and then the text is reused. */
	uint64_t offset, weight, own, own_before, events;
	uint64_t counted[2];
	enum change_verdict verdict;
	char where[40], span[40], share[2 * PICTURE_UNIT_MAX * 6 + 320];
	size_t where_len, span_len, share_len;
};

struct picture_frame {
	const char *name; /* without the suffix of its kind; ignored for the root */
	size_t name_len;
	enum frame_type type;
	uint32_t row;		  /* 0: the root */
	uint64_t offset, weight;  /* left edge and width, as weights */
	uint64_t own, own_before; /* diff: weight of the stacks that end here, after and before */
	uint64_t counted[2];	  /* diff by time: the same before and after, not scaled */
	enum change_verdict verdict; /* diff: of the own weight */
	uint64_t self;		     /* weight of the stacks that end here … */
	uint64_t events;	     /* of which the weight is a part; 0: none */
	bool leaves_out; /* … which is written if children are too narrow to be drawn */
};

/* Returns the weight of the narrowest frame to draw (a tenth of a pixel), at least 1. */
uint64_t picture_least(uint64_t total, uint32_t width);

/* Write the picture to `out`, which is borrowed until picture_end(). */
void picture_begin(struct picture *picture, const struct picture_setup *setup, struct buf *out);
void picture_frame(struct picture *picture, const struct picture_frame *frame);
void picture_end(struct picture *picture);
