/* SPDX-License-Identifier: GPL-2.0-only */
/* What /metrics has of each runtime alike: processes by version, code that was read from them. */
#pragma once

#include "api/metrics/metrics_lines.h"
#include "code/code_cache.h"

#define RUNTIME_VERSIONS_MAX 64 /* what a host has is far less; others are counted together */

struct runtime_version {
	char text[32];
	bool supported;
	unsigned processes;
};

struct runtime_versions {
	struct runtime_version rows[RUNTIME_VERSIONS_MAX];
	size_t count;
};

void runtime_versions_count(struct runtime_versions *versions, const char *text, bool supported);

/* The lines of `name`, a gauge. */
void metrics_versions(struct buf *out, const char *name, const char *help,
		      const struct runtime_versions *versions);

/* What of a kind of code is known and was lost; `plural` is how pieces are called. */
struct codes_words {
	const char *known, *bytes, *read, *lost; /* names of metrics */
	const char *plural;
};
void metrics_codes(struct buf *out, const struct codes_words *words,
		   const struct code_cache_stats *codes);
