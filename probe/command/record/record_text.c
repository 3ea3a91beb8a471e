// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/command.h"
#include "command/input_text.h"
#include "output/diff/difference.h"
#include "output/report/report.h"
#include "output/svg/picture.h"

#define TEXT_MAX ((size_t)1 << 30)

/* Has `stacks` read the text, which gets zeros behind it. */
static int read_text(struct stacks *stacks, struct buf *text)
{
	static const char padding[STACKS_PADDING];
	size_t len = text->len;

	buf_add(text, padding, sizeof(padding));
	text->len = len;
	return buf_error(text) ? buf_error(text)
			       : stacks_read(stacks, STACKS_AFTER, text->data, len);
}

int record_text_top(const struct record_options *options, const struct profile_meta *meta,
		    struct buf *text)
{
	const struct report_wish wish = {.unit = meta->count_name, .rows = options->top};
	_cleanup_stacks_ struct stacks stacks = {0};
	_cleanup_buf_ struct buf table = BUF_INIT(TEXT_MAX);
	int r = read_text(&stacks, text);

	if ((options->probes & (options->probes - 1)) != 0) /* which of several it is */
		buf_printf(&table, "%s\n", meta->title);
	if (r == 0)
		r = report_write(&stacks, &wish, &table);
	if (r == 0 &&
	    (fwrite(table.data, 1, table.len, stdout) != table.len || fflush(stdout) != 0))
		r = -errno;
	return r;
}

static int add_to_picture(void *arg, struct buf *out)
{
	struct buf *picture = arg;

	buf_add(picture, out->data, out->len);
	out->len = 0;
	return buf_error(picture);
}

int record_text_compare(const struct record_options *options, const struct profile_meta *meta,
			struct buf *text, struct buf *picture)
{
	struct stacks_svg svg = {.meta = *meta,
				 .form = options->output == output_find("html") ? PICTURE_HTML
										: PICTURE_SVG,
				 .width = PICTURE_WIDTH,
				 .is_diff = true,
				 .flush = add_to_picture,
				 .arg = picture};
	_cleanup_stacks_ struct stacks raw = {.normalize = options->normalize};
	_cleanup_difference_ struct difference difference = {0};
	int r = read_text(&raw, text);

	if (r == 0)
		r = stacks_read(&raw, STACKS_BEFORE, options->before_text.data,
				options->before_text.bytes);
	input_text_left_out(&raw);
	if (r == 0)
		r = difference_make(&difference, &raw, PLACES_BY_VERSION, false, &svg);
	if (r == 0) {
		difference_print(&difference, false);
		r = stacks_svg_write(&difference.stacks, &svg);
	}
	if (r < 0)
		fprintf(stderr, "stackprobe: the difference can't be drawn: %s\n", strerror(-r));
	return r;
}
