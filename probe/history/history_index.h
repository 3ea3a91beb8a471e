/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What history has, by series: the heads of all records, in memory. A series is what one view of a
 * probe collects, by the name of its folder. One thread at a time.
 */
#pragma once

#include "history/history_files.h"

#define HISTORY_SERIES_MAX 256

struct history_entry {
	struct history_head head;
	struct history_place place;
};

struct history_series {
	char name[HISTORY_SERIES_BYTES];
	struct history_entries {
		struct history_entry *entries; /* by their windows' numbers, ascending */
		size_t count, capacity;
	} levels[HISTORY_LEVELS];
	uint64_t next; /* number of the next window */
};

struct history_index {
	struct history_series *series;
	size_t count, capacity;
};

void history_index_done(struct history_index *index);

/*
 * Returns a series, which is made if `make`, in the place of an empty one where there are as many
 * as there may be; borrowed until another is made. NULL: there is none, no room or no memory.
 */
struct history_series *history_index_find(struct history_index *index, const char *name, bool make);

/* Adds a record. Returns 0; -ENOMEM; or -EINVAL: its windows' numbers are not behind those that the
 * level has. */
int history_series_add(struct history_series *series, enum history_level level,
		       const struct history_entry *entry);

/* Forgets the records of files that were removed. */
void history_index_forget(struct history_index *index, const struct history_files *files);

/* A range of time, [from, until), ns since 1970. */
struct history_range {
	int64_t from, until;
};

/* Returns whether a record's middle is in the range. */
bool history_range_has(const struct history_range *range, const struct history_head *head);

/*
 * Lists the records that have the windows of a range, each window once, in the order of their
 * numbers: of hours and blocks as many as fit, of windows those whose middle is in the range. Where
 * windows aren't kept any more, blocks stand for them likewise. `coarsest`: no record of a higher
 * level is taken where there are others. Returns their number, or -ENOMEM; the caller frees *ret,
 * whose pointers are borrowed until the series changes.
 */
int64_t history_series_choose(const struct history_series *series,
			      const struct history_range *range, enum history_level coarsest,
			      const struct history_entry ***ret);
