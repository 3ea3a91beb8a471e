/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of the answers of GET: the configuration of a feature and its status. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "api/request/request.h"
#include "base/json.h"

/* Adds the configuration of a feature in the shape of a PUT: "cmd", "params", "snoopers", "state".
 */
void status_config(struct json *json, const struct rules *rules, const struct spec *spec);

/*
 * Fills in the answer of GET: the configuration and what `add` adds as "status", or {} if `spec` is
 * NULL. `rules` are those of the feature.
 */
void status_answer(struct answer *answer, const struct services *services,
		   const struct rules *rules, const struct spec *spec,
		   void (*add)(struct json *json, const struct services *services,
			       const struct spec *spec));

/*
 * Adds the status of /flamegraph:
 *
 *	"probes": { "oncpu": { "state", "reason", "samples", "thinned", "lost": {cause: n},
 *	"truncated": {cause: n} } }, "unwind": { … }, "process_counters", "files": { "written",
 *	"failed": {cause: n}, "last_failure", "removed", "remove_failed" }, "python": { … },
 *	"java": { … }, "symbols_lost": {cause: n}, "perf_maps_lost": {cause: n}, "jobs": { … },
 *	"mappings_left_out", "containers": { … }, "processes": [{ "pid", "comm", "runtime",
 *	"container", "truncated": {cause: n} }], "upload": { … }
 */
void status_flamegraph(struct json *json, const struct services *services, const struct spec *spec);
