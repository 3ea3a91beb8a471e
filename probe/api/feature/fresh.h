/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of answers, lest making them keep the loop busy. An answer that took a millisecond or more
 * to make is given again for ten times as long, at most for a second. Clients that aren't
 * administrators get any answer for a second: together they cost the loop no more than that. A PUT
 * clears the cache. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "sched/sched.h"

struct answer;

enum fresh_kind {
	FRESH_METRICS, /* without series of single processes */
	FRESH_METRICS_ALL,
	FRESH_METRICS_OPEN, /* the same with exemplars */
	FRESH_FEATURES,	    /* and those after it: GET of each feature, by its row */
	/* and those after it: txt and json of each probe of /sched */
	FRESH_SCHED = FRESH_FEATURES + 8,
	FRESH_COUNT = FRESH_SCHED + 2 * SCHED_COUNT
};

struct fresh {
	struct buf body; /* empty: no answer */
	const char *content_type;
	uint64_t until_ns;     /* valid for everybody until then */
	uint64_t old_until_ns; /* valid until then for clients that may get an old one */
};

/* Prepare an empty cache; free all answers. */
void fresh_init(struct fresh fresh[FRESH_COUNT]);
void fresh_done(struct fresh fresh[FRESH_COUNT]);

/* Drops all answers, after a PUT: they aren't true any more. */
void fresh_forget(struct fresh fresh[FRESH_COUNT]);

/*
 * Fills in the answer from the cache; `old`: the client may get an old one. Returns false if there
 * is none: it has to be made.
 */
bool fresh_give(const struct fresh *fresh, bool old, struct answer *answer);

/*
 * Keeps an answer with status 200 whose making began at `began_ns`; drops it if there is no memory.
 */
void fresh_keep(struct fresh *fresh, const struct answer *answer, uint64_t began_ns);
