// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/by_container.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/container.h"

struct sorting {
	struct tree *into;
	const struct tree *from;
	uint32_t *nodes;  /* number in `into` of each node of `from` */
	uint32_t *frames; /* the same of each frame, plus 1; 0: not asked for yet */
};

static int64_t child_node(struct tree *into, int64_t parent, enum frame_type type,
			  const char *prefix, const char *label)
{
	char name[CONTAINER_NAME_MAX + sizeof(POD_PREFIX)];
	int len = snprintf(name, sizeof(name), "%s%s", prefix, label);

	return parent < 0 ? parent : tree_child(into, (uint32_t)parent, type, name, (size_t)len);
}

/* Returns the frame that the container's processes stand on. */
static int64_t container_node(struct tree *into, const struct container *container)
{
	char text[CONTAINER_NAME_MAX];
	const char *pod = container_pod_label(container, text, sizeof(text));
	int64_t node = TREE_ROOT;

	if (pod)
		node = child_node(into, node, FRAME_TYPE_POD, POD_PREFIX, pod);
	return child_node(into, node, FRAME_TYPE_CONTAINER, CONTAINER_PREFIX,
			  container_label(container, text, sizeof(text)));
}

/* Nodes with one text on one frame become one. */
static int64_t process_node(struct tree *into, struct frame frame)
{
	struct owner owner = *frame.owner;
	int64_t parent = owner.container ? container_node(into, owner.container) : TREE_ROOT;

	if (parent < 0)
		return parent;
	owner.which = (uint64_t)parent;
	frame.owner = &owner;
	return tree_child_with(into, (uint32_t)parent, &frame);
}

static int64_t other_node(const struct sorting *sorting, const struct tree_node *node,
			  const struct frame *frame)
{
	uint32_t *known = &sorting->frames[node->frame];

	if (!*known) {
		int64_t number = tree_frame(sorting->into, frame);

		if (number < 0)
			return number;
		*known = (uint32_t)number + 1;
	}
	return tree_child_of(sorting->into, sorting->nodes[node->parent], *known - 1);
}

static int sort_nodes(const struct sorting *sorting)
{
	uint32_t count = (uint32_t)tree_count(sorting->from);

	for (uint32_t i = TREE_ROOT; i < count; i++) {
		struct tree_node node = tree_node_of(sorting->from, i);
		struct frame frame = tree_frame_at(sorting->from, node.frame);
		int64_t to = TREE_ROOT;

		if (frame.type == FRAME_TYPE_PROCESS && frame.owner)
			to = process_node(sorting->into, frame);
		else if (i != TREE_ROOT)
			to = other_node(sorting, &node, &frame);
		if (to < 0)
			return (int)to;
		sorting->nodes[i] = (uint32_t)to;
		tree_add(sorting->into, (uint32_t)to, node.weight);
		tree_add_events(sorting->into, (uint32_t)to, node.events);
	}
	return 0;
}

int profile_by_container(struct profile **ret, const struct profile *from, bool places)
{
	_cleanup_profile_ struct profile *made = NULL;
	_cleanup_free_ uint32_t *nodes = calloc(tree_count(from->tree), sizeof(*nodes));
	_cleanup_free_ uint32_t *frames = calloc(tree_frames_count(from->tree), sizeof(*frames));
	int r = nodes && frames ? profile_new_like(&made, from, places) : -ENOMEM;

	if (r < 0)
		return r;
	struct sorting sorting = {made->tree, from->tree, nodes, frames};
	made->by_container = true;
	r = sort_nodes(&sorting);
	if (r == 0)
		r = records_merge(made->records, from->records, nodes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(made);
	return 0;
}
