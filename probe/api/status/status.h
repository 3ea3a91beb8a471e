/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of the answers of GET: the configuration of a feature and its status. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "api/request/request.h"
#include "base/json.h"
#include "session/upload_status.h"

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
 * Adds the status of /flamegraph: the numbers of the owners' tables (doc/metrics.md has their
 *paths), and beside them
 *
 *	"probes": { "oncpu": { "state", "reason" } }, "process_counters", "files": { "last_failure"
 *}, "processes": [{ "pid", "comm", "runtime", "container", "truncated": {cause: n} }],
 *	"ended": [{ "comm", "processes", "truncated": {cause: n} }], "upload",
 *	"trigger": { "state", "text", "waits_for", "how", "reason" }
 */
void status_flamegraph(struct json *json, const struct services *services, const struct spec *spec);

/* Adds "upload": { "state": "off"|"running"|"failing", "reason", "server", "api", numbers,
 * "last_failure" }. */
void status_upload(struct json *json, const struct upload_status *status);
