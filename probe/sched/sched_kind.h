/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE TABLE of the probes of /sched: what people read of them. What is counted, and when, is in THE
 * LIST (bpf/shared/sched_probes.h). Constant; any thread.
 */
#pragma once

#include "kind/kind.h"
#include "bpf/shared/scheduler.h"

#define SCHED_NAME_BYTES 32 /* a name with its end */

struct sched_kind {
	const char *name; /* in URLs and bodies */
	const char *what; /* what it counts, for people */
	/* in /metrics, behind "stackprobe_": of all groups together */
	const char *metric_name, *metric_help;
};

/* Returns the row of a probe. */
const struct sched_kind *sched_kind_get(enum sched_probe probe);

/* Returns what a probe needs: KIND_NEEDS_MAX entries. */
const struct kind_need *sched_kind_needs(enum sched_probe probe);

/* Returns the number of the probe with that name (any case), or -ENOENT. */
int sched_kind_find(const char *name);
