/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * History on disk with its index: adds windows, puts older ones together, reads ranges. One thread
 * at a time; each call may block as the file system does.
 *
 * Windows with one number after the other whose begins lie in one slot (of 5 minutes, of an hour)
 * become one record of the next level once the slot is over. A clock that is set back begins a slot
 * anew: both have their record, with the times that the clock said.
 */
#pragma once

#include "history/history_blend.h"
#include "history/history_index.h"

struct history_counts {
	uint64_t windows; /* added since the start */
	uint64_t failed;  /* windows that could not be written */
	uint64_t merged;  /* records that were put together */
	uint64_t damaged; /* records that could not be read when somebody asked for them */
};

struct history_store {
	struct history_files *files;
	struct history_index index;
	struct history_limits limits;
	struct history_counts counts;
	int64_t begun;	    /* ns since 1970 */
	uint64_t steady_ns; /* CLOCK_MONOTONIC when the other clock was set last, or at the start */
	int64_t offset;	    /* difference of the clocks then */
	bool is_stopped;    /* any thread sets it, atomically: readings end with -ECANCELED */
};

/* Opens it. Returns 0, or a negative errno and a sentence in `why`; history_store_done() is called
 * in any case. `store` is zeros but for its limits. */
int history_store_open(struct history_store *store, const char *state_dir, struct why *why);
void history_store_done(struct history_store *store);

bool history_store_is_stopped(const struct history_store *store);

/* Adds a window. Its head gets a number; `payload` is packed. Returns 0 or a negative errno. */
int history_store_add(struct history_store *store, const char *series, struct history_head *head,
		      const struct buf *payload);

/* Puts together what is over. */
void history_store_settle(struct history_store *store);

/* Removes what is too old or too much. */
void history_store_trim(struct history_store *store);

/* Adds a record to a blend. A damaged one is left out and counted in *damaged. Returns 0, -ENOMEM
 * or -ENOSPC. */
int history_store_blend_entry(struct history_store *store, const struct history_entry *entry,
			      struct blend *blend, uint64_t *damaged);

/* Returns the shortest period of a series' records in a range; `shortest` if none is shorter. */
uint64_t history_store_period(struct history_store *store, const char *series,
			      const struct history_range *range, uint64_t shortest);

/*
 * Blends a series' records of a range, as history_series_choose() chooses them; of states (what is
 * held) the last one alone. Damaged ones are
 * left out and counted in *damaged. A tree that becomes too large is replaced by a smaller one
 * (stack/tree_rest.h), so blend->tree is the caller's to free afterwards. Returns 0; -ENOENT: there
 * is no such series; or a negative errno.
 */
int history_store_blend(struct history_store *store, const char *series,
			const struct history_range *range, enum history_level coarsest,
			struct blend *blend, uint64_t *damaged);
