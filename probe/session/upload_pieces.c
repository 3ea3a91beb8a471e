// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/upload_pieces.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/container.h"
#include "profile/by_container.h"

#define STACKS_MAX 16000
#define DEPTH_MAX  1000
/* below 2 MiB, as the series' labels are added */
#define PPROF_BYTES_MAX ((2u << 20) - (16u << 10))
/* a server makes a pprof of the text, which is mostly smaller */
#define TEXT_BYTES_MAX (1u << 20)
#define LINE_BYTES_MAX 65535 /* without its newline */
#define TRUNCATED      ";[truncated]"
#define PIECE_MAX      (256u << 20)

/* Head of a piece. The texts of struct upload_whose follow, each with its NUL, then the bytes. */
struct piece_head {
	uint32_t whose_bytes, bytes;
};

static const struct upload_whose of_all = {"", "", "", "", ""};

/* Begins a piece; returns the head's place, for piece_end(). */
static size_t piece_begin(struct buf *out, const struct upload_whose *whose)
{
	const char *const texts[] = {whose->process, whose->container, whose->pod,
				     whose->pod_namespace, whose->container_pid};
	struct piece_head head = {0};
	size_t at = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		head.whose_bytes += (uint32_t)strlen(texts[i]) + 1;
	buf_add(out, &head, sizeof(head));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		buf_add(out, texts[i], strlen(texts[i]) + 1);
	return at;
}

static void piece_end(struct buf *out, size_t at)
{
	struct piece_head head;

	if (buf_error(out))
		return;
	memcpy(&head, out->data + at, sizeof(head));
	head.bytes = (uint32_t)(out->len - at - sizeof(head) - head.whose_bytes);
	memcpy(out->data + at, &head, sizeof(head));
}

bool upload_piece_next(const struct buf *content, size_t *at, struct upload_piece *piece)
{
	const char **const texts[] = {&piece->whose.process, &piece->whose.container,
				      &piece->whose.pod, &piece->whose.pod_namespace,
				      &piece->whose.container_pid};
	struct piece_head head;

	if (*at >= content->len)
		return false;
	memcpy(&head, content->data + *at, sizeof(head));
	const char *text = content->data + *at + sizeof(head);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		*texts[i] = text;
		text += strlen(text) + 1;
	}
	piece->data = text;
	piece->bytes = head.bytes;
	*at += sizeof(head) + head.whose_bytes + head.bytes;
	return true;
}

/* ---- pprofs ---- */

static int push_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		      struct buf *out)
{
	static const struct pprof_limits limits = {PPROF_BYTES_MAX, STACKS_MAX, DEPTH_MAX};
	uint32_t at = start;

	do { /* an empty window is one piece, too */
		size_t head = piece_begin(out, &of_all);
		int r = pprof_write_part(tree, meta, &limits, &at, out);

		if (r < 0 && r != -EMSGSIZE)
			return r;
		piece_end(out, head);
	} while (at < tree_count(tree) && !buf_error(out));
	return buf_error(out);
}

const struct output upload_push = {.write = push_write, .places = true};

/* ---- folded text ---- */

/* Returns the length of a line's first frames, which name the process. */
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

static bool begins_with(const char *line, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && memcmp(line, prefix, strlen(prefix)) == 0;
}

/* Counts the first frames that name the process. A process's frame begins with its pid. */
static unsigned heads_of(const char *line, size_t len)
{
	if (begins_with(line, len, POD_PREFIX))
		return 3;
	return begins_with(line, len, CONTAINER_PREFIX) ? 2 : 1;
}

/* Shortens a line that is too long: keeps the process and the frames next to the leaf. */
static void add_cut(struct buf *out, const char *line, size_t len)
{
	size_t head = head_of(line, len, heads_of(line, len));
	size_t room = LINE_BYTES_MAX - strlen(TRUNCATED);
	const char *tail;

	if (head >= room || head == len)
		return;
	tail = memchr(line + (len - (room - head)), ';', room - head);
	if (!tail) /* the leaf alone is too long */
		return;
	buf_add(out, line, head);
	buf_str(out, TRUNCATED);
	buf_add(out, tail, (size_t)(line + len - tail));
}

/* Writes the lines of `text` in pieces of that process. */
static void add_lines(struct buf *out, const struct upload_whose *whose, const struct buf *text)
{
	size_t head = piece_begin(out, whose), stacks = 0, lost = 0;

	for (size_t at = 0; at < text->len && !buf_error(out);) {
		const char *line = text->data + at;
		const char *end = memchr(line, '\n', text->len - at);
		size_t bytes = end ? (size_t)(end - line) : text->len - at;

		if (stacks && (stacks == STACKS_MAX || out->len - head + bytes > TEXT_BYTES_MAX)) {
			piece_end(out, head);
			head = piece_begin(out, whose);
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
		piece_end(out, piece_begin(out, whose));
}

static int add_text(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		    const struct upload_whose *whose, struct buf *out)
{
	_cleanup_buf_ struct buf text = BUF_INIT(PIECE_MAX);
	int r = folded_write(tree, start, meta, &text);

	if (r == 0 && text.len)
		add_lines(out, whose, &text);
	return r;
}

/* Writes all lines of one process. Its frame's name has no NUL within, and one behind it. */
static int add_process(const struct tree *tree, uint32_t node, const struct frame *frame,
		       const struct profile_meta *meta, struct buf *out)
{
	const struct owner *owner = frame->owner;
	char container[CONTAINER_NAME_MAX], pod[CONTAINER_NAME_MAX], ns_pid[16];
	struct upload_whose whose = of_all;
	const char *label;

	whose.process = frame->name;
	if (owner && owner->container) {
		whose.container = container_label(owner->container, container, sizeof(container));
		label = container_pod_label(owner->container, pod, sizeof(pod));
		whose.pod = label ? label : "";
		whose.pod_namespace = owner->container->pod_namespace;
	}
	if (owner && owner->ns_pid > 0 && owner->ns_pid != owner->pid) {
		snprintf(ns_pid, sizeof(ns_pid), "%d", (int)owner->ns_pid);
		whose.container_pid = ns_pid;
	}
	return add_text(tree, node, meta, &whose, out);
}

static int ingest_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
			struct buf *out)
{
	uint32_t count = (uint32_t)tree_count(tree);
	int r = 0;

	if (meta->pprof_labels != PPROF_LABELS_PROCESS)
		return add_text(tree, start, meta, &of_all, out);
	for (uint32_t node = TREE_ROOT + 1; node < count && r == 0; node++) {
		struct frame frame = tree_frame_of(tree, node);

		if (frame.type == FRAME_TYPE_PROCESS)
			r = add_process(tree, node, &frame, meta, out);
	}
	return r;
}

const struct output upload_ingest = {.write = ingest_write};
