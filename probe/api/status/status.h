/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cjson/cJSON.h>

#include "api/feature/feature.h"
#include "api/request/request.h"

/* What a feature was told, in the shape of a PUT: { "cmd", "params", "snoopers", "state" }. The
 * caller's to delete; NULL: no memory. */
cJSON *status_config(const struct rules *rules, const struct spec *spec);

/* Adds a name or a path, whatever bytes it has, as text. */
void status_add_text(cJSON *to, const char *key, const char *text, size_t len);

/*
 * Adds what GET /flamegraph shows: the configuration in the shape of a PUT, and
 *
 *	"status": { "probes": { "oncpu": { "state", "reason", "samples", "lost": {cause: n},
 *	            "truncated": {cause: n} } }, "processes": [{ "pid", "comm", "runtime",
 *	            "container" }], "python": { … },
 *	            "files": { "written", "failed", "removed", "remove_failed" },
 *	  "upload": { … } }
 *
 * `rules` are those of the feature. -ENOMEM
 */
int status_write(const struct services *services, const struct rules *rules, struct buf *out);
