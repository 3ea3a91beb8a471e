// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/metrics/metrics.h"
#include "base/cleanup.h"
#include "command/command.h"
#include "command/describe_lists.h"

#define DESCRIPTION_BYTES (1U << 20)

static const struct {
	const char *subject;
	void (*write)(struct buf *out);
} descriptions[] = {
	{"metrics", metrics_describe},
	{"params", describe_params},
	{"probes", describe_probes},
	{"proc_params", describe_proc_params},
	{"sched_params", describe_sched_params},
};

int describe(const char *subject)
{
	_cleanup_buf_ struct buf out = BUF_INIT(DESCRIPTION_BYTES);

	for (size_t i = 0; i < ARRAY_SIZE(descriptions); i++) {
		if (strcmp(subject, descriptions[i].subject) != 0)
			continue;
		descriptions[i].write(&out);
		if (buf_error(&out) || fwrite(out.data, 1, out.len, stdout) != out.len)
			return EXIT_FAILURE;
		return EXIT_SUCCESS;
	}
	return usage_error("no such description", subject);
}
