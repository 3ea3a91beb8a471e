// SPDX-License-Identifier: GPL-2.0-only
#include "profile/upload_pieces.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define STACKS_MAX	16000
#define DEPTH_MAX	1000
#define PPROF_BYTES_MAX ((2u << 20) - (16u << 10)) /* labels of the series come on top */
#define TEXT_BYTES_MAX	(1u << 20) /* a server makes a pprof of it, which is mostly smaller */
#define LINE_BYTES_MAX	65535	   /* without its end */
#define TRUNCATED	";[truncated]"
#define PIECE_MAX	(256u << 20)

/* Before each piece; its process's name, a NUL and its bytes follow. */
struct piece_head {
	uint32_t name_bytes, bytes;
};

/* The head's place, for piece_end(). */
static size_t piece_begin(struct buf *out, const char *process, size_t len)
{
	struct piece_head head = {.name_bytes = (uint32_t)len};
	size_t at = out->len;

	buf_add(out, &head, sizeof(head));
	buf_add(out, process, len);
	buf_char(out, '\0');
	return at;
}

static void piece_end(struct buf *out, size_t at)
{
	struct piece_head head;

	if (buf_error(out))
		return;
	memcpy(&head, out->data + at, sizeof(head));
	head.bytes = (uint32_t)(out->len - at - sizeof(head) - head.name_bytes - 1);
	memcpy(out->data + at, &head, sizeof(head));
}

bool upload_piece_next(const struct buf *content, size_t *at, struct upload_piece *piece)
{
	struct piece_head head;

	if (*at >= content->len)
		return false;
	memcpy(&head, content->data + *at, sizeof(head));
	piece->process = content->data + *at + sizeof(head);
	piece->data = piece->process + head.name_bytes + 1;
	piece->bytes = head.bytes;
	*at += sizeof(head) + head.name_bytes + 1 + head.bytes;
	return true;
}

/* ---- pprofs ---- */

static int push_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		      struct buf *out)
{
	static const struct pprof_limits limits = {PPROF_BYTES_MAX, STACKS_MAX, DEPTH_MAX};
	uint32_t at = start;

	do { /* an empty window is one piece, too */
		size_t head = piece_begin(out, "", 0);
		int r = pprof_write_part(tree, meta, &limits, &at, out);

		if (r < 0 && r != -EMSGSIZE)
			return r;
		piece_end(out, head);
	} while (at < tree_count(tree) && !buf_error(out));
	return buf_error(out);
}

const struct output upload_push = {.write = push_write, .places = true};

/* ---- folded text ---- */

/* A line's first frames: whose it is. */
static size_t head_of(const char *line, size_t len, unsigned heads)
{
	size_t at = 0;

	while (heads--) {
		const char *end = memchr(line + at, ';', len - at);

		if (!end)
			return len;
		at = (size_t)(end - line) + (heads ? 1 : 0);
	}
	return at;
}

/* Of a line that is too long: its first frame, and those next to the leaf. */
static void add_cut(struct buf *out, const char *line, size_t len)
{
	size_t head = head_of(line, len, 1);
	size_t room = LINE_BYTES_MAX - strlen(TRUNCATED);
	const char *tail;

	if (head >= room || head == len)
		return;
	tail = memchr(line + (len - (room - head)), ';', room - head);
	if (!tail) /* its leaf alone is too long */
		return;
	buf_add(out, line, head);
	buf_str(out, TRUNCATED);
	buf_add(out, tail, (size_t)(line + len - tail));
}

/* The lines of `text`, in pieces of that process. */
static void add_lines(struct buf *out, const char *process, size_t len, const struct buf *text)
{
	size_t head = piece_begin(out, process, len), stacks = 0, lost = 0;

	for (size_t at = 0; at < text->len && !buf_error(out);) {
		const char *line = text->data + at;
		const char *end = memchr(line, '\n', text->len - at);
		size_t bytes = end ? (size_t)(end - line) : text->len - at;

		if (stacks && (stacks == STACKS_MAX || out->len - head + bytes > TEXT_BYTES_MAX)) {
			piece_end(out, head);
			head = piece_begin(out, process, len);
			stacks = 0;
		}
		size_t before = out->len;
		if (bytes <= LINE_BYTES_MAX)
			buf_add(out, line, bytes);
		else
			add_cut(out, line, bytes);
		if (out->len > before) {
			buf_char(out, '\n');
			stacks++;
		} else {
			lost++;
		}
		at += bytes + 1;
	}
	if (stacks)
		piece_end(out, head);
	else
		out->len = head;
	while (lost-- && !buf_error(out))
		piece_end(out, piece_begin(out, process, len));
}

static int add_text(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		    const char *process, size_t len, struct buf *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(PIECE_MAX);
	int r = folded_write(tree, start, meta, &text);

	if (r == 0 && text.len)
		add_lines(out, process, len, &text);
	return r;
}

static int ingest_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
			struct buf *out)
{
	uint32_t count = (uint32_t)tree_count(tree);
	int r = 0;

	if (meta->pprof_labels != PPROF_LABELS_PROCESS)
		return add_text(tree, start, meta, "", 0, out);
	for (uint32_t node = TREE_ROOT + 1; node < count && r == 0; node++) {
		struct frame frame = tree_frame_of(tree, node);

		if (frame.type == FRAME_TYPE_PROCESS)
			r = add_text(tree, node, meta, frame.name, frame.name_len, out);
	}
	return r;
}

const struct output upload_ingest = {.write = ingest_write};
