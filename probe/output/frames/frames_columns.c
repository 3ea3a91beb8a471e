// SPDX-License-Identifier: GPL-2.0-or-later
/* Source of the numbers' form: LEB128, as in protocol buffers. */
#include "output/frames/frames_columns.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "output/pprof/protobuf.h"
#include "output/text/escape.h"

#define NO_FRAME UINT32_MAX

static const char *const column_names[] = {
#define COLUMN_NAME(name) #name,
	FRAMES_COLUMN_LIST(COLUMN_NAME)};

const char *frames_column_name(enum frames_column column)
{
	return column_names[column];
}

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

struct columns_writer {
	const struct tree *tree;
	struct frames_columns *out;
	struct text_column files, modules;
	uint32_t *numbers; /* by the tree's frames: the number in the columns, or NO_FRAME */
	int error;
};

static uint64_t add_text(struct columns_writer *writer, struct text_column *column,
			 const char *text, size_t len)
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

/* Returns the number of a frame in the columns. */
static uint32_t add_frame(struct columns_writer *writer, uint32_t number, const struct frame *frame)
{
	struct buf *columns = writer->out->columns;
	const struct module *module = frame->module;

	if (writer->numbers[number] != NO_FRAME)
		return writer->numbers[number];
	if (writer->out->frames)
		buf_char(&columns[FRAMES_COLUMN_names], '\n');
	folded_name(&columns[FRAMES_COLUMN_names], frame->name, frame->name_len);
	buf_char(&columns[FRAMES_COLUMN_kinds], (char)frame->type);
	protobuf_varint(
		&columns[FRAMES_COLUMN_file],
		add_text(writer, &writer->files, frame->source.file, frame->source.file_len));
	protobuf_varint(&columns[FRAMES_COLUMN_line], frame->source.line);
	protobuf_varint(&columns[FRAMES_COLUMN_module],
			add_text(writer, &writer->modules, module ? module->path : "",
				 module ? module->path_len : 0));
	return writer->numbers[number] = writer->out->frames++;
}

static bool add_node(void *arg, const struct tree_frame *node)
{
	struct columns_writer *writer = arg;
	struct buf *columns = writer->out->columns;
	struct tree_node of = tree_node_of(writer->tree, node->node);
	uint32_t known = writer->out->frames;
	uint32_t number = node->node == TREE_ROOT ? 0 : add_frame(writer, of.frame, &node->frame);

	protobuf_varint(&columns[FRAMES_COLUMN_frame],
			writer->out->frames > known ? 0 : number + 1);
	protobuf_varint(&columns[FRAMES_COLUMN_depth], node->depth);
	protobuf_varint(&columns[FRAMES_COLUMN_self], node->self);
	protobuf_varint(&columns[FRAMES_COLUMN_events], of.events);
	writer->out->nodes++;
	return writer->error == 0 && !buf_error(&columns[FRAMES_COLUMN_self]);
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

static int write_tree(struct columns_writer *writer, uint32_t start, size_t max)
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
	int r = intern_new(&files, max);
	if (r == 0)
		r = intern_new(&modules, max);
	if (r < 0)
		return r;
	writer->files = (struct text_column){files, &writer->out->columns[FRAMES_COLUMN_files]};
	writer->modules =
		(struct text_column){modules, &writer->out->columns[FRAMES_COLUMN_modules]};
	add_text(writer, &writer->files, "", 0);
	add_text(writer, &writer->modules, "", 0);
	r = tree_walk(writer->tree, start, &visitor, writer);
	return r < 0 ? r : writer->error;
}

int frames_columns_make(struct frames_columns *ret, const struct tree *tree, uint32_t start,
			size_t max)
{
	struct columns_writer writer = {.out = ret};
	_cleanup_tree_ struct tree *copy = NULL;
	int r = start == TREE_ROOT ? copy_without_addresses(&copy, tree, max) : 0;

	*ret = (struct frames_columns){0};
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		ret->columns[i] = (struct buf)BUF_INIT(max);
	writer.tree = copy ? copy : tree;
	if (r == 0)
		r = write_tree(&writer, start, max);
	for (int i = 0; r == 0 && i < FRAMES_COLUMNS; i++)
		r = buf_error(&ret->columns[i]);
	return r;
}

void frames_columns_done(struct frames_columns *columns)
{
	for (int i = 0; i < FRAMES_COLUMNS; i++)
		buf_done(&columns->columns[i]);
}
