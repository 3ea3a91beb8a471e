/* SPDX-License-Identifier: GPL-2.0-only */
/* What GET shows of Java. */
#pragma once

#include <cjson/cJSON.h>

#include "api/feature.h"

/* Of a target that is a Java VM: "java_agent", what is with its agent (profile/agents.h). */
void status_agent(cJSON *to, const struct services *services, const struct target *target);

/* Adds "java": { "processes", "unsupported", "methods", "bytes", "read", "lost": {cause: n},
 * "inline_unknown", "untold", "agents": { "attached", "attaching", "failed", "codes", "given",
 * "lost" } }. */
void status_java(cJSON *to, const struct services *services, const struct engine_stats *stats);
