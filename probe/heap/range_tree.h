/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tree of one process's mapped ranges: disjoint pieces sorted by address, in a treap (a search tree
 * that is also a heap by random ranks). Each step costs the logarithm of the number of pieces,
 * whatever a program maps.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/sample.h"

/* A mapping as it was made; shared by the pieces that are left of it. */
struct held_mapping {
	struct stack_key stack;
	uint64_t time_ns; /* when it was made, CLOCK_MONOTONIC */
	uint32_t tid;
	uint32_t pieces; /* number of nodes that refer to it */
	bool seen;	 /* for walks over all pieces: one of this mapping was visited */
};

struct range_node {
	struct range_node *left, *right; /* lower and higher addresses */
	uint64_t start, end;
	uint64_t rank; /* random; highest at the root of each subtree */
	struct held_mapping *mapping;
};

/* Limit of pieces, shared by the trees of all processes. */
struct range_limit {
	size_t count, max;
	uint64_t refused; /* pieces that found no room */
	uint64_t random;  /* generator's state; starts with a seed */
};

/*
 * Removes [start, end) from mappings older than `before_ns`. Where that splits a piece, its upper
 * part needs a node: without room for one it is counted as refused, and dropped.
 */
void range_tree_take(struct range_node **root, struct range_limit *limit, uint64_t start,
		     uint64_t end, uint64_t before_ns);

/*
 * Adds a copy of *mapping at [start, end), where no piece may lie. Returns false if it was refused
 * for want of room or memory.
 */
bool range_tree_add(struct range_node **root, struct range_limit *limit, uint64_t start,
		    uint64_t end, const struct held_mapping *mapping);

/* Calls each() for all pieces, by ascending address. */
void range_tree_each(struct range_node *root, void (*each)(void *arg, struct range_node *piece),
		     void *arg);
