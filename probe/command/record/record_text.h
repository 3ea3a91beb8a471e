/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `record` makes of a profile's folded text: a table of functions, the picture of a
 * difference. */
#pragma once

#include "base/buf.h"
#include "command/record/record_options.h"

/* Prints the heaviest functions on standard output. Returns 0 or a negative errno. */
int record_text_top(const struct record_options *options, const struct profile_meta *meta,
		    struct buf *text);

/* Draws the difference between the text of options->before and `text`, which begins with its
 * header, to `picture`. Returns 0, or a negative errno after printing why. */
int record_text_compare(const struct record_options *options, const struct profile_meta *meta,
			struct buf *text, struct buf *picture);
