// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes `.frames`. Source of the numbers' form: LEB128, as in protocol buffers. */
#include "output/format/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/json.h"
#include "output/pprof/protobuf.h"
#include "output/text/escape.h"

#define NO_FRAME UINT32_MAX

static void intern_freep(struct intern **intern)
{
	intern_free(*intern);
}

/* Texts that many frames share: each once, in the order of their numbers. The first one is empty.
 */
struct text_column {
	struct intern *known;
	struct buf *texts;
};

/* THE COLUMNS, in the order of the file: by frame, texts, by node. */
#define COLUMNS(X)                                                                                 \
	X(names)                                                                                   \
	X(kinds)                                                                                   \
	X(file)                                                                                    \
	X(line)                                                                                    \
	X(module)                                                                                  \
	X(files)                                                                                   \
	X(modules)                                                                                 \
	X(frame)                                                                                   \
	X(depth)                                                                                   \
	X(self)                                                                                    \
	X(events)
enum column {
#define COLUMN_NUMBER(name) COLUMN_##name,
	COLUMNS(COLUMN_NUMBER) COLUMN_COUNT
};
static const char *const column_names[] = {
#define COLUMN_NAME(name) #name,
	COLUMNS(COLUMN_NAME)};

struct frames_writer {
	const struct tree *tree;
	struct buf columns[COLUMN_COUNT];
	struct text_column files, modules;
	uint32_t *numbers; /* by the tree's frames: the number in the file, or NO_FRAME */
	uint32_t frames, nodes;
	int error;
};

static uint64_t add_text(struct frames_writer *writer, struct text_column *column, const char *text,
			 size_t len)
{
	size_t count = intern_count(column->known);
	int64_t number = intern_add(column->known, text, len);

	if (number < 0) {
		writer->error = (int)number;
		return 0;
	}
	if ((size_t)number == count && count) {
		buf_char(column->texts, '\n');
		folded_name(column->texts, text, len);
	}
	return (uint64_t)number;
}

/* Returns the number of a frame in the file. */
static uint32_t add_frame(struct frames_writer *writer, uint32_t number, const struct frame *frame)
{
	struct buf *columns = writer->columns;
	const struct module *module = frame->module;

	if (writer->numbers[number] != NO_FRAME)
		return writer->numbers[number];
	if (writer->frames)
		buf_char(&columns[COLUMN_names], '\n');
	folded_name(&columns[COLUMN_names], frame->name, frame->name_len);
	buf_char(&columns[COLUMN_kinds], (char)frame->type);
	protobuf_varint(&columns[COLUMN_file], add_text(writer, &writer->files, frame->source.file,
							frame->source.file_len));
	protobuf_varint(&columns[COLUMN_line], frame->source.line);
	protobuf_varint(&columns[COLUMN_module],
			add_text(writer, &writer->modules, module ? module->path : "",
				 module ? module->path_len : 0));
	return writer->numbers[number] = writer->frames++;
}

static bool add_node(void *arg, const struct tree_frame *node)
{
	struct frames_writer *writer = arg;
	struct buf *columns = writer->columns;
	struct tree_node of = tree_node_of(writer->tree, node->node);
	uint32_t number = node->node == TREE_ROOT ? 0 : add_frame(writer, of.frame, &node->frame);

	protobuf_varint(&columns[COLUMN_frame], number);
	protobuf_varint(&columns[COLUMN_depth], node->depth);
	protobuf_varint(&columns[COLUMN_self], node->self);
	protobuf_varint(&columns[COLUMN_events], of.events);
	writer->nodes++;
	return writer->error == 0 && !buf_error(&columns[COLUMN_self]);
}

static void write_header(const struct frames_writer *writer, const struct profile_meta *meta,
			 struct buf *out)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	json_text(&json, "title", meta->title);
	json_text(&json, "unit", meta->count_name);
	if (meta->event_name)
		json_text(&json, "event_unit", meta->event_name);
	if (meta->host)
		json_text(&json, "host", meta->host);
	json_seconds(&json, "from", (uint64_t)meta->from_ns);
	json_seconds(&json, "until", (uint64_t)meta->until_ns);
	json_numbers(&json, {"period_ns", meta->by_period ? meta->period_ns : 0},
		     {"samples", meta->samples}, {"left_out", meta->left_out}, {"lost", meta->lost},
		     {"truncated", meta->truncated}, {"processes", meta->processes},
		     {"frames", writer->frames}, {"nodes", writer->nodes});
	json_array(&json, "columns");
	for (int i = 0; i < COLUMN_COUNT; i++) {
		json_array(&json, NULL);
		json_text(&json, NULL, column_names[i]);
		json_u64(&json, NULL, writer->columns[i].len);
		json_array_end(&json);
	}
	json_array_end(&json);
	json_object_end(&json);
}

