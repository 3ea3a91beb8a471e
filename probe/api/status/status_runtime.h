/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON of a process's runtime, of Python and of Java VMs. */
#pragma once

#include "api/status/figures.h"

/* Adds "runtime" to a process's entry: "native", "python 3.11.7", "java 17.0.15", two with a comma
 * ("java 21.0.4, python 3.12.1"), or with the reason why the process has native frames only:
 * "python 3.17.0: unsupported version". */
void status_runtime(struct json *json, const struct target *target);

/* Adds "names_with" to a target whose runtime makes code and names it only if it is told to, and
 * hasn't named any: how it is told (symbol/perfmap_flags.h). */
void status_map_flag(struct json *json, const struct services *services,
		     const struct target *target);

/* Adds "made_code" to a target that tells debuggers of the code that it makes: what the last look
 * at it found, or why nothing was. */
void status_made_code(struct json *json, const struct target *target);

/* Adds "jitdump" to a target that writes one: what was read of it, and why no more is. */
void status_made_dump(struct json *json, const struct target *target);

/* Adds to a target that is a Java VM: where its stacks come from ("java_source"), why
 * ("java_reason"), the state of its agent ("java_agent", java/agents/agents.h); and, if there are
 * stacks of which what is inlined isn't known, their share ("java_inline_unknown", of 1) and the
 * flag with which it is known ("java_inlined_with"). */
void status_java_vm(struct json *json, const struct services *services,
		    const struct target *target);

/* Adds "python": { … }, "java": { …, "agents": { … }, "jfr": { … } }: the rows of their tables. */
void status_runtimes(struct json *json, const struct figures *figures);
