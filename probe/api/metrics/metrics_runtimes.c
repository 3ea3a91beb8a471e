// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/metrics/metrics_runtimes.h"

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
	snprintf(row->text, sizeof(row->text), "%s",
		 versions->count == RUNTIME_VERSIONS_MAX ? "other" : text);
	row->supported = supported;
	return row;
}

void runtime_versions_count(struct runtime_versions *versions, const char *text, bool supported)
{
	row_of(versions, text, supported)->processes++;
}

void metrics_versions(struct buf *out, const char *name, const char *help,
		      const struct runtime_versions *versions)
{
	metrics_head(out, name, "gauge", help);
	for (size_t i = 0; i < versions->count; i++) {
		const struct runtime_version *row = &versions->rows[i];

		buf_printf(out, "stackprobe_%s{version=\"%s\",supported=\"%s\"} %u\n", name,
			   row->text, row->supported ? "true" : "false", row->processes);
	}
}

void metrics_codes(struct buf *out, const struct codes_words *words,
		   const struct code_cache_stats *codes)
{
	char help[160];

	snprintf(help, sizeof(help), "%s whose names are known.", words->plural);
	metrics_one(out, words->known, "gauge", help, (double)codes->known);
	metrics_one(out, words->bytes, "gauge", "Their memory in the daemon.",
		    (double)codes->bytes);
	snprintf(help, sizeof(help), "%s read from processes.", words->plural);
	metrics_one(out, words->read, "counter", help, (double)codes->read);
	snprintf(help, sizeof(help), "%s that could not be read, of a window, by cause.",
		 words->plural);
	metrics_head(out, words->lost, "counter", help);
	for (int i = 0; i < CODE_LOST_COUNT; i++)
		buf_printf(out, "stackprobe_%s{cause=\"%s\"} %llu\n", words->lost,
			   code_loss_name(i), (unsigned long long)codes->lost[i]);
}
