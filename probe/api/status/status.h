/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of the answers of GET: the configuration of a feature and its status. Loop thread only. */
#pragma once

#include <cjson/cJSON.h>

#include "api/feature/feature.h"
#include "api/request/request.h"

/* Returns the configuration of a feature in the shape of a PUT: { "cmd", "params", "snoopers",
 * "state" }. The caller owns the result (cJSON_Delete()). NULL: no memory. */
cJSON *status_config(const struct rules *rules, const struct spec *spec);

/* Adds a name or a path as text, whatever bytes it has. */
void status_add_text(cJSON *to, const char *key, const char *text, size_t len);

/*
 * Writes the answer of GET /flamegraph: the configuration in the shape of a PUT, and
 *
 *	"status": { "probes": { "oncpu": { "state", "reason", "samples", "thinned",
 *	            "lost": {cause: n}, "truncated": {cause: n} } }, "unwind": { … },
 *	            "process_counters", "files": { "written", "failed": {cause: n},
 *	            "last_failure", "removed", "remove_failed" }, "python": { … }, "java": { … },
 *	            "symbols_lost": {cause: n}, "perf_maps_lost": {cause: n}, "jobs": { … },
 *	            "mappings_left_out", "containers": { … }, "processes": [{ "pid", "comm",
 *	            "runtime", "container", "truncated": {cause: n} }], "upload": { … } }
 *
 * `rules` are those of the feature. Returns 0 or -ENOMEM.
 */
int status_write(const struct services *services, const struct rules *rules, struct buf *out);
