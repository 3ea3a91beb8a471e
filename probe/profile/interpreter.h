/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPython that a process has mapped: where, which version, what its walker and the readers of
 * its code objects have to know. Immutable once it is a target's; shared with processes that it
 * forks, dropped at an exec. References belong to the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/pypath.h"
#include "symbol/symbol.h"
#include "unwind/cpython.h"

struct interpreter {
	unsigned refs;
	struct symbol_file *file; /* the program or libpython; with a reference */
	uint64_t bias;		  /* where that lies: linked addresses plus this */
	struct cpython_file found;
	/* 0: `layout` is valid. -ENOTSUP: a version that isn't known, -EBADMSG: what it says of
	 * itself makes no sense, -ETIMEDOUT: its memory hangs; or the errno of reading it. */
	int error;
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
