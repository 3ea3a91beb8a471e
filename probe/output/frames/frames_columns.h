/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree as columns of names and numbers, and the way back: what `.frames` (doc/formats.md) has
 * behind its header. Numbers are LEB128, as in protocol buffers; texts have a line feed between
 * them. Any thread.
 */
#pragma once

#include "base/buf.h"
#include "stack/tree.h"

/* THE COLUMNS, in the order of the file: by frame, texts, by node. */
#define FRAMES_COLUMN_LIST(X)                                                                      \
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
enum frames_column {
#define FRAMES_COLUMN_NUMBER(name) FRAMES_COLUMN_##name,
	FRAMES_COLUMN_LIST(FRAMES_COLUMN_NUMBER) FRAMES_COLUMNS
};

/* Returns the name of a column. */
const char *frames_column_name(enum frames_column column);

struct frames_columns {
	struct buf columns[FRAMES_COLUMNS];
	uint32_t frames, nodes;
};

/*
 * Makes the columns of the subtree at `start`, of at most `max` bytes each. Places within one
 * function are put together; their files with code stay. Of a part of a tree, by its number, the
 * tree has no places (profile/render.h). Returns 0, -ENOMEM or -ENOSPC; frames_columns_done() is
 * called in any case.
 */
int frames_columns_make(struct frames_columns *ret, const struct tree *tree, uint32_t start,
			size_t max);
void frames_columns_done(struct frames_columns *columns);

/* Bytes of a column, borrowed. */
struct frames_slice {
	const char *bytes;
	size_t len;
};

/* Columns that are read. All but the first two members are private. */
struct frames_reader {
	struct frame *frames; /* by their numbers in the columns; they borrow from the bytes */
	uint32_t frames_count;
	struct module *modules;
	struct frames_slice *texts; /* files, then modules */
	struct frames_slice left[FRAMES_COLUMNS];
	uint32_t nodes;
	uint32_t next;	/* the first frame that no node had yet */
	uint32_t below; /* depth below the node before; 0: the root comes */
};

/* A node, as frames_reader_next() returns it. The first one is the root, which has no frame. */
struct frames_node {
	uint32_t frame; /* number in reader->frames */
	uint32_t depth; /* 0: the root; at most one more than that of the node before */
	uint64_t self, events;
};

/*
 * Begins to read columns with so many frames and nodes, which are borrowed until
 * frames_reader_done(), which is called in any case. Returns 0; -EBADMSG: they are damaged; or
 * -ENOMEM.
 */
int frames_reader_begin(struct frames_reader *reader, const struct frames_slice slices[],
			uint32_t frames, uint32_t nodes);
void frames_reader_done(struct frames_reader *reader);

/* Reads the next node. Returns 1; 0: there are no more; -EBADMSG: the columns are damaged. */
int frames_reader_next(struct frames_reader *reader, struct frames_node *node);

/* Reads a number from the begin of a slice, and takes it off. Returns false if there is none. */
bool frames_number(struct frames_slice *from, uint64_t *number);
