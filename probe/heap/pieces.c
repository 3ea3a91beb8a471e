// SPDX-License-Identifier: GPL-2.0-only
#include "heap/pieces.h"

#include <stdlib.h>

/* xorshift64* of S. Vigna */
static uint64_t next_rank(struct pieces_limit *limit)
{
	uint64_t x = limit->random | 1;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	limit->random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static struct piece *make(struct pieces_limit *limit, uint64_t start, uint64_t end)
{
	struct piece *piece = limit->count < limit->max ? calloc(1, sizeof(*piece)) : NULL;

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

static void unmake(struct pieces_limit *limit, struct piece *piece)
{
	if (piece->mapping && --piece->mapping->pieces == 0)
		free(piece->mapping);
	free(piece);
	limit->count--;
}

/* Those that begin below `at`, and the others. */
static void split(struct piece *root, uint64_t at, struct piece **low, struct piece **high)
{
	if (!root) {
		*low = *high = NULL;
	} else if (root->start < at) {
		*low = root;
		split(root->right, at, &root->right, high);
	} else {
		*high = root;
		split(root->left, at, low, &root->left);
	}
}

/* All of `low` lies below all of `high`. */
static struct piece *join(struct piece *low, struct piece *high)
{
	if (!low || !high)
		return low ? low : high;
	if (low->rank > high->rank) {
		low->right = join(low->right, high);
		return low;
	}
	high->left = join(low, high->left);
	return high;
}

static void insert(struct piece **root, struct piece *piece)
{
	struct piece *low, *high;

	split(*root, piece->start, &low, &high);
	*root = join(join(low, piece), high);
}

static struct piece *find(struct piece *root, uint64_t address)
{
	while (root && (address < root->start || address >= root->end))
		root = address < root->start ? root->left : root->right;
	return root;
}

/* The piece that reaches over `at` from below it, if it is to be taken from. */
static struct piece *reaches_over(struct piece *root, uint64_t at, uint64_t before_ns)
{
	struct piece *piece = find(root, at);

	return piece && piece->start < at && piece->mapping->time_ns < before_ns ? piece : NULL;
}

/* After that, who begins in [start, end) and is to be taken from lies in there. */
static void trim(struct piece **root, struct pieces_limit *limit, uint64_t start, uint64_t end,
		 uint64_t before_ns)
{
	struct piece *piece = reaches_over(*root, end, before_ns), *behind;

	if (piece && piece->start >= start) {
		piece->start = end;
	} else if (piece) {
		behind = make(limit, end, piece->end);
		piece->end = start;
		if (!behind)
			return;
		behind->mapping = piece->mapping;
		behind->mapping->pieces++;
		insert(root, behind);
	}
	piece = reaches_over(*root, start, before_ns);
	if (piece)
		piece->end = start;
}

/* What is left of a tree without those that came before. */
static struct piece *remove_older(struct piece *root, struct pieces_limit *limit,
				  uint64_t before_ns)
{
	if (!root)
		return NULL;
	root->left = remove_older(root->left, limit, before_ns);
	root->right = remove_older(root->right, limit, before_ns);
	if (root->mapping->time_ns >= before_ns)
		return root;
	struct piece *left = join(root->left, root->right);
	unmake(limit, root);
	return left;
}

void pieces_take(struct piece **root, struct pieces_limit *limit, uint64_t start, uint64_t end,
		 uint64_t before_ns)
{
	struct piece *low, *middle, *high;

	if (start >= end)
		return;
	trim(root, limit, start, end, before_ns);
	split(*root, start, &low, &middle);
	split(middle, end, &middle, &high);
	*root = join(join(low, remove_older(middle, limit, before_ns)), high);
}

bool pieces_add(struct piece **root, struct pieces_limit *limit, uint64_t start, uint64_t end,
		const struct mapping *mapping)
{
	struct piece *piece = make(limit, start, end);

	if (!piece)
		return false;
	piece->mapping = malloc(sizeof(*mapping));
	if (!piece->mapping) {
		unmake(limit, piece);
		limit->refused++;
		return false;
	}
	*piece->mapping = *mapping;
	piece->mapping->pieces = 1;
	insert(root, piece);
	return true;
}

void pieces_each(struct piece *root, void (*each)(void *arg, struct piece *piece), void *arg)
{
	if (!root)
		return;
	pieces_each(root->left, each, arg);
	each(arg, root);
	pieces_each(root->right, each, arg);
}
