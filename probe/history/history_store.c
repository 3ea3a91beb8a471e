// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "stack/tree_rest.h"
#include "history/history_events.h"

#define NODES_OF_BLOCK 131072u	/* of a record that is put together; of an hour twice as many */
#define NODES_READ     1048576u /* a range's tree is made smaller beyond */
#define NAME_BYTES     (64u * 1024 * 1024)
#define STEADY_NS      (3600 * NS_PER_S) /* before anything is removed for its age */
#define WINDOWS_MAX    4096		 /* records that are put together at a time */

static int take_record(void *arg, const struct history_file *file, const struct history_head *head,
		       const struct history_place *place)
{
	struct history_store *store = arg;
	struct history_entry entry = {*head, *place};
	struct history_series *series = history_index_find(&store->index, file->series, true);
	bool has_no_room = !series && store->index.count >= HISTORY_SERIES_MAX;
	int r = series	      ? history_series_add(series, file->level, &entry)
		: has_no_room ? -EINVAL
			      : -ENOMEM;

	if (r != -EINVAL)
		return r;
	store->counts.damaged++; /* a second daemon's, a copy, or one of too many series */
	return 0;
}

/* A file without a record that can be read has a number all the same. */
static void skip_numbers(struct history_store *store)
{
	for (size_t i = 0; i < history_files_count(store->files); i++) {
		const struct history_file *file = history_files_at(store->files, (uint32_t)i);
		struct history_series *series =
			history_index_find(&store->index, file->series, true);

		if (series && series->next <= file->number)
			series->next = file->number + 1;
	}
}

int history_store_open(struct history_store *store, const char *state_dir, struct why *why)
{
	int r = history_files_open(&store->files, state_dir, why);

	if (r < 0)
		return r;
	store->begun = (int64_t)clock_ns(CLOCK_REALTIME);
	store->steady_ns = clock_ns(CLOCK_MONOTONIC);
	store->offset = store->begun - (int64_t)store->steady_ns;
	r = history_files_scan(store->files, take_record, store);
	if (r < 0)
		why_set(why, "%s/history can't be read: %s", state_dir, strerror(-r));
	skip_numbers(store);
	return r;
}

void history_store_done(struct history_store *store)
{
	history_index_done(&store->index);
	history_files_free(store->files);
	store->files = NULL;
}

bool history_store_is_stopped(const struct history_store *store)
{
	return __atomic_load_n(&store->is_stopped, __ATOMIC_RELAXED);
}

static int add_record(struct history_store *store, const char *name, enum history_level level,
		      const struct history_head *head, const struct buf *payload)
{
	struct history_series *series = history_index_find(&store->index, name, true);
	struct history_entry entry = {.head = *head};

	if (!series)
		return -ENOMEM;
	int r = history_files_append(store->files, name, level, head, payload, &entry.place);
	return r < 0 ? r : history_series_add(series, level, &entry);
}

int history_store_add(struct history_store *store, const char *name, struct history_head *head,
		      const struct buf *payload)
{
	struct history_series *series = history_index_find(&store->index, name, true);

	if (!series)
		return -ENOMEM;
	head->first = head->last = series->next++;
	head->begun = store->begun;
	int r = add_record(store, name, HISTORY_WINDOW, head, payload);
	if (r < 0)
		store->counts.failed++;
	else
		store->counts.windows++;
	return r;
}

/* ---- putting together ---- */

int history_store_blend_entry(struct history_store *store, const struct history_entry *entry,
			      struct blend *blend, uint64_t *damaged)
{
	struct history_payload payload;
	int r = history_files_read(store->files, &entry->place, &entry->head, &payload);

	if (r == 0)
		r = blend_add(blend, &entry->head, &payload);
	history_payload_done(&payload);
	if (r == -ENOMEM || r == -ENOSPC || r == 0)
		return r;
	store->counts.damaged++;
	++*damaged;
	return 0;
}

/* Replaces a tree of more than `max_nodes` nodes by one of half as many. */
static int shrink_tree(struct blend *blend, size_t max_nodes)
{
	struct tree *smaller;

	if (!blend->tree || tree_count(blend->tree) <= max_nodes)
		return 0;
	int r = tree_within(&smaller, blend->tree, max_nodes / 2, NAME_BYTES);
	if (r < 0)
		return r;
	tree_free(blend->tree);
	blend->tree = smaller;
	return 0;
}

static void tree_end(struct blend *blend)
{
	tree_free(blend->tree);
	functions_free(blend->functions);
}

/* Returns the first of `count` records that is blended: of states the last one stands for all. */
static size_t first_blended(const struct history_entry *entries, size_t count)
{
	return count && entries[count - 1].head.is_state ? count - 1 : 0;
}

