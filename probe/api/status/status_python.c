// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_python.h"

#include <stdio.h>

#include "api/status/status_codes.h"
#include "runtime/interpreter.h"
#include "runtime/jvm.h"

#define RUNTIME_MAX 192

static void describe_runtime(char text[RUNTIME_MAX], const char *name, const char *version,
			     const char *problem)
{
	snprintf(text, RUNTIME_MAX, "%s%s%s%s%s", name, version[0] ? " " : "", version,
		 problem[0] ? ": " : "", problem);
}

static void tell_java(const struct jvm *jvm, char text[RUNTIME_MAX])
{
	char version[32], problem[96];

	text[0] = '\0';
	if (!jvm)
		return;
	jvm_version(jvm, version, sizeof(version));
	jvm_problem(jvm, problem, sizeof(problem));
	describe_runtime(text, "java", version, problem);
}

static void tell_python(const struct interpreter *interpreter, char text[RUNTIME_MAX])
{
	char version[32];

	text[0] = '\0';
	if (!interpreter)
		return;
	interpreter_version(interpreter, version, sizeof(version));
	describe_runtime(text, "python", version, interpreter_problem(interpreter));
}

void status_runtime(struct json *json, const struct target *target)
{
	char java[RUNTIME_MAX], python[RUNTIME_MAX], both[2 * RUNTIME_MAX];

	tell_java(target_jvm(target), java);
	tell_python(target_interpreter(target), python);
	snprintf(both, sizeof(both), "%s%s%s", java, java[0] && python[0] ? ", " : "", python);
	json_text(json, "runtime", both[0] ? both : "native");
}

struct python_counts {
	unsigned processes, unsupported;
};

static void count_python_process(void *arg, const struct target *target)
{
	struct python_counts *counts = arg;

	if (!target_interpreter(target))
		return;
	counts->processes++;
	counts->unsupported += !interpreter_is_supported(target_interpreter(target));
}

void status_python(struct json *json, const struct services *services,
		   const struct code_cache_stats *codes)
{
	struct python_counts counts = {0};

	engine_targets(services->engine, count_python_process, &counts);
	json_object(json, "python");
	json_numbers(json, {"processes", counts.processes}, {"unsupported", counts.unsupported});
	status_codes(json, "code_objects", codes);
	json_u64(json, "copied", codes->copied);
	json_object_end(json);
}
