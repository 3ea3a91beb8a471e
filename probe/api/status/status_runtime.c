// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/status_runtime.h"

#include <errno.h>
#include <stdio.h>

#include "session/session_params.h"
#include "runtime/interpreter.h"
#include "runtime/jvm.h"
#include "runtime/made_code.h"
#include "runtime/made_dump.h"

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

void status_map_flag(struct json *json, const struct services *services,
		     const struct target *target)
{
	const char *flag = engine_map_flag(services->engine, target);

	if (flag)
		json_text(json, "names_with", flag);
}

/* Tells in how much of its stacks an inlined leaf may be hidden, and with which flag it isn't. */
static void tell_inlined(struct json *json, const struct target *target)
{
	uint64_t all = 0;

	for (int i = 0; i < TRUNCATED_COUNT; i++)
		all += target->truncated[i];
	if (!target->inline_unknown || !all)
		return;
	json_double(json, "java_inline_unknown", (double)target->inline_unknown / (double)all);
	json_text(json, "java_inlined_with",
		  "-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints");
}

static const char *made_problem(int error)
{
	switch (error) {
	case -ENOTSUP:
		return "its list has another version";
	case -EAGAIN:
		return "its list makes no sense, or changed each time while it was read";
	case -EBUSY:
	case -ETIMEDOUT:
		return "reading its memory took too long";
	case -ENOMEM:
		return "the daemon has no memory for it";
	default:
		return "its memory can't be read";
	}
}

void status_made_code(struct json *json, const struct target *target)
{
	const struct made_code *made = target_made_code(target);
	uint64_t functions = 0;

	if (!made)
		return;
	json_object(json, "made_code");
	for (size_t i = 0; i < made->code.count; i++)
		functions += jit_object_functions(made->code.objects[i]);
	json_u64(json, "files", made->code.count);
	json_u64(json, "functions", functions);
	json_u64(json, "rows", made->code.rows.image.stats.rows);
	json_object(json, "left_out");
	for (unsigned i = 0; i < JIT_LOST_COUNT; i++) {
		if (made->code.lost[i])
			json_u64(json, jit_loss_name(i), made->code.lost[i]);
	}
	json_object_end(json);
	if (made->runtime.error)
		json_text(json, "problem", made_problem(made->runtime.error));
	json_object_end(json);
}

static const char *dump_problem(int error)
{
	switch (error) {
	case -EPERM:
		return "it is no regular file of the process's own user";
	case -ENOTSUP:
		return "its times are of another clock than ours: the processor's own, or a time "
		       "namespace's";
	case -EBADMSG:
		return "it makes no sense, or is of another version or processor";
	case -ESTALE:
		return "it has become shorter";
	case -ESRCH:
		return "it is another process's, or the process was gone before it was opened";
	case -ETIMEDOUT:
		return "reading it hung";
	case -ENOSPC:
	case -ENOMEM:
		return "the daemon has no memory for it";
	default:
		return "it can't be read";
	}
}

void status_made_dump(struct json *json, const struct target *target)
{
	uint64_t rows;
	int error;

	if (!target->dump)
		return;
	const struct jitdump *known = made_dump_state(target->dump, &rows, &error);
	json_object(json, "jitdump");
	json_u64(json, "functions", known ? jitdump_functions(known) : 0);
	json_u64(json, "rows", rows);
	json_object(json, "left_out");
	for (unsigned i = 0; known && i < JIT_LOST_COUNT; i++) {
		if (jitdump_lost(known, i))
			json_u64(json, jit_loss_name(i), jitdump_lost(known, i));
	}
	json_object_end(json);
	if (error && error != -EAGAIN)
		json_text(json, "problem", dump_problem(error));
	json_object_end(json);
}

void status_java_vm(struct json *json, const struct services *services, const struct target *target)
{
	struct java_state state;

	if (!target_jvm(target))
		return;
	engine_java_state(services->engine, target, &state);
	json_text(json, "java_source", java_source_name(state.way));
	json_text(json, "java_reason", state.reason);
	json_text(json, "java_agent", state.agent);
	tell_inlined(json, target);
}

void status_runtimes(struct json *json, const struct figures *figures)
{
	const struct code_cache_stats *codes = figures->engine.codes;

	json_object(json, "python");
	measures_json(json, &python_measures, &figures->python);
	measures_json(json, &python_code_measures, &codes[CODES_PYTHON]);
	json_object_end(json);
	json_object(json, "java");
	measures_json(json, &java_measures, &figures->java);
	measures_json(json, &java_code_measures, &codes[CODES_JAVA]);
	measures_json(json, &drain_java_measures, &figures->engine.drain);
	measures_json_object(json, &agent_measures, &figures->agents);
	measures_json_object(json, &jfr_measures, &figures->jfr);
	json_object_end(json);
}
