/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What GET /metrics answers, and the document of that. */
#pragma once

#include "api/feature/feature.h"
#include "measure/measure.h"

/* The rows of one owner, and where in struct figures (api/status/figures.h) the statistics are that
 * they lie in. */
struct metrics_owner {
	const struct measures *measures;
	size_t at;
};

/* Returns all owners, in the order of /metrics. */
const struct metrics_owner *metrics_owners(size_t *count);

/* Writes all numbers there are, in Prometheus' text format; series of single processes only where
 * the caller may read those, and then OpenMetrics' exemplars if `is_open`. */
void metrics_write(const struct services *services, const struct caller *caller, bool is_open,
		   struct answer *answer);

/* Writes the rows of doc/metrics.md. */
void metrics_describe(struct buf *out);
