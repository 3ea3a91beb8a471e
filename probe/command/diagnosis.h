/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of `stackprobe doctor`, and its printers. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "costs/cost_kind.h"
#include "sched/sched_kind.h"

struct diagnosis {
	struct utsname host;
	struct finding probes[PROBE_COUNT];
	/* by the capabilities and the kernel's types alone: what this kernel allows */
	struct finding hooks[PROBE_COUNT];
	/* probes of /sched and of /proc, by the capabilities */
	struct finding sched[SCHED_COUNT], proc[COST_PROBES];
	struct finding capabilities[CAPABILITY_COUNT]; /* from CAN_NOTHING + 1 on */
	bool ok; /* each probe, also of /sched and /proc, runs, perhaps with limits; or is
		    of_hardware */
};

/* Prints a text for people, in at most `width` columns. */
void diagnosis_print(const struct diagnosis *diagnosis, FILE *out, unsigned width);

/* Prints JSON for programs; doc/troubleshooting.md describes it. Returns 0, or -ENOMEM. */
int diagnosis_print_json(const struct diagnosis *diagnosis, FILE *out);
