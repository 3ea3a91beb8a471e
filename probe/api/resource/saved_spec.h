/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A feature's configuration, kept over a restart: the shape of a PUT, and which processes its ids
 * meant.
 */
#pragma once

#include <cjson/cJSON.h>

#include "api/request/request.h"

/* Returns the configuration as JSON, which the caller deletes; NULL: no memory. */
cJSON *saved_spec_make(const struct rules *rules, const struct spec *spec);

/*
 * Reads it into `spec`. `same_boot`: pids and start times still hold. Returns 0, or a negative
 * errno and a sentence in `why`.
 */
int saved_spec_read(const struct rules *rules, const cJSON *kept, bool same_boot, struct spec *spec,
		    char *why, size_t why_bytes);
