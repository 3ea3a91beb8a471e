// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/format/output.h"

#include "base/json.h"

static bool open_frame(void *arg, const struct tree_frame *node)
{
	const struct frame *frame = &node->frame;
	struct json *json = arg;

	if (buf_error(json->out))
		return false;
	if (json->has_value)
		json_line(json);
	json_object(json, NULL);
	if (frame->type == FRAME_TYPE_ROOT)
		json_text(json, "name", "all");
	else
		json_string(json, "name", frame->name, frame->name_len);
	json_text(json, "kind", frame_type_name(frame->type));
	if (frame->source.file_len)
		json_string(json, "file", frame->source.file, frame->source.file_len);
	if (frame->source.line)
		json_u64(json, "line", frame->source.line);
	json_numbers(json, {"self", node->self}, {"total", node->total});
	json_array(json, "children");
	return true;
}

static void close_frame(void *arg, const struct tree_frame *node)
{
	(void)node;
	json_array_end(arg);
	json_object_end(arg);
}

int json_tree_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		    struct buf *out)
{
	static const struct tree_visitor visitor = {open_frame, close_frame};
	struct json json = {.out = out};
	int r = tree_walk(tree, start, &visitor, &json);

	(void)meta;
	buf_char(out, '\n');
	return r < 0 ? r : buf_error(out);
}
