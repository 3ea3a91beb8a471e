// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/array_index.h"
#include "base/grow.h"

struct node {
	uint32_t parent; /* always smaller than the node's own number */
	uint32_t frame;
	uint64_t self;
	uint64_t type : 8, events : 56;
};

#define EVENTS_MAX   ((UINT64_C(1) << 56) - 1)
#define FEW_SIBLINGS 8
#define PLACES_PART  16 /* places are dropped past this part of max_nodes */

/* The key of a node among all nodes: the first members of struct node. */
struct child_key {
	uint32_t parent, frame;
};

struct tree {
	struct node *nodes;
	size_t count, capacity, max_nodes;
	struct frames *frames;
	struct array_index children; /* the index of all nodes but the root */
};

int tree_new(struct tree **ret, size_t max_nodes, size_t max_name_bytes)
{
	_cleanup_tree_ struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return -ENOMEM;
	tree->max_nodes = max_nodes;
	tree->capacity = 64;
	tree->nodes = calloc(tree->capacity, sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;
	if (frames_new(&tree->frames, max_nodes, max_name_bytes) < 0 ||
	    frames_add(tree->frames, &(struct frame){.type = FRAME_TYPE_ROOT, .name = ""}) < 0)
		return -ENOMEM;
	array_index_init(&tree->children, sizeof(*tree->nodes), sizeof(struct child_key));
	tree->nodes[TREE_ROOT].type = FRAME_TYPE_ROOT;
	tree->count = 1;
	*ret = TAKE_PTR(tree);
	return 0;
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	free(tree->nodes);
	frames_free(tree->frames);
	array_index_done(&tree->children);
	free(tree);
}

void tree_drop_places(struct tree *tree)
{
	frames_drop_places(tree->frames);
}

bool tree_has_owners(const struct tree *tree)
{
	return frames_have_owners(tree->frames);
}

size_t tree_count(const struct tree *tree)
{
	return tree->count;
}

static int reserve_node(struct tree *tree)
{
	if (tree->count >= tree->max_nodes)
		return -ENOSPC;
	return array_grow(tree->nodes, tree->capacity, tree->count + 1, 64);
}

int tree_reserve(struct tree *tree, size_t more)
{
	if (more > tree->max_nodes - tree->count)
		more = tree->max_nodes - tree->count;
	int r = array_index_reserve(&tree->children, tree->nodes, more);
	return r < 0 ? r : array_grow(tree->nodes, tree->capacity, tree->count + more, 64);
}

int64_t tree_frame(struct tree *tree, const struct frame *frame)
{
	if (tree->count > tree->max_nodes / PLACES_PART)
		frames_drop_places(tree->frames);
	return frames_add(tree->frames, frame);
}

int64_t tree_child_of(struct tree *tree, uint32_t parent, uint32_t frame)
{
	struct child_key key = {parent, frame};
	/* The newest node has no children yet: their numbers would be larger. */
	bool childless = parent + 1 == tree->count;
	int64_t node = childless ? -ENOENT : array_index_find(&tree->children, tree->nodes, &key);

	if (node >= 0)
		return node;
	int r = reserve_node(tree);
	if (r == 0)
		r = array_index_reserve(&tree->children, tree->nodes, 1);
	if (r < 0)
		return r;
	node = (int64_t)tree->count++;
	tree->nodes[node] = (struct node){.frame = frame,
					  .parent = parent,
					  .type = (uint8_t)frames_type(tree->frames, frame)};
	array_index_add(&tree->children, tree->nodes, (uint32_t)node);
	return node;
}

int64_t tree_child_with(struct tree *tree, uint32_t parent, const struct frame *frame)
{
	int64_t number = tree_frame(tree, frame);

	return number < 0 ? number : tree_child_of(tree, parent, (uint32_t)number);
}

int64_t tree_child(struct tree *tree, uint32_t parent, enum frame_type type, const char *name,
		   size_t len)
{
	struct frame frame = {.type = type, .name = name, .name_len = len};

	return tree_child_with(tree, parent, &frame);
}

int64_t tree_marker(struct tree *tree, int64_t node, const char *name)
{
	return node < 0 ? node
			: tree_child(tree, (uint32_t)node, FRAME_TYPE_MARKER, name, strlen(name));
}

void tree_add(struct tree *tree, uint32_t node, uint64_t weight)
{
	tree->nodes[node].self += weight;
}

void tree_add_events(struct tree *tree, uint32_t node, uint64_t events)
{
	uint64_t room = EVENTS_MAX - tree->nodes[node].events;

	tree->nodes[node].events += events < room ? events : room;
}

void tree_show_events(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		tree->nodes[i].self = tree->nodes[i].events;
}

uint64_t *tree_sum_events(const struct tree *tree)
{
	uint64_t *sums = calloc(tree->count, sizeof(*sums));

	if (!sums)
		return NULL;
	for (size_t i = 0; i < tree->count; i++)
		sums[i] = tree->nodes[i].events;
	for (size_t i = tree->count - 1; i > 0; i--)
		sums[tree->nodes[i].parent] += sums[i];
	return sums;
}

/* Adds both values, weight and events. */
static void add_both(struct tree *into, uint32_t to, const struct node *from)
{
	tree_add(into, to, from->self);
	tree_add_events(into, to, from->events);
}

/* The part of a node that is copied. */
enum copied_part { PART_NONE, PART_FRAME, PART_WEIGHT };

/* Returns the number in `into` of a frame of `from`. known[]: numbers found before, plus one. */
static int64_t same_frame(struct tree *into, const struct tree *from, uint32_t number,
			  uint32_t *known)
{
	if (!known[number]) {
		struct frame frame = frames_get(from->frames, number);
		int64_t added = tree_frame(into, &frame);

		if (added < 0)
			return added;
		known[number] = (uint32_t)added + 1;
	}
	return known[number] - 1;
}

/* Copies what `parts` says of each node. */
static int merge_nodes(struct tree *into, const struct tree *from, const uint8_t *parts,
		       uint32_t *same)
{
	_cleanup_free_ uint32_t *known = calloc(frames_count(from->frames), sizeof(*known));

	if (!known)
		return -ENOMEM;
	if (parts[TREE_ROOT] == PART_WEIGHT)
		add_both(into, TREE_ROOT, &from->nodes[TREE_ROOT]);
	for (uint32_t i = 1; i < from->count; i++) {
		const struct node *node = &from->nodes[i];

		if (parts[i] == PART_NONE)
			continue;
		int64_t id = same_frame(into, from, node->frame, known);
		if (id >= 0)
			id = tree_child_of(into, same[node->parent], (uint32_t)id);
		if (id < 0)
			return (int)id;
		same[i] = (uint32_t)id;
		if (parts[i] == PART_WEIGHT)
			add_both(into, same[i], node);
	}
	return 0;
}

int tree_merge(struct tree *into, const struct tree *from, uint32_t start, uint32_t **numbers)
{
	_cleanup_free_ uint8_t *parts = calloc(from->count, sizeof(*parts));

	*numbers = calloc(from->count, sizeof(**numbers));
	if (!parts || !*numbers)
		return -ENOMEM;
	if (start == TREE_ROOT && tree_reserve(into, from->count) < 0)
		return -ENOMEM;
	for (uint32_t i = start; i != TREE_ROOT; i = from->nodes[i].parent)
		parts[i] = PART_FRAME;
	parts[start] = PART_WEIGHT;
	for (uint32_t i = start + 1; i < from->count; i++) {
		if (parts[from->nodes[i].parent] == PART_WEIGHT)
			parts[i] = PART_WEIGHT;
	}
	return merge_nodes(into, from, parts, *numbers);
}

int tree_merge_some(struct tree *into, const struct tree *from,
		    bool (*wants)(void *arg, uint64_t weight), void *arg, uint32_t **numbers)
{
	_cleanup_free_ uint8_t *parts = calloc(from->count, sizeof(*parts));

	*numbers = calloc(from->count, sizeof(**numbers));
	if (!parts || !*numbers)
		return -ENOMEM;
	for (uint32_t i = (uint32_t)from->count; i-- > 0;) {
		if (from->nodes[i].self && wants(arg, from->nodes[i].self))
			parts[i] = PART_WEIGHT;
		if (parts[i] && !parts[from->nodes[i].parent])
			parts[from->nodes[i].parent] = PART_FRAME;
	}
	int r = merge_nodes(into, from, parts, *numbers);
	for (size_t i = 0; i < from->count; i++) {
		if (parts[i] != PART_WEIGHT)
			(*numbers)[i] = TREE_ROOT;
	}
	return r;
}

struct frame tree_frame_of(const struct tree *tree, uint32_t node)
{
	return frames_get(tree->frames, tree->nodes[node].frame);
}

struct tree_node tree_node_of(const struct tree *tree, uint32_t node)
{
	const struct node *from = &tree->nodes[node];

	return (struct tree_node){from->parent, from->frame, from->self, from->events};
}

size_t tree_frames_count(const struct tree *tree)
{
	return frames_count(tree->frames);
}

struct frame tree_frame_at(const struct tree *tree, uint32_t frame)
{
	return frames_get(tree->frames, frame);
}

uint32_t tree_parent(const struct tree *tree, uint32_t node)
{
	return tree->nodes[node].parent;
}

/* Returns the totals of all nodes, each with all nodes below it; NULL: no memory. A parent's number
 * is smaller than its children's. */
static uint64_t *sum_totals(const struct tree *tree)
{
	uint64_t *totals = calloc(tree->count, sizeof(*totals));

	if (!totals)
		return NULL;
	for (size_t i = 0; i < tree->count; i++)
		totals[i] = tree->nodes[i].self;
	for (size_t i = tree->count - 1; i > 0; i--)
		totals[tree->nodes[i].parent] += totals[i];
	return totals;
}

int tree_weigh(const struct tree *tree, uint32_t node, uint64_t *weight)
{
	_cleanup_free_ uint64_t *totals = sum_totals(tree);

	if (!totals)
		return -ENOMEM;
	*weight = totals[node];
	return 0;
}

int tree_height(const struct tree *tree, uint32_t node, uint64_t least, uint32_t *height)
{
	_cleanup_free_ uint64_t *totals = sum_totals(tree);
	_cleanup_free_ uint32_t *depths = calloc(tree->count, sizeof(*depths));
	uint32_t highest = 1;

	if (!totals || !depths)
		return -ENOMEM;
	depths[node] = 1; /* 0: not seen */
	for (size_t i = (size_t)node + 1; i < tree->count; i++) {
		uint32_t below = depths[tree->nodes[i].parent];

		if (!below || totals[i] < least)
			continue;
		depths[i] = below + 1;
		if (depths[i] > highest)
			highest = depths[i];
	}
	*height = highest;
	return 0;
}

/* Data for a walk: every node's children side by side and in order, and the totals. */
struct order {
	uint32_t *children; /* node numbers, grouped by parent */
	uint32_t *first;    /* where a node's group begins; has one entry more than nodes */
	uint64_t *totals;
};

static void order_done(struct order *order)
{
	free(order->children);
	free(order->first);
	free(order->totals);
}

static int compare_siblings(const void *a, const void *b, void *arg)
{
	const struct tree *tree = arg;
	struct frame left = tree_frame_of(tree, *(const uint32_t *)a);
	struct frame right = tree_frame_of(tree, *(const uint32_t *)b);

	return frames_compare(&left, &right);
}

/* Sorts few siblings without qsort_r(), which calls free() each time: while our own mem_glibc
 * probes it, that takes longer than the rest. */
static void sort_siblings(const struct tree *tree, uint32_t *siblings, size_t count)
{
	if (count > FEW_SIBLINGS) {
		qsort_r(siblings, count, sizeof(*siblings), compare_siblings, (void *)tree);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		uint32_t node = siblings[i];
		size_t at = i;

		for (; at && compare_siblings(&siblings[at - 1], &node, (void *)tree) > 0; at--)
			siblings[at] = siblings[at - 1];
		siblings[at] = node;
	}
}

static int order_init(struct order *order, const struct tree *tree)
{
	order->children = calloc(tree->count, sizeof(*order->children));
	order->first = calloc(tree->count + 2, sizeof(*order->first));
	order->totals = sum_totals(tree);
	if (!order->children || !order->first || !order->totals)
		return -ENOMEM;
	/* A counting sort by parent: after the second loop first[p + 1] is where p's group ends. */
	for (size_t i = 1; i < tree->count; i++)
		order->first[tree->nodes[i].parent + 2]++;
	for (size_t i = 2; i < tree->count + 2; i++)
		order->first[i] += order->first[i - 1];
	for (uint32_t i = 1; i < tree->count; i++)
		order->children[order->first[tree->nodes[i].parent + 1]++] = i;
	for (size_t i = 0; i < tree->count; i++) {
		uint32_t begin = order->first[i], end = order->first[i + 1];

		sort_siblings(tree, order->children + begin, end - begin);
	}
	return 0;
}

static uint64_t lightest_child(const struct order *order, uint32_t node)
{
	uint64_t lightest = UINT64_MAX;

	for (uint32_t i = order->first[node]; i < order->first[node + 1]; i++) {
		uint64_t total = order->totals[order->children[i]];

		if (total && total < lightest)
			lightest = total;
	}
	return lightest;
}

static struct tree_frame frame_of(const struct tree *tree, const struct order *order, uint32_t node,
				  uint32_t depth)
{
	return (struct tree_frame){
		.node = node,
		.depth = depth,
		.frame = tree_frame_of(tree, node),
		.self = tree->nodes[node].self,
		.total = order->totals[node],
		.lightest = lightest_child(order, node),
	};
}

/* The way from the start to the frame that is open now. */
struct tree_path {
	struct step {
		struct tree_frame frame;
		uint32_t next, end; /* its children that haven't been visited yet */
	} * steps;
	size_t depth, capacity;
};

static void path_done(struct tree_path *path)
{
	free(path->steps);
}

static int path_open(struct tree_path *path, const struct tree *tree, const struct order *order,
		     uint32_t node, const struct tree_visitor *visitor, void *arg)
{
	if (array_grow(path->steps, path->capacity, path->depth + 1, 64) < 0)
		return -ENOMEM;
	struct step *step = &path->steps[path->depth];
	step->frame = frame_of(tree, order, node, (uint32_t)path->depth);
	step->next = order->first[node];
	step->end = visitor->open(arg, &step->frame) ? order->first[node + 1] : step->next;
	path->depth++;
	return 0;
}

int tree_walk(const struct tree *tree, uint32_t start, const struct tree_visitor *visitor,
	      void *arg)
{
	_cleanup_(order_done) struct order order = {0};
	_cleanup_(path_done) struct tree_path path = {0};
	int r = order_init(&order, tree);

	if (r == 0)
		r = path_open(&path, tree, &order, start, visitor, arg);
	while (r == 0 && path.depth > 0) {
		struct step *step = &path.steps[path.depth - 1];

		if (step->next < step->end) {
			r = path_open(&path, tree, &order, order.children[step->next++], visitor,
				      arg);
		} else {
			if (visitor->close)
				visitor->close(arg, &step->frame);
			path.depth--;
		}
	}
	return r;
}
