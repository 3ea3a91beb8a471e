// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Interval tree over the codes, which finds those that hold an address: the codes sorted by begin,
 * and for each tree node the highest end of the codes below it. The node of a part of the sorted
 * list is the part's middle.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "java/files/jvmfile_state.h"

static int compare_codes(const void *a, const void *b, void *arg)
{
	const struct jvmfile_code *codes = arg;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;

	if (codes[first].from != codes[second].from)
		return codes[first].from < codes[second].from ? -1 : 1;
	return first < second ? -1 : first > second;
}

/* Merges the sorted `tail`, which has `count` elements, into the sorted list. */
static void merge_tail(struct jvmfile *file, const uint32_t *tail, uint32_t count)
{
	uint32_t *order = file->order, at = file->ordered + count, left = file->ordered;

	while (count) {
		if (left && compare_codes(&order[left - 1], &tail[count - 1], file->codes) > 0)
			order[--at] = order[--left];
		else
			order[--at] = tail[--count];
	}
}

static uint64_t set_reach(struct jvmfile *file, uint32_t low, uint32_t high)
{
	uint32_t middle = low + (high - low) / 2;

	if (low == high)
		return 0;
	uint64_t reach = file->codes[file->order[middle]].to;
	uint64_t left = set_reach(file, low, middle);
	uint64_t right = set_reach(file, middle + 1, high);
	reach = left > reach ? left : reach;
	reach = right > reach ? right : reach;
	file->reach[middle] = reach;
	return reach;
}

void jvmfile_order(struct jvmfile *file)
{
	uint32_t count = file->codes_count - file->ordered;

	if (!count)
		return;
	uint32_t *order = reallocarray(file->order, file->codes_count, sizeof(*order));
	if (!order)
		return; /* new codes are searched one by one */
	file->order = order;
	uint64_t *reach = reallocarray(file->reach, file->codes_count, sizeof(*reach));
	if (!reach)
		return;
	file->reach = reach;
	_cleanup_free_ uint32_t *tail = calloc(count, sizeof(*tail));
	if (!tail)
		return;
	for (uint32_t i = 0; i < count; i++)
		tail[i] = file->ordered + i;
	qsort_r(tail, count, sizeof(*tail), compare_codes, file->codes);
	merge_tail(file, tail, count);
	file->ordered = file->codes_count;
	set_reach(file, 0, file->ordered);
}

void jvmfile_disorder(struct jvmfile *file)
{
	file->ordered = 0;
}

struct searching {
	const struct jvmfile *file;
	uint64_t address;
	uint32_t left; /* hits that may come yet */
	struct jvmfile_hits *hits;
};

/* Adds a hit; if there is no room, the newest hits stay. */
static void add_hit(struct searching *searching, uint32_t place)
{
	struct jvmfile_hits *hits = searching->hits;
	uint32_t at = hits->count;

	if (!searching->left) {
		hits->more = true;
		return;
	}
	searching->left--;
	if (at < JVMFILE_HITS_MAX)
		hits->count++;
	else if (place < hits->places[--at])
		return;
	for (; at && hits->places[at - 1] < place; at--)
		hits->places[at] = hits->places[at - 1];
	hits->places[at] = place;
}

/* Searches a part of the list. For each hit it looks at no more other codes than the tree is high.
 */
static void search_codes(struct searching *searching, uint32_t low, uint32_t high)
{
	const struct jvmfile *file = searching->file;

	while (low < high && !searching->hits->more) {
		uint32_t middle = low + (high - low) / 2;
		const struct jvmfile_code *code = &file->codes[file->order[middle]];

		searching->hits->looked++;
		if (file->reach[middle] < searching->address)
			return;
		search_codes(searching, low, middle);
		if (code->from > searching->address)
			return;
		if (code->to >= searching->address)
			add_hit(searching, file->order[middle]);
		low = middle + 1;
	}
}

void jvmfile_hits(const struct jvmfile *file, uint64_t address, uint32_t most,
		  struct jvmfile_hits *hits)
{
	struct searching searching = {file, address, most, hits};

	hits->count = hits->looked = 0;
	hits->more = false;
	search_codes(&searching, 0, file->ordered);
	for (uint32_t i = file->ordered; i < file->codes_count && !hits->more; i++) {
		hits->looked++;
		if (address >= file->codes[i].from && address <= file->codes[i].to)
			add_hit(&searching, i);
	}
}
