/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much a tree holds. */
#pragma once

#include "stack/tree.h"
#include "unit/lib/unit.h"

static inline uint64_t weight_of(const struct tree *tree)
{
	uint64_t weight;

	assert_int_equal(tree_weigh(tree, TREE_ROOT, &weight), 0);
	return weight;
}

static inline bool count_node(void *arg, const struct tree_frame *frame)
{
	size_t *count = arg;

	(void)frame;
	++*count;
	return true;
}

static inline void leave_node(void *arg, const struct tree_frame *frame)
{
	(void)arg;
	(void)frame;
}

/* With the root, and those without weight. */
static inline size_t node_count(const struct tree *tree)
{
	static const struct tree_visitor visitor = {count_node, leave_node};
	size_t count = 0;

	assert_int_equal(tree_walk(tree, TREE_ROOT, &visitor, &count), 0);
	return count;
}

/* tree_merge(), where nobody asks for the numbers. */
static inline int merge(struct tree *into, const struct tree *from, uint32_t node)
{
	_cleanup_free_ uint32_t *numbers = NULL;

	return tree_merge(into, from, node, &numbers);
}
