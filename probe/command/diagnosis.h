/* SPDX-License-Identifier: GPL-2.0-only */
/* What `stackprobe doctor` found, and how it is shown. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "sched/sched_kind.h"

struct diagnosis {
	struct utsname host;
	struct finding probes[PROBE_COUNT];
	struct finding hooks[PROBE_COUNT]; /* the same by the capabilities alone, for probes that
					      are not built yet: what this kernel would allow */
	struct finding sched[SCHED_COUNT]; /* probes of /sched, by the capabilities */
	struct finding capabilities[CAPABILITY_COUNT]; /* from 1 on */
	bool ok; /* every built probe runs, with limits perhaps */
};

/* For people: at most `width` columns. */
void diagnosis_print(const struct diagnosis *diagnosis, FILE *out, unsigned width);

/* For programs: the shape is told in doc/troubleshooting.md. -ENOMEM */
int diagnosis_print_json(const struct diagnosis *diagnosis, FILE *out);
