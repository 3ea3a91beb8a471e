// SPDX-License-Identifier: GPL-2.0-only
#include "heap/mapped.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/map.h"
#include "heap/pieces.h"

struct mapped {
	struct map *processes; /* tgid (uint32_t) -> its tree (struct piece *) */
	struct pieces_limit limit;
};

int mapped_new(struct mapped **ret, size_t max)
{
	struct mapped *mapped = calloc(1, sizeof(*mapped));

	if (!mapped)
		return -ENOMEM;
	mapped->limit = (struct pieces_limit){.max = max, .random = hash_seed()};
	int r = map_new(&mapped->processes, sizeof(uint32_t), sizeof(struct piece *), max);
	if (r < 0) {
		free(mapped);
		return r;
	}
	*ret = mapped;
	return 0;
}

void mapped_free(struct mapped *mapped)
{
	if (!mapped)
		return;
	mapped_clear(mapped);
	map_free(mapped->processes);
	free(mapped);
}

/* Takes from what a process has. Those of which nothing is left have no entry. */
static void take(struct mapped *mapped, uint32_t tgid, uint64_t start, uint64_t end,
		 uint64_t before_ns)
{
	struct piece **root = map_get(mapped->processes, &tgid);

	if (!root)
		return;
	pieces_take(root, &mapped->limit, start, end, before_ns);
	if (!*root)
		map_del(mapped->processes, &tgid);
}

static void add(struct mapped *mapped, const struct mapped_event *event)
{
	struct mapping mapping = {
		.stack = event->stack,
		.time_ns = event->time_ns,
		.tid = event->tid,
	};
	uint32_t tgid = event->stack.tgid;
	struct piece **root;

	if (map_put(mapped->processes, &tgid, (void **)&root) < 0) {
		mapped->limit.refused++;
		return;
	}
	if (!pieces_add(root, &mapped->limit, event->start, event->end, &mapping) && !*root)
		map_del(mapped->processes, &tgid);
}

void mapped_on_event(struct mapped *mapped, const struct mapped_event *event)
{
	if (event->start >= event->end)
		return;
	take(mapped, event->stack.tgid, event->start, event->end,
	     event->kind == MAPPED_GONE ? event->time_ns : UINT64_MAX);
	if (event->kind == MAPPED_CAME)
		add(mapped, event);
}

void mapped_cut(struct mapped *mapped, uint32_t tgid, uint64_t time_ns)
{
	take(mapped, tgid, 0, UINT64_MAX, time_ns);
}

void mapped_keep(struct mapped *mapped, bool (*keeps)(void *arg, uint32_t tgid), void *arg,
		 uint64_t time_ns)
{
	_cleanup_free_ uint32_t *others = calloc(map_count(mapped->processes) + 1, sizeof(*others));
	const uint32_t *tgid;
	struct piece **root;
	size_t count = 0;

	if (!others)
		return;
	map_each (mapped->processes, pos, tgid, root) {
		if (!keeps(arg, *tgid))
			others[count++] = *tgid;
	}
	for (size_t i = 0; i < count; i++)
		mapped_cut(mapped, others[i], time_ns);
}

void mapped_clear(struct mapped *mapped)
{
	const uint32_t *tgid;
	struct piece **root;

	map_each (mapped->processes, pos, tgid, root)
		pieces_take(root, &mapped->limit, 0, UINT64_MAX, UINT64_MAX);
	map_clear(mapped->processes);
}

struct listing {
	struct holding *holdings;
	size_t count;
};

static void not_seen(void *arg, struct piece *piece)
{
	(void)arg;
	piece->mapping->seen = false;
}

static void list(void *arg, struct piece *piece)
{
	struct listing *listing = arg;
	struct mapping *mapping = piece->mapping;

	listing->holdings[listing->count++] = (struct holding){
		.stack = mapping->stack,
		.tid = mapping->tid,
		.bytes = piece->end - piece->start,
		.objects = !mapping->seen,
		.time_ns = mapping->time_ns,
	};
	mapping->seen = true;
}

int64_t mapped_list(const struct mapped *mapped, struct holding **ret)
{
	struct listing listing = {
		.holdings = calloc(mapped->limit.count + 1, sizeof(*listing.holdings))};
	const uint32_t *tgid;
	struct piece **root;

	if (!listing.holdings)
		return -ENOMEM;
	map_each (mapped->processes, pos, tgid, root) {
		pieces_each(*root, not_seen, NULL);
		pieces_each(*root, list, &listing);
	}
	*ret = listing.holdings;
	return (int64_t)listing.count;
}

void mapped_stats(const struct mapped *mapped, struct mapped_stats *stats)
{
	*stats = (struct mapped_stats){
		.ranges = mapped->limit.count,
		.refused = mapped->limit.refused,
	};
}
