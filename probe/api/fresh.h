/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Answers that are made anew only when that can't keep the loop busy: one that took long to make is
 * given again for ten times as long, at most for a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct answer;

enum fresh_kind {
	FRESH_METRICS, /* without series of single processes */
	FRESH_METRICS_ALL,
	FRESH_FEATURES, /* and behind it: GET of each feature, by its row */
	FRESH_COUNT = FRESH_FEATURES + 8
};

struct fresh {
	struct buf body; /* empty: there is none */
	const char *content_type;
	uint64_t until_ns;
};

/* Begins with none. */
void fresh_init(struct fresh fresh[FRESH_COUNT]);
void fresh_done(struct fresh fresh[FRESH_COUNT]);

/* After a PUT: what there is isn't true any more. */
void fresh_forget(struct fresh fresh[FRESH_COUNT]);

/* Fills the answer with what there is; false: there is none, and it has to be made. */
bool fresh_give(const struct fresh *fresh, struct answer *answer);

/* Keeps a 200 that was begun to be made at `began_ns`, if it took long; without memory it doesn't.
 */
void fresh_keep(struct fresh *fresh, const struct answer *answer, uint64_t began_ns);
