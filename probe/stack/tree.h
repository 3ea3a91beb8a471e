/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A call tree: frames and the weights of the stacks that end at them. The one shape between
 * symbolized stacks and every output.
 *
 * A node is known by its number; node 0 is the root and has no frame. A frame is a name and a kind,
 * and for some the file and the line; where one of these differs it is another node. The tree owns
 * its names. Bounded in nodes and in bytes of names. Not safe for two threads at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/frames.h"

struct tree;

/* -ENOMEM */
int tree_new(struct tree **ret, size_t max_nodes, size_t max_name_bytes);
void tree_free(struct tree *tree);
static inline void tree_freep(struct tree **tree)
{
	tree_free(*tree);
}
#define _cleanup_tree_ _cleanup_(tree_freep)

#define TREE_ROOT      0u

/* From now on frames are told apart by name, kind, file and line alone, not by their place. A tree
 * does so by itself when it has a sixteenth of the nodes that it may have: functions come to an
 * end, but the more samples, the more places. */
void tree_drop_places(struct tree *tree);

/* Nodes, the root included: their numbers are below. */
size_t tree_count(const struct tree *tree);

/* It has processes in containers, or several with one pid: their frames are to be sorted
 * (profile/by_container.h) before they are shown. */
bool tree_has_owners(const struct tree *tree);

/* The child of `parent` with that frame, made when missing. -ENOSPC at a bound, -ENOMEM. */
int64_t tree_child(struct tree *tree, uint32_t parent, enum frame_type type, const char *name,
		   size_t len);
int64_t tree_child_with(struct tree *tree, uint32_t parent, const struct frame *frame);

/* The same in two steps, for frames that come often: the frame's number in this tree, and the child
 * with the frame of that number. */
int64_t tree_frame(struct tree *tree, const struct frame *frame);
int64_t tree_child_of(struct tree *tree, uint32_t parent, uint32_t frame);

/* Weight of stacks that end at the node. */
void tree_add(struct tree *tree, uint32_t node, uint64_t weight);

/* A second value beside the weight: events that end there, 2^56 - 1 at most. */
void tree_add_events(struct tree *tree, uint32_t node, uint64_t events);

/* The events take the place of the weights. */
void tree_show_events(struct tree *tree);

/* Adds `node` of `from` (TREE_ROOT: all of it), with all below it and with the frames that lead to
 * it, into `into`. (*numbers)[n]: the number in `into` of what was node n in `from`; TREE_ROOT: it
 * was not added, or is the root. The caller's to free. -ENOSPC: a part was added; -ENOMEM: so it
 * may be, or *numbers is NULL. */
int tree_merge(struct tree *into, const struct tree *from, uint32_t node, uint32_t **numbers);

/* Its texts are borrowed. */
struct frame tree_frame_of(const struct tree *tree, uint32_t node);

/* A node as it is kept. */
struct tree_node {
	uint32_t parent;
	uint32_t frame;		 /* the number of its frame in this tree */
	uint64_t weight, events; /* of stacks that end there */
};
struct tree_node tree_node_of(const struct tree *tree, uint32_t node);

/* Distinct frames; their numbers are below. The texts are borrowed. */
size_t tree_frames_count(const struct tree *tree);
struct frame tree_frame_at(const struct tree *tree, uint32_t frame);

/* The node above; the root's is the root. */
uint32_t tree_parent(const struct tree *tree, uint32_t node);

/* Weight of the node and all below it. -ENOMEM. */
int tree_weigh(const struct tree *tree, uint32_t node, uint64_t *weight);

/*
 * How many frames lie one above the other at most, the node being the first, when those that weigh
 * less than `least`, and what lies on them, are left out (the node is not). -ENOMEM.
 */
int tree_height(const struct tree *tree, uint32_t node, uint64_t least, uint32_t *height);

/*
 * Frames in order, as every output wants them: parents before children, siblings as
 * frames_compare() has them. `total` is the node's own and all below it.
 */
struct tree_frame {
	uint32_t node;
	uint32_t depth; /* 0 = the node where the walk began */
	struct frame frame;
	uint64_t self, total;
};

struct tree_visitor {
	/* Called on the way down. Returns false to skip what lies below this frame. */
	bool (*open)(void *arg, const struct tree_frame *frame);
	/* Called on the way up, for every frame that was opened; may be NULL. */
	void (*close)(void *arg, const struct tree_frame *frame);
};

/* Walks from `start` (TREE_ROOT: all). -ENOMEM. */
int tree_walk(const struct tree *tree, uint32_t start, const struct tree_visitor *visitor,
	      void *arg);
