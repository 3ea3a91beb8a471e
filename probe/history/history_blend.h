/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records put together: into one tree, and into sums and variances of each function's weight. A
 * function is a name and a kind of frame; its whole weight counts each stack once. Where they are
 * told by process, each process is a row as well, and its functions are its own. One thread at a
 * time.
 */
#pragma once

#include "history/history_record.h"
#include "stack/tree.h"

#define HISTORY_FILTER_BYTES 256

/* Whose stacks are taken; 0 and "": anybody's. */
struct history_filter {
	int pid;
	char comm[HISTORY_FILTER_BYTES];
	char container[HISTORY_FILTER_BYTES]; /* name of a container or a pod, as pictures show it
					       */
	char thread[HISTORY_FILTER_BYTES];
};

/* Returns whether some stacks are left out. */
bool history_filter_chooses(const struct history_filter *filter);

enum history_side { HISTORY_BEFORE, HISTORY_AFTER, HISTORY_SIDES };

/* A function's weight in all windows of a side, and the sum of the squares of each window's weight
 * through the window's length in seconds. */
struct function_weight {
	double sum, squares;
};

#define NO_PROCESS UINT32_MAX

struct function_row {
	enum frame_type type;
	const char *name; /* borrowed from the table; a NUL follows it */
	uint32_t process; /* number of its process's row; NO_PROCESS: it is of all, or is one */
	const char *container; /* of a process: as pictures show it; NULL: it is in none */
	struct function_weight self[HISTORY_SIDES], total[HISTORY_SIDES];
};

struct functions;

/* Makes an empty table. Returns 0 or -ENOMEM. The caller owns *ret. */
int functions_new(struct functions **ret);
void functions_free(struct functions *functions);
size_t functions_count(const struct functions *functions);
const struct function_row *functions_at(const struct functions *functions, size_t number);

/* Returns the number of a function (of a process's row, or of all: NO_PROCESS), made if missing;
 * -ENOSPC, -ENOMEM. */
int64_t functions_find(struct functions *functions, uint32_t process, enum frame_type type,
		       const char *name, size_t len);

struct blend {
	/* the question; what is pointed to is borrowed */
	struct tree *tree;	     /* gets the stacks; NULL: nobody wants them */
	struct functions *functions; /* gets the weights; NULL: nobody wants them */
	bool by_process;	     /* functions are told by process */
	enum history_side side;
	struct history_filter filter;
	/*
	 * The time that a sample stands for in what is blended: samples of a longer period count as
	 * so many more. At most the records' own; 0: they count as they are.
	 */
	uint64_t period_ns;

	/* the answer */
	struct history_head sum; /* of all records */
	uint64_t weight, events; /* of the stacks that were taken */
	/* Lengths of the windows together and the squares of each, s and s^2. A record that was put
	 * together counts as one window where a filter chooses, or functions are told by process:
	 * it has no variances of parts. */
	double length, squares;
};

/* Adds a record. Returns 0; -EBADMSG: it is damaged, and a part may have been added; -ENOSPC;
 * -ENOMEM. */
int blend_add(struct blend *blend, const struct history_head *head,
	      struct history_payload *payload);

/* Packs what a blend has as one payload (history_pack()), of at most `max_nodes` nodes
 * (stack/tree_rest.h). Returns 0 or a negative errno. */
int blend_pack(const struct blend *blend, size_t max_nodes, struct history_head *head,
	       struct buf *out);
