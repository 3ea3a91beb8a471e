/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A call tree: nodes with frames and the weights of the stacks that end at them. Symbolized stacks
 * are collected in a tree, and every output is made from one.
 *
 * A node is known by its number; node 0 is the root and has no frame. Children of one node have
 * distinct frames (name, kind, file, line, place, owner). The tree owns its names. Bounded in nodes
 * and in bytes of names. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/frames.h"

struct tree;

/* Makes a tree with a root. Returns 0, or -ENOMEM. The caller owns *ret. */
int tree_new(struct tree **ret, size_t max_nodes, size_t max_name_bytes);
void tree_free(struct tree *tree);
static inline void tree_freep(struct tree **tree)
{
	tree_free(*tree);
}
#define _cleanup_tree_ _cleanup_(tree_freep)

#define TREE_ROOT      0u

/* Has frames added from now on told apart without their places. A tree does so by itself once it
 * has a sixteenth of max_nodes: the number of functions is limited, but places grow with samples.
 */
void tree_drop_places(struct tree *tree);

/* Makes room for so many more nodes, so that they are added faster; at most up to the bound.
 * Returns 0 or -ENOMEM. */
int tree_reserve(struct tree *tree, size_t more);

/* Returns the number of nodes with the root: they are numbered from 0. */
size_t tree_count(const struct tree *tree);

/* Returns whether there are processes in containers, or several with one pid: then the frames must
 * be sorted by profile/by_container.h before they are shown. */
bool tree_has_owners(const struct tree *tree);

/* Returns the child of `parent` with that frame, made if missing; -ENOSPC at a bound; -ENOMEM. */
int64_t tree_child(struct tree *tree, uint32_t parent, enum frame_type type, const char *name,
		   size_t len);
int64_t tree_child_with(struct tree *tree, uint32_t parent, const struct frame *frame);

/* Returns the child of `node` that is a marker, as tree_child() does; a negative `node` is an error
 * that comes back. */
int64_t tree_marker(struct tree *tree, int64_t node, const char *name);

/* Do the same in two steps, for frames that come often: return the frame's number in this tree, and
 * the child with that frame. Errors as tree_child(). */
int64_t tree_frame(struct tree *tree, const struct frame *frame);
int64_t tree_child_of(struct tree *tree, uint32_t parent, uint32_t frame);

/* Adds weight of stacks that end at the node. */
void tree_add(struct tree *tree, uint32_t node, uint64_t weight);

/* Adds events that end at the node, a second value beside the weight; at most 2^56 - 1. */
void tree_add_events(struct tree *tree, uint32_t node, uint64_t events);

/* Replaces the weights by the events. */
void tree_show_events(struct tree *tree);

/* Returns the events of each node together with all nodes below it, by node, which the caller
 * frees; NULL: no memory. */
uint64_t *tree_sum_events(const struct tree *tree);

/* Adds a subtree of `from`, with the frames that lead to it, into `into`: `node` and all nodes
 * below it (TREE_ROOT: all). (*numbers)[n] is the number in `into` of node n of `from`; TREE_ROOT:
 * not added, or the root. The caller frees *numbers, also on failure. Returns 0; -ENOSPC if a part
 * was added; -ENOMEM if a part may have been added, or *numbers is NULL. */
int tree_merge(struct tree *into, const struct tree *from, uint32_t node, uint32_t **numbers);

/* Adds those stacks of `from` whose weight wants(arg, weight) wants; *numbers has their nodes, no
 * others. Otherwise as tree_merge(). */
int tree_merge_some(struct tree *into, const struct tree *from,
		    bool (*wants)(void *arg, uint64_t weight), void *arg, uint32_t **numbers);

/* Returns a node's frame; its pointers are borrowed from the tree. */
struct frame tree_frame_of(const struct tree *tree, uint32_t node);

/* A node, as tree_node_of() returns it. */
struct tree_node {
	uint32_t parent;
	uint32_t frame;		 /* the frame's number in this tree */
	uint64_t weight, events; /* of stacks that end at the node */
};
struct tree_node tree_node_of(const struct tree *tree, uint32_t node);

/* Return the number of distinct frames, and a frame by its number, from 0; its pointers are
 * borrowed from the tree. */
size_t tree_frames_count(const struct tree *tree);
struct frame tree_frame_at(const struct tree *tree, uint32_t frame);

/* Returns the node's parent; the root's parent is the root. */
uint32_t tree_parent(const struct tree *tree, uint32_t node);

/* Computes the weight of the node and all nodes below it. Returns 0, or -ENOMEM. */
int tree_weigh(const struct tree *tree, uint32_t node, uint64_t *weight);

/*
 * Computes the height of the subtree at `node` in frames, `node` included. Other nodes that weigh
 * less than `least`, and the nodes below them, are left out. Returns 0, or -ENOMEM.
 */
int tree_height(const struct tree *tree, uint32_t node, uint64_t least, uint32_t *height);

/*
 * A node during a walk. A walk visits parents before children, and siblings in the order of
 * frames_compare(), as every output wants them.
 */
struct tree_frame {
	uint32_t node;
	uint32_t depth; /* 0: the node where the walk began */
	struct frame frame;
	uint64_t self, total; /* weight of the node; of the node and all nodes below it */
	uint64_t lightest;    /* the least total of a child that has weight; UINT64_MAX: no child */
};

struct tree_visitor {
	/* Called on the way down. Returns false to skip what lies below this frame. */
	bool (*open)(void *arg, const struct tree_frame *frame);
	/* Called on the way up, for every frame that was opened; may be NULL. */
	void (*close)(void *arg, const struct tree_frame *frame);
};

/* Walks the subtree at `start` (TREE_ROOT: all). Returns 0, or -ENOMEM. */
int tree_walk(const struct tree *tree, uint32_t start, const struct tree_visitor *visitor,
	      void *arg);
