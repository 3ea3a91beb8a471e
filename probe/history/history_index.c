// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history_index.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

void history_index_done(struct history_index *index)
{
	for (size_t i = 0; i < index->count; i++) {
		for (int level = 0; level < HISTORY_LEVELS; level++)
			free(index->series[i].levels[level].entries);
	}
	free(index->series);
	*index = (struct history_index){0};
}

static struct history_series *append_series(struct history_index *index)
{
	if (array_grow(index->series, index->capacity, index->count + 1, 8) < 0)
		return NULL;
	index->series[index->count] = (struct history_series){0};
	return &index->series[index->count++];
}

/* Returns a series that has no records any more: that of an event of long ago. */
static struct history_series *find_empty(const struct history_index *index)
{
	for (size_t i = 0; i < index->count; i++) {
		const struct history_series *series = &index->series[i];

		if (!series->levels[HISTORY_WINDOW].count && !series->levels[HISTORY_BLOCK].count &&
		    !series->levels[HISTORY_HOUR].count)
			return &index->series[i];
	}
	return NULL;
}

struct history_series *history_index_find(struct history_index *index, const char *name, bool make)
{
	for (size_t i = 0; i < index->count; i++) {
		if (strcmp(index->series[i].name, name) == 0)
			return &index->series[i];
	}
	if (!make || strlen(name) >= HISTORY_SERIES_BYTES)
		return NULL;
	struct history_series *series =
		index->count < HISTORY_SERIES_MAX ? append_series(index) : find_empty(index);
	if (!series)
		return NULL;
	for (int level = 0; level < HISTORY_LEVELS; level++)
		free(series->levels[level].entries);
	*series = (struct history_series){0};
	snprintf(series->name, sizeof(series->name), "%s", name);
	return series;
}

int history_series_add(struct history_series *series, enum history_level level,
		       const struct history_entry *entry)
{
	struct history_entries *to = &series->levels[level];

	if (to->count && to->entries[to->count - 1].head.last >= entry->head.first)
		return -EINVAL;
	if (array_grow(to->entries, to->capacity, to->count + 1, 64) < 0)
		return -ENOMEM;
	to->entries[to->count++] = *entry;
	if (entry->head.last >= series->next)
		series->next = entry->head.last + 1;
	return 0;
}

void history_index_forget(struct history_index *index, const struct history_files *files)
{
	for (size_t i = 0; i < index->count; i++) {
		for (int level = 0; level < HISTORY_LEVELS; level++) {
			struct history_entries *of = &index->series[i].levels[level];
			size_t kept = 0;

			for (size_t n = 0; n < of->count; n++) {
				if (history_files_at(files, of->entries[n].place.file)->bytes)
					of->entries[kept++] = of->entries[n];
			}
			of->count = kept;
		}
	}
}

/* ---- choosing ---- */

struct entry_choice {
	const struct history_entry **chosen;
	size_t count, capacity;
	bool failed;
};

static void add_chosen(struct entry_choice *choice, const struct history_entry *entry)
{
	if (array_grow(choice->chosen, choice->capacity, choice->count + 1, 64) < 0)
		choice->failed = true;
	else
		choice->chosen[choice->count++] = entry;
}

static bool lies_within(const struct history_head *head, const struct history_range *range)
{
	return head->from >= range->from && head->until <= range->until;
}

bool history_range_has(const struct history_range *range, const struct history_head *head)
{
	int64_t middle = head->from + (head->until - head->from) / 2;

	return middle >= range->from && middle < range->until;
}

/* Returns whether the level below has the first of the record's windows: it can be taken apart. */
static bool has_parts(const struct history_series *series, enum history_level level,
		      const struct history_head *head)
{
	const struct history_entries *below;

	if (level == HISTORY_WINDOW)
		return false;
	below = &series->levels[level - 1];
	/* A file in the middle may be missing. */
	size_t from = PARTITION_POINT(at, below->count, below->entries[at].head.last < head->first);
	return from < below->count && below->entries[from].head.first <= head->first;
}

static int compare_entries(const void *a, const void *b)
{
	const struct history_entry *left = *(const struct history_entry *const *)a;
	const struct history_entry *right = *(const struct history_entry *const *)b;

	return (left->head.first > right->head.first) - (left->head.first < right->head.first);
}

/* Returns whether a record's windows are among the first `count` that were chosen, which are
 * sorted; *at is where the search goes on for the next record. */
static bool is_covered(const struct entry_choice *choice, size_t count, size_t *at,
		       const struct history_head *head)
{
	while (*at < count && choice->chosen[*at]->head.last < head->first)
		++*at;
	return *at < count && choice->chosen[*at]->head.first <= head->last;
}

static void choose_level(const struct history_series *series, enum history_level level,
			 const struct history_range *range, enum history_level coarsest,
			 struct entry_choice *choice)
{
	const struct history_entries *of = &series->levels[level];
	size_t before = choice->count, at = 0;

	for (size_t i = 0; i < of->count; i++) {
		const struct history_entry *entry = &of->entries[i];
		bool is_split = has_parts(series, level, &entry->head);
		bool fits = is_split ? level <= coarsest && lies_within(&entry->head, range)
				     : history_range_has(range, &entry->head);

		if (fits && !is_covered(choice, before, &at, &entry->head))
			add_chosen(choice, entry);
	}
	if (choice->count)
		qsort(choice->chosen, choice->count, sizeof(const struct history_entry *),
		      compare_entries);
}

int64_t history_series_choose(const struct history_series *series,
			      const struct history_range *range, enum history_level coarsest,
			      const struct history_entry ***ret)
{
	struct entry_choice choice = {0};

	for (int level = HISTORY_LEVELS - 1; level >= 0; level--)
		choose_level(series, level, range, coarsest, &choice);
	if (choice.failed) {
		free(choice.chosen);
		return -ENOMEM;
	}
	*ret = choice.chosen;
	return (int64_t)choice.count;
}
