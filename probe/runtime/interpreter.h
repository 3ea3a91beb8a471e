/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPython that a process has loaded: where, which version, and the layout that the walker and
 * the readers of code objects need. Immutable; references are counted on the loop's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "python/pypath.h"
#include "python/cpython.h"

struct interpreter {
	/* The file is the program or libpython. Errors: as cpython_of_process(). */
	struct runtime runtime;
	struct cpython_file found;
	struct python_layout layout; /* valid if runtime.error is 0 */
	struct pypath_script script;
	bool script_may_change; /* links in the script's path could not be resolved yet */
};

/* Return and drop a reference; `interpreter` may be NULL. */
struct interpreter *interpreter_ref(struct interpreter *interpreter);
void interpreter_unref(struct interpreter *interpreter);

/* Returns whether Python frames of the process are walked and named. The three functions with a
 * bool result return false for NULL. */
bool interpreter_is_supported(const struct interpreter *interpreter);

/* Writes the version: "3.11.7", "3.14.0rc1"; "": not known. */
void interpreter_version(const struct interpreter *interpreter, char *to, size_t bytes);

/* Returns in a few words why Python frames are not walked; "": they are. Static. */
const char *interpreter_problem(const struct interpreter *interpreter);

/* Returns whether a frame's code is that of _PyEval_EvalFrameDefault. */
bool interpreter_is_loop(const struct interpreter *interpreter, const struct code *code);

/* Returns whether a frame's code lies in the interpreter's file. */
bool interpreter_owns(const struct interpreter *interpreter, const struct code *code);

/* The kind of runtime (runtime/runtime.h). */
extern const struct runtime_kind interpreter_kind;
