/* SPDX-License-Identifier: GPL-2.0-only */
/* What GET shows of Java. */
#pragma once

#include <cjson/cJSON.h>

#include "api/feature.h"

/* Adds "java": { "processes", "unsupported", "methods", "bytes", "read", "lost": {cause: n},
 * "inline_unknown" }. */
void status_java(cJSON *to, const struct services *services, const struct engine_stats *stats);
