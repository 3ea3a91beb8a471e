// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/interpreter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/python_script.h"

struct interpreter *interpreter_ref(struct interpreter *interpreter)
{
	if (interpreter)
		interpreter->runtime.refs++;
	return interpreter;
}

void interpreter_unref(struct interpreter *interpreter)
{
	if (!interpreter || !runtime_unref(&interpreter->runtime))
		return;
	python_script_done(&interpreter->script);
	free(interpreter);
}

bool interpreter_is_supported(const struct interpreter *interpreter)
{
	return interpreter && interpreter->runtime.error == 0;
}

/* PY_VERSION_HEX: major, minor, micro, a byte each; the level, the serial. */
void interpreter_version(const struct interpreter *interpreter, char *to, size_t bytes)
{
	static const char *const levels[16] = {[0xa] = "a", [0xb] = "b", [0xc] = "rc"};
	uint32_t version = interpreter->found.version;
	const char *level = levels[version >> 4 & 0xf];
	int len = snprintf(to, bytes, "%u.%u.%u", version >> 24, version >> 16 & 0xff,
			   version >> 8 & 0xff);

	if (!version)
		snprintf(to, bytes, "%s", "");
	else if (level && len > 0 && (size_t)len < bytes)
		snprintf(to + len, bytes - (size_t)len, "%s%u", level, version & 0xf);
}

const char *interpreter_problem(const struct interpreter *interpreter)
{
	switch (interpreter->runtime.error) {
	case 0:
		return "";
	case -ENOTSUP:
		return interpreter->found.version ? "unsupported version" : "unknown version";
	case -EBADMSG:
		return "what it says of its layout makes no sense";
	case -EBUSY:
	case -ETIMEDOUT:
		return "reading its memory took too long";
	default:
		return "its memory can't be read";
	}
}

bool interpreter_owns(const struct interpreter *interpreter, const struct code *code)
{
	return interpreter && runtime_owns(&interpreter->runtime, code);
}

bool interpreter_is_loop(const struct interpreter *interpreter, const struct code *code)
{
	if (!interpreter_owns(interpreter, code))
		return false;
	for (size_t i = 0; i < interpreter->found.loop_count; i++) {
		const struct cpython_range *range = &interpreter->found.loop[i];

		if (code->address >= range->from && code->address < range->to)
			return true;
	}
	return false;
}

static void ask_interpreter(pid_t pid, const struct process_memory *memory, struct runtime *runtime)
{
	struct interpreter *interpreter = (struct interpreter *)runtime;

	runtime->error = cpython_of_process(memory, &interpreter->found, runtime->bias,
					    &interpreter->layout);
	interpreter->script_may_change = python_script(pid, &interpreter->script) == -EAGAIN;
}

static bool is_found(const struct runtime *known, const void *found)
{
	const struct interpreter *interpreter = (const struct interpreter *)known;
	const struct cpython_file *file = found;

	return interpreter->found.version == file->version &&
	       interpreter->found.runtime == file->runtime;
}

static bool is_incomplete(const struct runtime *known)
{
	return ((const struct interpreter *)known)->script_may_change;
}

static void unref_as_runtime(struct runtime *runtime)
{
	interpreter_unref((struct interpreter *)runtime);
}

const struct runtime_kind interpreter_kind = {
	.number = RUNTIME_PYTHON,
	.name = "CPython",
	.bytes = sizeof(struct interpreter),
	.found_at = offsetof(struct interpreter, found),
	.found_bytes = sizeof(struct cpython_file),
	.is_found = is_found,
	.is_incomplete = is_incomplete,
	.ask = ask_interpreter,
	.unref = unref_as_runtime,
};
