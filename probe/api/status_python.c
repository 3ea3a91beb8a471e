// SPDX-License-Identifier: GPL-2.0-only
#include "api/status_python.h"

#include <stdio.h>

#include "api/status_codes.h"
#include "profile/interpreter.h"

void status_runtime(cJSON *to, const struct target *target)
{
	const struct interpreter *interpreter = target->interpreter;
	char version[32], text[128];

	if (!interpreter) {
		cJSON_AddStringToObject(to, "runtime", "native");
		return;
	}
	interpreter_version(interpreter, version, sizeof(version));
	const char *problem = interpreter_problem(interpreter);
	snprintf(text, sizeof(text), "python%s%s%s%s", version[0] ? " " : "", version,
		 problem[0] ? ": " : "", problem);
	cJSON_AddStringToObject(to, "runtime", text);
}

struct python_counts {
	unsigned processes, unsupported;
};

static void count(void *arg, const struct target *target)
{
	struct python_counts *counts = arg;

	if (!target->interpreter)
		return;
	counts->processes++;
	counts->unsupported += !interpreter_is_supported(target->interpreter);
}

void status_python(cJSON *to, const struct services *services, const struct codes_stats *codes)
{
	cJSON *python = cJSON_AddObjectToObject(to, "python");
	struct python_counts counts = {0};

	engine_targets(services->engine, count, &counts);
	cJSON_AddNumberToObject(python, "processes", counts.processes);
	cJSON_AddNumberToObject(python, "unsupported", counts.unsupported);
	status_codes(python, "code_objects", codes);
}
