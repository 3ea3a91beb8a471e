/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A feature's configuration, kept over a restart: the shape of a PUT, and which processes its ids
 * meant.
 */
#pragma once

#include <cjson/cJSON.h>

#include "api/request/request.h"
#include "base/json.h"

/* Adds the configuration under the feature's name; nothing if `spec` is NULL. */
void saved_spec_write(struct json *json, const struct rules *rules, const struct spec *spec);

/*
 * Reads a body into `spec` as the first one, without the bounds of the conf file: a server that
 * isn't allowed turns off the uploads, not all; folders that can't be used lose their files,
 * counted. Changes the body. Errors as saved_spec_read().
 */
int spec_read_unbounded(const struct rules *rules, char *data, size_t bytes, struct spec *spec,
			struct why *why);

/*
 * Reads it into `spec`. `same_boot`: pids and start times still hold. Returns 0, or a negative
 * errno and a sentence in `why`.
 */
int saved_spec_read(const struct rules *rules, const cJSON *kept, bool same_boot, struct spec *spec,
		    struct why *why);
