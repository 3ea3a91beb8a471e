// SPDX-License-Identifier: GPL-2.0-only
#include "profile/interpreter.h"

#include <stdlib.h>

struct interpreter *interpreter_ref(struct interpreter *interpreter)
{
	if (interpreter)
		interpreter->refs++;
	return interpreter;
}

void interpreter_unref(struct interpreter *interpreter)
{
	if (!interpreter || --interpreter->refs)
		return;
	symbol_file_unref(interpreter->file);
	free(interpreter->script_dir);
	free(interpreter);
}

bool interpreter_is_supported(const struct interpreter *interpreter)
{
	return interpreter && interpreter->error == 0;
}

bool interpreter_owns(const struct interpreter *interpreter, const struct code *code)
{
	return interpreter && code->file == interpreter->file && code->place == CODE_FILE;
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
