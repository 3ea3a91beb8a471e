/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is left of one process's mappings: pieces that don't overlap, sorted by address. A treap
 * (a search tree, and by random numbers a heap): whatever a program maps, each step costs the
 * logarithm of the pieces there are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/sample.h"

/* As it was mapped; shared by its pieces. */
struct mapping {
	struct stack_key stack;
	uint64_t time_ns; /* when it came */
	uint32_t tid;
	uint32_t pieces;
	bool seen; /* whoever walks over all pieces: one of it was there already */
};

struct range_node {
	struct range_node *left, *right; /* of lower and of higher addresses */
	uint64_t start, end;
	uint64_t rank; /* none below it has a higher one */
	struct mapping *mapping;
};

/* Of all processes. */
struct range_limit {
	size_t count, max;
	uint64_t refused; /* found no room */
	uint64_t random;  /* state; a seed to begin with */
};

/* Takes [start, end) out of what came before `before_ns`. What lies behind a hole needs room: it is
 * refused, and forgotten, if there is none. */
void range_tree_take(struct range_node **root, struct range_limit *limit, uint64_t start,
		     uint64_t end, uint64_t before_ns);

/* Adds a mapping, copied; nothing lies at [start, end). False: refused. */
bool range_tree_add(struct range_node **root, struct range_limit *limit, uint64_t start,
		    uint64_t end, const struct mapping *mapping);

/* Calls each, by their addresses. */
void range_tree_each(struct range_node *root, void (*each)(void *arg, struct range_node *piece),
		     void *arg);
