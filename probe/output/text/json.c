// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/format/output.h"

#include <stdbool.h>

#include "output/text/json_string.h"

/* Adds the file and the line, where they are known. */
static void add_source(struct buf *out, const struct frame_source *source)
{
	if (source->file_len) {
		buf_str(out, ",\"file\":");
		json_string(out, source->file, source->file_len);
	}
	if (source->line) {
		buf_str(out, ",\"line\":");
		buf_u64(out, source->line);
	}
}

static bool open_frame(void *arg, const struct tree_frame *node)
{
	struct buf *out = arg;

	if (buf_error(out))
		return false;
	if (node->depth > 0 && out->data[out->len - 1] == '}')
		buf_str(out, ",\n");
	buf_str(out, "{\"name\":");
	if (node->frame.type == FRAME_TYPE_ROOT)
		buf_str(out, "\"all\"");
	else
		json_string(out, node->frame.name, node->frame.name_len);
	buf_str(out, ",\"kind\":\"");
	buf_str(out, frame_type_name(node->frame.type));
	buf_char(out, '"');
	add_source(out, &node->frame.source);
	buf_str(out, ",\"self\":");
	buf_u64(out, node->self);
	buf_str(out, ",\"total\":");
	buf_u64(out, node->total);
	buf_str(out, ",\"children\":[");
	return true;
}

static void close_frame(void *arg, const struct tree_frame *node)
{
	(void)node;
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
