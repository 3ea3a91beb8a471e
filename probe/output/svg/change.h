/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which change of a frame's own weight a difference shows, and which is within the noise. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How two profiles are compared; zeroed: each change is shown. */
struct change_rules {
	/* The weights are numbers of events: a change within three standard deviations is noise. */
	bool by_counts;
	bool by_share; /* a change of less than 1 % of the total is noise */
	/* What weights of `before` and `after` were multiplied with; 0: 1. */
	double before_scale, after_scale;
};

/* What is known of a change from elsewhere (judged_functions.h): it is that of its function. */
enum change_verdict {
	CHANGE_BY_RULES, /* nothing */
	CHANGE_NOISE,
	CHANGE_GROWN,
	CHANGE_SHRUNK,
	CHANGE_UNJUDGED, /* it is of no function that was judged */
};

#define CHANGE_SIGMAS	     3
#define CHANGE_SHARE_PERCENT 1

/* Returns whether the change from `before` (scaled) to `after` is shown. */
bool change_is_shown(const struct change_rules *rules, enum change_verdict verdict, uint64_t total,
		     uint64_t before, uint64_t after);
