/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of a process's runtime, and of Python. */
#pragma once

#include "api/feature/feature.h"
#include "base/json.h"

/* Adds "runtime" to a process's entry: "native", "python 3.11.7", "java 17.0.15", two with a comma
 * ("java 21.0.4, python 3.12.1"), or with the reason why the process has native frames only:
 * "python 3.17.0: unsupported version". */
void status_runtime(struct json *json, const struct target *target);

/* Adds "python": { "processes", "unsupported", "code_objects", "bytes", "read", "lost": {cause: n},
 * "copied" }. */
void status_python(struct json *json, const struct services *services,
		   const struct code_cache_stats *codes);
