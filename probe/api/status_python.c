// SPDX-License-Identifier: GPL-2.0-only
#include "api/status_python.h"

#include <stdio.h>

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
	cJSON_AddNumberToObject(python, "code_objects", (double)codes->known);
	cJSON_AddNumberToObject(python, "bytes", (double)codes->bytes);
	cJSON_AddNumberToObject(python, "read", (double)codes->read);
	cJSON_AddNumberToObject(python, "copied", (double)codes->copied);
	cJSON *causes = cJSON_AddObjectToObject(python, "lost");
	for (int i = 0; i < CODE_LOST_COUNT; i++)
		cJSON_AddNumberToObject(causes, code_loss_name(i), (double)codes->lost[i]);
}
