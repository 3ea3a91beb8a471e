/* SPDX-License-Identifier: GPL-2.0-only */
/* The feature /flamegraph; see struct feature. */
#pragma once

#include "api/feature.h"
#include "api/request.h"

extern const struct rules flamegraph_rules;

void flamegraph_put(const struct services *services, char *data, size_t bytes,
		    struct answer *answer, void (*ready)(void *arg), void *arg);
void flamegraph_get(const struct services *services, struct answer *answer);
void flamegraph_fetch(const struct services *services, const char *name, const struct query *query,
		      struct answer *answer, void (*ready)(void *arg), void *arg);
void flamegraph_need(const char *name, const struct query *query, struct need *need);
cJSON *flamegraph_saved(const struct services *services);
int flamegraph_restore(const struct services *services, const cJSON *saved, bool same_boot,
		       char *why, size_t why_bytes);
