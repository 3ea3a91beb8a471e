/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPython that a process has mapped: where, which version, what its walker and the readers of
 * its code objects have to know. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "python/pypath.h"
#include "python/cpython.h"

struct interpreter {
	/* Of the program or libpython. Errors: -ENOTSUP: a version that isn't known, -EBADMSG: what
	 * it says of itself makes no sense. */
	struct runtime runtime;
	struct cpython_file found;
	struct python_layout layout;
	struct pypath_script script;
	bool script_may_change; /* its links could not be resolved yet */
};

struct interpreter *interpreter_ref(struct interpreter *interpreter);
void interpreter_unref(struct interpreter *interpreter);

/* Its frames are walked and named. False for NULL, as all of these are. */
bool interpreter_is_supported(const struct interpreter *interpreter);

/* "3.11.7", "3.14.0rc1"; "": unknown. */
void interpreter_version(const struct interpreter *interpreter, char *to, size_t bytes);

/* Why its frames are not walked, a few words; "": they are. */
const char *interpreter_problem(const struct interpreter *interpreter);

/* Whether a frame is one of _PyEval_EvalFrameDefault. */
bool interpreter_is_loop(const struct interpreter *interpreter, const struct code *code);

/* Whether a frame is code of the file that the interpreter is in. */
bool interpreter_owns(const struct interpreter *interpreter, const struct code *code);

/* How a process is asked about its interpreter, and its script's folders (runtime_ask()). */
extern const struct runtime_kind interpreter_kind;
