/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers that are made anew only when that can't keep the loop busy. One that took a millisecond
 * or more to make is given again for ten times as long, at most for a second. Whoever isn't an
 * administrator gets any one for a second: what such clients do together takes nothing of the loop
 * but that. A PUT ends it.
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
	FRESH_FEATURES,			  /* and behind it: GET of each feature, by its row */
	FRESH_SCHED = FRESH_FEATURES + 8, /* and behind it: of each scheduler's probe txt, json */
	FRESH_COUNT = FRESH_SCHED + 2 * SCHED_COUNT
};

struct fresh {
	struct buf body; /* empty: there is none */
	const char *content_type;
	uint64_t until_ns;     /* for everybody */
	uint64_t old_until_ns; /* for who may get an old one */
};

/* Begins with none. */
void fresh_init(struct fresh fresh[FRESH_COUNT]);
void fresh_done(struct fresh fresh[FRESH_COUNT]);

/* After a PUT: what there is isn't true any more. */
void fresh_forget(struct fresh fresh[FRESH_COUNT]);

/* Fills the answer with what there is, for who may get an `old` one or not; false: there is none,
 * and it has to be made. */
bool fresh_give(const struct fresh *fresh, bool old, struct answer *answer);

/* Keeps a 200 that was begun to be made at `began_ns`; without memory it doesn't. */
void fresh_keep(struct fresh *fresh, const struct answer *answer, uint64_t began_ns);
