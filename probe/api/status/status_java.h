/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of Java VMs. */
#pragma once

#include "api/feature/feature.h"
#include "base/json.h"

/* Adds to a target that is a Java VM: where its stacks come from ("java_source"), why
 * ("java_reason"), and the state of its agent ("java_agent", java/agents/agents.h). */
void status_java_vm(struct json *json, const struct services *services,
		    const struct target *target);

/* Adds "java": { "processes", "unsupported", "methods", "bytes", "read", "lost": {cause: n},
 * "inline_unknown", "untold", "agents": { "attached", "attaching", "failed", "codes", "given",
 * "lost", "unasked" }, "jfr": { "recording", "starting", "failed", "windows", "fell_back",
 * "fell_back_by": {cause: n}, "lost_samples", "lost_bytes", "refused", "unasked" } }. */
void status_java(struct json *json, const struct services *services,
		 const struct engine_stats *stats);
