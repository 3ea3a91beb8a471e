// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the columns of `.frames` back. Damaged ones are refused, never trusted. */
#include "output/frames/frames_columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool frames_number(struct frames_slice *from, uint64_t *number)
{
	*number = 0;
	for (size_t i = 0; i < from->len && i < 10; i++) {
		uint64_t byte = (unsigned char)from->bytes[i];

		*number |= (byte & 127) << (7 * i);
		if (byte & 128)
			continue;
		from->bytes += i + 1;
		from->len -= i + 1;
		return true;
	}
	return false;
}

/* Takes the next text off; the last one ends with the slice. False: there are no more. */
static bool take_text(struct frames_slice *from, struct frames_slice *text)
{
	if (!from->bytes)
		return false;
	const char *end = memchr(from->bytes, '\n', from->len);

	*text = (struct frames_slice){from->bytes, end ? (size_t)(end - from->bytes) : from->len};
	from->len -= end ? text->len + 1 : text->len;
	from->bytes = end ? end + 1 : NULL;
	return true;
}

static size_t count_texts(const struct frames_slice *column)
{
	size_t count = 1;

	for (size_t i = 0; i < column->len; i++)
		count += column->bytes[i] == '\n';
	return count;
}

/* Fills in the texts of a column. */
static void split_texts(struct frames_slice column, struct frames_slice *texts)
{
	if (!column.bytes)
		column.bytes = ""; /* one text, which is empty */
	while (take_text(&column, texts))
		texts++;
}

/* A column of frames' numbers in a table of texts. */
static bool take_number(struct frames_reader *reader, enum frames_column column, size_t end,
			uint64_t *number)
{
	return frames_number(&reader->left[column], number) && *number < end;
}

static int read_frames(struct frames_reader *reader, size_t files, size_t modules)
{
	struct frames_slice *left = reader->left, name;
	uint64_t file, line, module;

	if (reader->frames_count && !left[FRAMES_COLUMN_names].bytes)
		left[FRAMES_COLUMN_names].bytes = "";
	for (uint32_t i = 0; i < reader->frames_count; i++) {
		struct frame *frame = &reader->frames[i];
		unsigned kind = (unsigned char)left[FRAMES_COLUMN_kinds].bytes[i];

		if (!take_text(&left[FRAMES_COLUMN_names], &name) || kind >= FRAME_TYPE_COUNT ||
		    kind == FRAME_TYPE_ROOT ||
		    !take_number(reader, FRAMES_COLUMN_file, files, &file) ||
		    !take_number(reader, FRAMES_COLUMN_line, (size_t)UINT32_MAX + 1, &line) ||
		    !take_number(reader, FRAMES_COLUMN_module, modules, &module))
			return -EBADMSG;
		*frame = (struct frame){
			.type = kind,
			.name = name.bytes,
			.name_len = name.len,
			.source = {reader->texts[file].bytes, reader->texts[file].len,
				   (uint32_t)line},
			.module = module ? &reader->modules[module] : NULL,
		};
	}
	return 0;
}

int frames_reader_begin(struct frames_reader *reader, const struct frames_slice slices[],
			uint32_t frames, uint32_t nodes)
{
	size_t files = count_texts(&slices[FRAMES_COLUMN_files]);
	size_t modules = count_texts(&slices[FRAMES_COLUMN_modules]);

	*reader = (struct frames_reader){.nodes = nodes, .frames_count = frames};
	memcpy(reader->left, slices, sizeof(reader->left));
	if (slices[FRAMES_COLUMN_kinds].len != frames || slices[FRAMES_COLUMN_frame].len < nodes)
		return -EBADMSG;
	reader->frames = calloc((size_t)frames + 1, sizeof(*reader->frames));
	reader->modules = calloc(modules, sizeof(*reader->modules));
	reader->texts = calloc(files + modules, sizeof(*reader->texts));
	if (!reader->frames || !reader->modules || !reader->texts)
		return -ENOMEM;
	split_texts(slices[FRAMES_COLUMN_files], reader->texts);
	split_texts(slices[FRAMES_COLUMN_modules], reader->texts + files);
	for (size_t i = 0; i < modules; i++) {
		reader->modules[i].path = reader->texts[files + i].bytes;
		reader->modules[i].path_len = reader->texts[files + i].len;
	}
	return read_frames(reader, files, modules);
}

void frames_reader_done(struct frames_reader *reader)
{
	free(reader->frames);
	free(reader->modules);
	free(reader->texts);
}

int frames_reader_next(struct frames_reader *reader, struct frames_node *node)
{
	struct frames_slice *left = reader->left;
	uint64_t frame, depth;

	if (!reader->nodes)
		return 0;
	if (!frames_number(&left[FRAMES_COLUMN_frame], &frame) ||
	    !frames_number(&left[FRAMES_COLUMN_depth], &depth) ||
	    !frames_number(&left[FRAMES_COLUMN_self], &node->self) ||
	    !frames_number(&left[FRAMES_COLUMN_events], &node->events))
		return -EBADMSG;
	frame = frame ? frame - 1 : reader->next++;
	bool fits = reader->below ? depth > 0 && depth <= reader->below : depth == 0;
	if (!fits || (depth && frame >= reader->frames_count))
		return -EBADMSG;
	reader->below = (uint32_t)depth + 1;
	reader->nodes--;
	node->frame = (uint32_t)frame;
	node->depth = (uint32_t)depth;
	return 1;
}
