// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/range_tree.h"

#include <stdlib.h>

/* xorshift64* of S. Vigna */
static uint64_t next_rank(struct range_limit *limit)
{
	uint64_t x = limit->random | 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	limit->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static struct range_node *make_piece(struct range_limit *limit, uint64_t start, uint64_t end)
{
	struct range_node *piece = limit->count < limit->max ? calloc(1, sizeof(*piece)) : NULL;

	if (!piece) {
		limit->refused++;
		return NULL;
	}
	limit->count++;
	piece->start = start;
	piece->end = end;
	piece->rank = next_rank(limit);
	return piece;
}

static void free_piece(struct range_limit *limit, struct range_node *piece)
{
	if (piece->mapping && --piece->mapping->pieces == 0)
		free(piece->mapping);
	free(piece);
	limit->count--;
}

/* Splits a tree into the pieces that begin below `at`, and the others. */
static void split_tree(struct range_node *root, uint64_t at, struct range_node **low,
		       struct range_node **high)
{
	if (!root) {
		*low = *high = NULL;
	} else if (root->start < at) {
		*low = root;
		split_tree(root->right, at, &root->right, high);
	} else {
		*high = root;
		split_tree(root->left, at, low, &root->left);
	}
}

/* Joins two trees; all of `low` lies below all of `high`. */
static struct range_node *join_trees(struct range_node *low, struct range_node *high)
{
	if (!low || !high)
		return low ? low : high;
	if (low->rank > high->rank) {
		low->right = join_trees(low->right, high);
		return low;
	}
	high->left = join_trees(low, high->left);
	return high;
}

static void insert_piece(struct range_node **root, struct range_node *piece)
{
	struct range_node *low, *high;

	split_tree(*root, piece->start, &low, &high);
	*root = join_trees(join_trees(low, piece), high);
}

static struct range_node *find_piece(struct range_node *root, uint64_t address)
{
	while (root && (address < root->start || address >= root->end))
		root = address < root->start ? root->left : root->right;
	return root;
}

/* Returns the piece that begins below `at`, reaches beyond it and is old enough to be cut. */
static struct range_node *reaches_over(struct range_node *root, uint64_t at, uint64_t before_ns)
{
	struct range_node *piece = find_piece(root, at);

	return piece && piece->start < at && piece->mapping->time_ns < before_ns ? piece : NULL;
}

/* Cuts pieces at the borders, so that those to be removed begin and end within [start, end). */
static void trim_pieces(struct range_node **root, struct range_limit *limit, uint64_t start,
			uint64_t end, uint64_t before_ns)
{
	struct range_node *piece = reaches_over(*root, end, before_ns), *behind;

	if (piece && piece->start >= start) {
		piece->start = end;
	} else if (piece) {
		behind = make_piece(limit, end, piece->end);
		piece->end = start;
		if (!behind)
			return;
		behind->mapping = piece->mapping;
		behind->mapping->pieces++;
		insert_piece(root, behind);
	}
	piece = reaches_over(*root, start, before_ns);
	if (piece)
		piece->end = start;
}

/* Removes the pieces older than `before_ns`; returns what is left of the tree. */
static struct range_node *remove_older(struct range_node *root, struct range_limit *limit,
				       uint64_t before_ns)
{
	if (!root)
		return NULL;
	root->left = remove_older(root->left, limit, before_ns);
	root->right = remove_older(root->right, limit, before_ns);
	if (root->mapping->time_ns >= before_ns)
		return root;
	struct range_node *left = join_trees(root->left, root->right);
	free_piece(limit, root);
	return left;
}

void range_tree_take(struct range_node **root, struct range_limit *limit, uint64_t start,
		     uint64_t end, uint64_t before_ns)
{
	struct range_node *low, *middle, *high;

	if (start >= end)
		return;
	trim_pieces(root, limit, start, end, before_ns);
	split_tree(*root, start, &low, &middle);
	split_tree(middle, end, &middle, &high);
	*root = join_trees(join_trees(low, remove_older(middle, limit, before_ns)), high);
}

bool range_tree_add(struct range_node **root, struct range_limit *limit, uint64_t start,
		    uint64_t end, const struct held_mapping *mapping)
{
	struct range_node *piece = make_piece(limit, start, end);

	if (!piece)
		return false;
	piece->mapping = malloc(sizeof(*mapping));
	if (!piece->mapping) {
		free_piece(limit, piece);
		limit->refused++;
		return false;
	}
	*piece->mapping = *mapping;
	piece->mapping->pieces = 1;
	insert_piece(root, piece);
	return true;
}

void range_tree_each(struct range_node *root, void (*each)(void *arg, struct range_node *piece),
		     void *arg)
{
	if (!root)
		return;
	range_tree_each(root->left, each, arg);
	each(arg, root);
	range_tree_each(root->right, each, arg);
}
