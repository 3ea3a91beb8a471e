// SPDX-License-Identifier: GPL-2.0-only
/* RFC 8259: a string may hold any character but `"`, `\` and what is below U+0020. */
#include "output/output.h"

#include <stdbool.h>

#include "base/utf8.h"

static void add_escape(struct buf *out, unsigned char c)
{
	if (c == '"' || c == '\\') {
		buf_char(out, '\\');
		buf_char(out, (char)c);
	} else if (c < 0x80) {
		buf_str(out, c < 0x10 ? "\\u000" : "\\u00");
		buf_hex(out, c);
	} else {
		buf_str(out, UTF8_REPLACEMENT);
	}
}

static void add_string(struct buf *out, const char *text, size_t len)
{
	size_t begin = 0, at = 0;

	buf_char(out, '"');
	while (at < len) {
		unsigned char c = (unsigned char)text[at];
		size_t bytes = utf8_sequence(text + at, len - at);

		if (bytes > 1 || (bytes && c >= 0x20 && c != 0x7f && c != '"' && c != '\\')) {
			at += bytes;
			continue;
		}
		buf_add(out, text + begin, at - begin);
		add_escape(out, c);
		begin = ++at;
	}
	buf_add(out, text + begin, len - begin);
	buf_char(out, '"');
}

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
		add_string(out, frame->name, frame->name_len);
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