static void add_u32(struct buf *out, size_t value)
{
	for (int shift = 0; shift < 32; shift += 8)
		buf_char(out, (char)(value >> shift & 0xff));
}

static void write_file(struct frames_writer *writer, const struct profile_meta *meta,
		       struct buf *out)
{
	_cleanup_buf_ struct buf header = BUF_INIT(65536);

	write_header(writer, meta, &header);
	buf_str(out, "SPF1");
	add_u32(out, header.len);
	buf_add(out, header.data, header.len);
	for (int i = 0; i < COLUMN_COUNT; i++) {
		buf_add(out, writer->columns[i].data, writer->columns[i].len);
		if (writer->error == 0)
			writer->error = buf_error(&writer->columns[i]);
	}
	if (writer->error == 0)
		writer->error = buf_error(&header);
}

/* Copies a tree, without addresses: of the places of a function its file with code is left. */
static int copy_without_addresses(struct tree **ret, const struct tree *from, size_t name_bytes)
{
	size_t count = tree_count(from);
	_cleanup_tree_ struct tree *tree = NULL;
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));
	/* A tree keeps places while it has less than a sixteenth of its bound. */
	int r = numbers ? tree_new(&tree, 16 * count + 16, name_bytes) : -ENOMEM;

	for (uint32_t n = 0; r == 0 && n < count; n++) {
		struct tree_node node = tree_node_of(from, n);
		int64_t copy = TREE_ROOT;

		if (n != TREE_ROOT) {
			struct frame frame = tree_frame_at(from, node.frame);

			frame.address = 0;
			copy = tree_child_with(tree, numbers[node.parent], &frame);
		}
		if (copy < 0) {
			r = (int)copy;
			break;
		}
		numbers[n] = (uint32_t)copy;
		tree_add(tree, numbers[n], node.weight);
		tree_add_events(tree, numbers[n], node.events);
	}
	if (r == 0)
		*ret = TAKE_PTR(tree);
	return r;
}

static int write_tree(struct frames_writer *writer, uint32_t start, const struct profile_meta *meta,
		      struct buf *out)
{
	static const struct tree_visitor visitor = {.open = add_node};
	size_t count = tree_frames_count(writer->tree) + 1;
	_cleanup_free_ uint32_t *numbers = malloc(count * sizeof(*numbers));
	_cleanup_(intern_freep) struct intern *files = NULL, *modules = NULL;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		numbers[i] = NO_FRAME;
	writer->numbers = numbers;
	int r = intern_new(&files, out->max);
	if (r == 0)
		r = intern_new(&modules, out->max);
	if (r < 0)
		return r;
	writer->files = (struct text_column){files, &writer->columns[COLUMN_files]};
	writer->modules = (struct text_column){modules, &writer->columns[COLUMN_modules]};
	add_text(writer, &writer->files, "", 0);
	add_text(writer, &writer->modules, "", 0);
	r = tree_walk(writer->tree, start, &visitor, writer);
	if (r == 0)
		write_file(writer, meta, out);
	return r < 0 ? r : writer->error;
}

int frames_write(const struct tree *tree, uint32_t start, const struct profile_meta *meta,
		 struct buf *out)
{
	struct frames_writer writer = {0};
	_cleanup_tree_ struct tree *copy = NULL;
	/* A part of a tree, by its number, has no places: profile/render.h. */
	int r = start == TREE_ROOT ? copy_without_addresses(&copy, tree, out->max) : 0;

	writer.tree = copy ? copy : tree;
	for (int i = 0; i < COLUMN_COUNT; i++)
		writer.columns[i] = (struct buf)BUF_INIT(out->max);
	if (r == 0)
		r = write_tree(&writer, start, meta, out);
	for (int i = 0; i < COLUMN_COUNT; i++)
		buf_done(&writer.columns[i]);
	return r < 0 ? r : buf_error(out);
}
