// SPDX-License-Identifier: GPL-2.0-only
/* Which Pythons are there, and what is known of their code objects. */
#include <stdio.h>
#include <string.h>

#include "api/metrics_lines.h"
#include "profile/interpreter.h"

#define VERSIONS_MAX 64 /* what a host has is far less; others are counted together */

struct python_version {
	char text[32];
	bool supported;
	unsigned processes;
};

struct python_versions {
	struct python_version rows[VERSIONS_MAX];
	size_t count;
};

static struct python_version *row_of(struct python_versions *versions, const char *text,
				     bool supported)
{
	for (size_t i = 0; i < versions->count; i++) {
		struct python_version *row = &versions->rows[i];

		if (row->supported == supported && strcmp(row->text, text) == 0)
			return row;
	}
	if (versions->count == VERSIONS_MAX)
		return &versions->rows[VERSIONS_MAX - 1];
	struct python_version *row = &versions->rows[versions->count++];
	snprintf(row->text, sizeof(row->text), "%s",
		 versions->count == VERSIONS_MAX ? "other" : text);
	row->supported = supported;
	return row;
}

static void count(void *arg, const struct target *target)
{
	char text[32];

	if (!target->interpreter)
		return;
	interpreter_version(target->interpreter, text, sizeof(text));
	row_of(arg, text, interpreter_is_supported(target->interpreter))->processes++;
}

void metrics_python(struct buf *out, const struct services *services,
		    const struct codes_stats *codes)
{
	struct python_versions versions = {.count = 0};

	engine_targets(services->engine, count, &versions);
	metrics_head(out, "python_processes", "gauge",
		     "Processes with a CPython, by its version; of those that aren't supported "
		     "there are native frames.");
	for (size_t i = 0; i < versions.count; i++)
		buf_printf(out, "stackprobe_python_processes{version=\"%s\",supported=\"%s\"} %u\n",
			   versions.rows[i].text, versions.rows[i].supported ? "true" : "false",
			   versions.rows[i].processes);
	metrics_one(out, "python_code_objects", "gauge", "Code objects whose names are known.",
		    (double)codes->known);
	metrics_one(out, "python_code_bytes", "gauge", "Their memory in the daemon.",
		    (double)codes->bytes);
	metrics_one(out, "python_code_objects_read_total", "counter",
		    "Code objects read from processes.", (double)codes->read);
	metrics_one(out, "python_code_objects_copied_total", "counter",
		    "Code objects that came as copies made at a sample.", (double)codes->copied);
	metrics_head(out, "python_code_objects_lost_total", "counter",
		     "Code objects that could not be read, of a window, by cause.");
	for (int i = 0; i < CODE_LOST_COUNT; i++)
		buf_printf(out, "stackprobe_python_code_objects_lost_total{cause=\"%s\"} %llu\n",
			   code_loss_name(i), (unsigned long long)codes->lost[i]);
}
