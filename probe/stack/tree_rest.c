// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/tree_rest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

struct rest_copy {
	const struct tree *from;
	size_t count;
	uint64_t *totals, *events; /* of each node with all nodes below it */
	uint64_t least;		   /* lighter subtrees are put together */
	uint32_t *numbers;	   /* of a node's copy; of a node that isn't copied: its [rest] */
};

/* Sums totals; a parent's number is smaller than its children's. */
static void sum_both(const struct rest_copy *copy)
{
	for (uint32_t i = 0; i < copy->count; i++) {
		struct tree_node node = tree_node_of(copy->from, i);

		copy->totals[i] = node.weight;
		copy->events[i] = node.events;
	}
	for (size_t i = copy->count - 1; i > 0; i--) {
		uint32_t parent = tree_parent(copy->from, (uint32_t)i);

		copy->totals[parent] += copy->totals[i];
		copy->events[parent] += copy->events[i];
	}
}

static bool is_kept(const struct rest_copy *copy, uint32_t node)
{
	return node == TREE_ROOT || copy->totals[node] >= copy->least;
}

/* Returns the nodes that a copy would have. `numbers` is used for marks. */
static size_t count_copied(const struct rest_copy *copy)
{
	size_t count = 1;

	for (size_t i = 0; i < copy->count; i++)
		copy->numbers[i] = 0;
	for (uint32_t i = 1; i < copy->count; i++) {
		uint32_t parent = tree_parent(copy->from, i);

		if (is_kept(copy, i)) {
			count++;
		} else if (is_kept(copy, parent) && !copy->numbers[parent]) {
			copy->numbers[parent] = 1;
			count++;
		}
	}
	return count;
}

static int copy_nodes(const struct rest_copy *copy, struct tree *into)
{
	for (uint32_t i = 1; i < copy->count; i++) {
		struct tree_node node = tree_node_of(copy->from, i);
		struct frame frame = tree_frame_at(copy->from, node.frame);
		bool kept = is_kept(copy, i);
		int64_t to;

		if (!kept && !is_kept(copy, node.parent))
			continue; /* its weight is in that of the node below which it lies */
		to = kept ? tree_child_with(into, copy->numbers[node.parent], &frame)
			  : tree_marker(into, copy->numbers[node.parent], FRAME_REST);
		if (to < 0)
			return (int)to;
		copy->numbers[i] = (uint32_t)to;
		tree_add(into, (uint32_t)to, kept ? node.weight : copy->totals[i]);
		tree_add_events(into, (uint32_t)to, kept ? node.events : copy->events[i]);
	}
	return 0;
}

int tree_within(struct tree **ret, const struct tree *from, size_t max_nodes, size_t max_name_bytes)
{
	size_t count = tree_count(from);
	_cleanup_free_ uint64_t *totals = calloc(count, sizeof(*totals));
	_cleanup_free_ uint64_t *events = calloc(count, sizeof(*events));
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));
	_cleanup_tree_ struct tree *into = NULL;
	struct rest_copy copy = {from, count, totals, events, 1, numbers};
	struct tree_node root = tree_node_of(from, TREE_ROOT);

	if (!totals || !events || !numbers)
		return -ENOMEM;
	sum_both(&copy);
	while (count_copied(&copy) > max_nodes) {
		if (copy.least > totals[TREE_ROOT])
			return -ENOSPC;
		copy.least = copy.least > UINT64_MAX / 2 ? UINT64_MAX : copy.least * 2;
	}
	/* A tree keeps files with code while it has less than a sixteenth of its bound. */
	int r = tree_new(&into, 16 * count + 16, max_name_bytes);
	if (r < 0)
		return r;
	numbers[TREE_ROOT] = TREE_ROOT;
	tree_add(into, TREE_ROOT, root.weight);
	tree_add_events(into, TREE_ROOT, root.events);
	r = copy_nodes(&copy, into);
	if (r == 0)
		*ret = TAKE_PTR(into);
	return r;
}
