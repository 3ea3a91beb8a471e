/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a query of GET /flamegraph/PROBE.EXTENSION means, and what is wrong with it. Loop thread
 * only.
 */
#pragma once

#include "api/feature/feature.h"

/* A query's meaning for a probe. */
struct query_choice {
	enum view view;
	uint64_t min_age_ns;
	struct stack_choice stacks;
};

/* Checks the query and fills in its meaning. Returns whether it is right; else the answer is filled
 * in. */
bool flamegraph_query(enum probe probe, const struct output *output, const struct query *query,
		      struct query_choice *choice, struct answer *answer);

/* Returns whether what is counted beside the weight is wanted. */
bool query_counts(const struct query *query);

/* Reads several processes' numbers into the request. Returns whether they are such. */
bool query_pids(const char *text, struct ondemand_request *request);
