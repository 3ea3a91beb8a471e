/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /metrics that all runtimes share: processes by version, and code that was read from
 * them. */
#pragma once

#include "api/metrics/metrics_lines.h"
#include "code/code_cache.h"

#define RUNTIME_VERSIONS_MAX 64 /* more than a host has; further ones are counted together */

struct runtime_version {
	char text[32];
	bool supported;
	unsigned processes;
};

struct runtime_versions {
	struct runtime_version rows[RUNTIME_VERSIONS_MAX];
	size_t count;
};

/* Counts a process with that version. */
void runtime_versions_count(struct runtime_versions *versions, const char *text, bool supported);

/* Writes the lines of the gauge `name`. */
void metrics_versions(struct buf *out, const char *name, const char *help,
		      const struct runtime_versions *versions);

/* Names of the metrics of a kind of code. */
struct codes_words {
	const char *known, *bytes, *read, *lost; /* names of the metrics */
	const char *plural;			 /* word for the pieces of code */
};
/* Writes the metrics of a kind of code: what is known, was read and was lost. */
void metrics_codes(struct buf *out, const struct codes_words *words,
		   const struct code_cache_stats *codes);
