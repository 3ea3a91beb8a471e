// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/status/runtime_versions.h"

#include <stdio.h>
#include <string.h>

static struct runtime_version *row_of(struct runtime_versions *versions, const char *text,
				      bool supported)
{
	for (size_t i = 0; i < versions->count; i++) {
		struct runtime_version *row = &versions->rows[i];

		if (row->supported == supported && strcmp(row->text, text) == 0)
			return row;
	}
	if (versions->count == RUNTIME_VERSIONS_MAX)
		return &versions->rows[RUNTIME_VERSIONS_MAX - 1];
	struct runtime_version *row = &versions->rows[versions->count++];
	*row = (struct runtime_version){.supported = supported};
	snprintf(row->text, sizeof(row->text), "%s",
		 versions->count == RUNTIME_VERSIONS_MAX ? "other" : text);
	return row;
}

void runtime_versions_count(struct runtime_versions *versions, const char *text, bool supported)
{
	row_of(versions, text, supported)->processes++;
	versions->processes++;
	versions->unsupported += !supported;
}

void runtime_versions_python(struct runtime_versions *versions,
			     const struct interpreter *interpreter)
{
	char text[32];

	if (!interpreter)
		return;
	interpreter_version(interpreter, text, sizeof(text));
	runtime_versions_count(versions, text, interpreter_is_supported(interpreter));
}

void runtime_versions_java(struct runtime_versions *versions, const struct jvm *jvm)
{
	char text[32];

	if (!jvm)
		return;
	jvm_version(jvm, text, sizeof(text));
	runtime_versions_count(versions, text, jvm_is_supported(jvm));
}

static void write_versions(struct buf *out, const struct measure *measure, const void *stats)
{
	const struct runtime_versions *versions = stats;

	for (size_t i = 0; i < versions->count; i++) {
		const struct runtime_version *row = &versions->rows[i];

		buf_printf(out, "stackprobe_%s{version=\"%s\",supported=\"%s\"} %u\n",
			   measure->name, row->text, row->supported ? "true" : "false",
			   row->processes);
	}
}

static const char unsupported[] = "Of these, processes that have native frames only.";

static const struct measure python_rows[] = {
	{"python_processes", "processes", GAUGE,
	 "Processes with a CPython, by its version; of those that aren't supported there are "
	 "native frames.",
	 MEASURE_AT(runtime_versions, processes), .lines = write_versions,
	 .labels = "version, supported"},
	{NULL, "unsupported", GAUGE, unsupported, MEASURE_AT(runtime_versions, unsupported)},
};

const struct measures python_measures = {"Python", "status.python", MEASURE_ROWS(python_rows)};

static const struct measure java_rows[] = {
	{"java_processes", "processes", GAUGE,
	 "Processes with a Java VM (HotSpot), by its version; of those that aren't supported there "
	 "are native frames.",
	 MEASURE_AT(runtime_versions, processes), .lines = write_versions,
	 .labels = "version, supported"},
	{NULL, "unsupported", GAUGE, unsupported, MEASURE_AT(runtime_versions, unsupported)},
};

const struct measures java_measures = {"Java", "status.java", MEASURE_ROWS(java_rows)};