/* Puts `count` records of a level together into one of the next level. */
static int merge_records(struct history_store *store, const char *name, enum history_level level,
			 const struct history_entry *entries, size_t count)
{
	_cleanup_(tree_end) struct blend blend = {0};
	_cleanup_buf_ struct buf payload = BUF_INIT(2 * HISTORY_PAYLOAD_MAX);
	size_t max_nodes = level == HISTORY_WINDOW ? NODES_OF_BLOCK : 2 * NODES_OF_BLOCK;
	uint64_t damaged = 0;
	/* A tree keeps files with code while it has less than a sixteenth of its bound. */
	int r = tree_new(&blend.tree, (size_t)64 * max_nodes, NAME_BYTES);

	if (r == 0)
		r = functions_new(&blend.functions);
	for (size_t i = first_blended(entries, count); r == 0 && i < count; i++) {
		r = history_store_blend_entry(store, &entries[i], &blend, &damaged);
		if (r == -ENOSPC) { /* its part is missing; it would be tried for ever */
			store->counts.damaged++;
			r = 0;
		}
		if (r == 0)
			r = shrink_tree(&blend, 4 * max_nodes);
	}
	if (r < 0)
		return r;
	/* It stands for all, also for the damaged ones: they are not looked at again. */
	if (!blend.sum.windows)
		blend.sum = (struct history_head){.from = entries[0].head.from,
						  .until = entries[0].head.until,
						  .begun = entries[0].head.begun,
						  .period_ns = entries[0].head.period_ns,
						  .is_state = entries[0].head.is_state};
	blend.sum.first = entries[0].head.first;
	blend.sum.last = entries[count - 1].head.last;
	r = blend_pack(&blend, max_nodes, &blend.sum, &payload);
	if (r == 0)
		r = add_record(store, name, level + 1, &blend.sum, &payload);
	return r;
}

static int64_t slot_of(const struct history_entry *entry, enum history_level level)
{
	return entry->head.from / (int64_t)history_level_ns(level + 1);
}

/* Returns whether a slot is over by the clock; also if it lies far ahead, as the clock was set
 * back. */
static bool is_over(int64_t slot, enum history_level level, int64_t now)
{
	int64_t slot_ns = (int64_t)history_level_ns(level + 1);
	int64_t longest_ns = (int64_t)history_level_ns(level);

	return now >= (slot + 1) * slot_ns + longest_ns || now < (slot - 1) * slot_ns;
}

/* Returns whether two records become one: of one slot, with samples of one period. */
static bool are_together(const struct history_entry *first, const struct history_entry *entry,
			 enum history_level level)
{
	return slot_of(first, level) == slot_of(entry, level) &&
	       first->head.period_ns == entry->head.period_ns;
}

/* Finds the first records of a level that are in no record of the next one. Returns their number:
 * those of one slot. *is_last: none follows them. */
static size_t next_run(const struct history_series *series, enum history_level level, size_t *first,
		       bool *is_last)
{
	const struct history_entries *of = &series->levels[level], *next = of + 1;
	uint64_t done = next->count ? next->entries[next->count - 1].head.last : 0;
	size_t count = 0;

	*first = of->count;
	while (*first && (!next->count || of->entries[*first - 1].head.first > done))
		--*first;
	while (*first + count < of->count && count < WINDOWS_MAX &&
	       are_together(&of->entries[*first], &of->entries[*first + count], level))
		count++;
	*is_last = *first + count == of->count;
	return count;
}

static void settle_level(struct history_store *store, struct history_series *series,
			 enum history_level level, int64_t now)
{
	size_t first, count;
	bool is_last;

	while ((count = next_run(series, level, &first, &is_last)) > 0) {
		const struct history_entry *entries = &series->levels[level].entries[first];

		if (is_last && !is_over(slot_of(entries, level), level, now))
			return;
		if (merge_records(store, series->name, level, entries, count) < 0)
			return;
		store->counts.merged++;
	}
}

void history_store_settle(struct history_store *store)
{
	int64_t now = (int64_t)clock_ns(CLOCK_REALTIME);

	for (size_t i = 0; i < store->index.count; i++) {
		for (int level = 0; level < HISTORY_LEVELS - 1; level++)
			settle_level(store, &store->index.series[i], level, now);
	}
}

void history_store_trim(struct history_store *store)
{
	int64_t now = (int64_t)clock_ns(CLOCK_REALTIME);
	uint64_t monotonic = clock_ns(CLOCK_MONOTONIC);
	int64_t offset = now - (int64_t)monotonic, jump = offset - store->offset;

	if (jump > (int64_t)STEADY_NS || jump < -(int64_t)STEADY_NS) {
		store->offset = offset;
		store->steady_ns = monotonic;
	}
	bool by_age = monotonic - store->steady_ns >= STEADY_NS;
	if (history_files_trim(store->files, &store->limits, by_age, now))
		history_index_forget(&store->index, store->files);
	if (by_age)
		history_events_trim(history_files_folder(store->files), store->limits.days, now);
}

/* ---- reading ---- */

uint64_t history_store_period(struct history_store *store, const char *name,
			      const struct history_range *range, uint64_t shortest)
{
	const struct history_series *series = history_index_find(&store->index, name, false);

	for (int level = 0; series && level < HISTORY_LEVELS; level++) {
		for (size_t i = 0; i < series->levels[level].count; i++) {
			const struct history_head *head = &series->levels[level].entries[i].head;

			if (head->until > range->from && head->from < range->until &&
			    head->period_ns && head->period_ns < shortest)
				shortest = head->period_ns;
		}
	}
	return shortest;
}

int history_store_blend(struct history_store *store, const char *name,
			const struct history_range *range, enum history_level coarsest,
			struct blend *blend, uint64_t *damaged)
{
	const struct history_series *series = history_index_find(&store->index, name, false);
	const struct history_entry **chosen = NULL;

	if (!series)
		return -ENOENT;
	int64_t count = history_series_choose(series, range, coarsest, &chosen);
	int r = count < 0 ? (int)count : 0;
	bool is_state = count > 0 && chosen[count - 1]->head.is_state;
	for (int64_t i = is_state ? count - 1 : 0; r == 0 && i < count; i++) {
		r = history_store_blend_entry(store, chosen[i], blend, damaged);
		if (r == 0)
			r = shrink_tree(blend, NODES_READ);
		if (history_store_is_stopped(store))
			r = -ECANCELED;
	}
	free(chosen);
	return r;
}
