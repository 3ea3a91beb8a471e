// SPDX-License-Identifier: GPL-2.0-only
#include "output/output.h"

#include <stdbool.h>

#include "output/json_string.h"

static bool open_frame(void *arg, const struct tree_frame *frame)
{
	struct buf *out = arg;

	if (buf_error(out))
		return false;
	if (frame->depth > 0 && out->data[out->len - 1] == '}')
		buf_str(out, ",\n");
	buf_str(out, "{\"name\":");
	if (frame->type == FRAME_TYPE_ROOT)
		buf_str(out, "\"all\"");
	else
		json_string(out, frame->name, frame->name_len);
	buf_str(out, ",\"kind\":\"");
	buf_str(out, frame_type_name(frame->type));
	buf_str(out, "\",\"self\":");
	buf_u64(out, frame->self);
	buf_str(out, ",\"total\":");
	buf_u64(out, frame->total);
	buf_str(out, ",\"children\":[");
	return true;
}

static void close_frame(void *arg, const struct tree_frame *frame)
{
	(void)frame;
	buf_str(arg, "]}");
}

int json_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
	       struct buf *out)
{
	static const struct tree_visitor visitor = {open_frame, close_frame};
	int r = tree_walk(tree, start, &visitor, out);

	(void)meta;
	buf_char(out, '\n');
	return r < 0 ? r : buf_error(out);
}
