// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/mmap_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "heap/range_tree.h"

struct mmap_ranges {
	struct map *processes; /* tgid (uint32_t) -> its tree (struct range_node *) */
	struct range_limit limit;
};

int mmap_ranges_new(struct mmap_ranges **ret, size_t max)
{
	struct mmap_ranges *mapped = calloc(1, sizeof(*mapped));

	if (!mapped)
		return -ENOMEM;
	mapped->limit = (struct range_limit){.max = max, .random = hash_seed()};
	int r = map_new(&mapped->processes, sizeof(uint32_t), sizeof(struct range_node *), max);
	if (r < 0) {
		free(mapped);
		return r;
	}
	*ret = mapped;
	return 0;
}

void mmap_ranges_free(struct mmap_ranges *mapped)
{
	if (!mapped)
		return;
	mmap_ranges_clear(mapped);
	map_free(mapped->processes);
	free(mapped);
}

/* Removes a range from a process's tree. A process without ranges has no entry. */
static void take_range(struct mmap_ranges *mapped, uint32_t tgid, uint64_t start, uint64_t end,
		       uint64_t before_ns)
{
	struct range_node **root = map_get(mapped->processes, &tgid);

	if (!root)
		return;
	range_tree_take(root, &mapped->limit, start, end, before_ns);
	if (!*root)
		map_del(mapped->processes, &tgid);
}

static void add_range(struct mmap_ranges *mapped, const struct mapped_event *event)
{
	struct held_mapping mapping = {
		.stack = event->stack,
		.time_ns = event->time_ns,
		.tid = event->tid,
	};
	uint32_t tgid = event->stack.tgid;
	struct range_node **root;

	if (map_put(mapped->processes, &tgid, (void **)&root) < 0) {
		mapped->limit.refused++;
		return;
	}
	if (!range_tree_add(root, &mapped->limit, event->start, event->end, &mapping) && !*root)
		map_del(mapped->processes, &tgid);
}

void mmap_ranges_on_event(struct mmap_ranges *mapped, const struct mapped_event *event)
{
	if (event->start >= event->end)
		return;
	take_range(mapped, event->stack.tgid, event->start, event->end,
		   event->kind == MAPPED_GONE ? event->time_ns : UINT64_MAX);
	if (event->kind == MAPPED_CAME)
		add_range(mapped, event);
}

void mmap_ranges_cut(struct mmap_ranges *mapped, uint32_t tgid, uint64_t time_ns)
{
	take_range(mapped, tgid, 0, UINT64_MAX, time_ns);
}

void mmap_ranges_keep(struct mmap_ranges *mapped, bool (*keeps)(void *arg, uint32_t tgid),
		      void *arg, uint64_t time_ns)
{
	_cleanup_free_ uint32_t *others = calloc(map_count(mapped->processes) + 1, sizeof(*others));
	const uint32_t *tgid;
	struct range_node **root;
	size_t count = 0;

	if (!others)
		return;
	map_each (mapped->processes, pos, tgid, root) {
		if (!keeps(arg, *tgid))
			others[count++] = *tgid;
	}
	for (size_t i = 0; i < count; i++)
		mmap_ranges_cut(mapped, others[i], time_ns);
}

void mmap_ranges_clear(struct mmap_ranges *mapped)
{
	const uint32_t *tgid;
	struct range_node **root;

	map_each (mapped->processes, pos, tgid, root)
		range_tree_take(root, &mapped->limit, 0, UINT64_MAX, UINT64_MAX);
	map_clear(mapped->processes);
}

struct range_listing {
	struct live_alloc *holdings;
	size_t count;
};

static void not_seen(void *arg, struct range_node *piece)
{
	(void)arg;
	piece->mapping->seen = false;
}

static void list_range(void *arg, struct range_node *piece)
{
	struct range_listing *listing = arg;
	struct held_mapping *mapping = piece->mapping;

	listing->holdings[listing->count++] = (struct live_alloc){
		.stack = mapping->stack,
		.tid = mapping->tid,
		.bytes = piece->end - piece->start,
		.objects = !mapping->seen,
		.time_ns = mapping->time_ns,
	};
	mapping->seen = true;
}

int64_t mmap_ranges_list(const struct mmap_ranges *mapped, struct live_alloc **ret)
{
	struct range_listing listing = {
		.holdings = calloc(mapped->limit.count + 1, sizeof(*listing.holdings))};
	const uint32_t *tgid;
	struct range_node **root;

	if (!listing.holdings)
		return -ENOMEM;
	map_each (mapped->processes, pos, tgid, root) {
		range_tree_each(*root, not_seen, NULL);
		range_tree_each(*root, list_range, &listing);
	}
	*ret = listing.holdings;
	return (int64_t)listing.count;
}

void mmap_ranges_stats(const struct mmap_ranges *mapped, struct mmap_ranges_stats *stats)
{
	*stats = (struct mmap_ranges_stats){
		.ranges = mapped->limit.count,
		.refused = mapped->limit.refused,
	};
}
