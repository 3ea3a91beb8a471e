// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/text/frame_text.h"

const char *frame_text(struct buf *scratch, const struct frame *frame, size_t *len)
{
	const struct frame_source *source = &frame->source;

	*len = frame->name_len;
	if (!source->file_len)
		return frame->name;
	scratch->len = 0;
	buf_add(scratch, frame->name, frame->name_len);
	buf_str(scratch, " (");
	buf_add(scratch, source->file, source->file_len);
	if (source->line) {
		buf_char(scratch, ':');
		buf_u64(scratch, source->line);
	}
	buf_char(scratch, ')');
	if (buf_error(scratch))
		return frame->name;
	*len = scratch->len;
	return scratch->data;
}
