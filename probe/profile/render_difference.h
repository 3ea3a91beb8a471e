/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws the difference of two profiles of one probe as a picture, in a job of the bulk worker.
 * Weights are compared by the time that each covers, if both tell that (struct profile.covered_ns).
 */
#pragma once

#include "loop/worker.h"
#include "output/svg/picture.h"
#include "profile/profile.h"

struct render_difference {
	struct job job;

	/* the question; render_difference_submit() takes references */
	struct profile *before, *after; /* without processes' owners (profile/by_container.h) */
	enum picture_form form;
	bool icicle;	  /* the root on top */
	bool events;	  /* show events instead of weights */
	bool negate;	  /* the widths are those of `before` */
	unsigned without; /* struct profile_meta.without */
	/* Which functions changed; borrowed until done(). NULL: what is counted tells
	 * (output/svg/change.h). */
	const struct judged_functions *judged;
	const char *remark; /* a static text for the picture's head; NULL: none */
	const char *host;
	void (*done)(void *arg, struct render_difference *render);
	void *arg;

	/* the answer; done() may take the buffer over */
	int error;
	struct buf picture;
};

/* Submits a copy of the question; done() is called on the loop's thread. Returns 0 or -ENOMEM. */
int render_difference_submit(struct worker *bulk, const struct render_difference *question);
