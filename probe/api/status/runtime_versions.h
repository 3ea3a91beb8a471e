/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes with a runtime, counted by its version. */
#pragma once

#include "measure/measure.h"
#include "runtime/interpreter.h"
#include "runtime/jvm.h"

#define RUNTIME_VERSIONS_MAX 64 /* more than a host has; further ones are counted together */

struct runtime_versions {
	struct runtime_version {
		char text[32];
		bool supported;
		unsigned processes;
	} rows[RUNTIME_VERSIONS_MAX];
	size_t count;
	uint64_t processes, unsupported; /* of all versions */
};

/* Counts a process with that version. */
void runtime_versions_count(struct runtime_versions *versions, const char *text, bool supported);

/* Count a process with that CPython, or Java VM; NULL: it has none. */
void runtime_versions_python(struct runtime_versions *versions,
			     const struct interpreter *interpreter);
void runtime_versions_java(struct runtime_versions *versions, const struct jvm *jvm);

/* Rows of struct runtime_versions. */
extern const struct measures python_measures, java_measures;
