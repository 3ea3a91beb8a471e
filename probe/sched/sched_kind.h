/* SPDX-License-Identifier: GPL-2.0-or-later */
/* THE TABLE of the probes of /sched. Constant; any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kind/kind.h"
#include "bpf/shared/scheduler.h"

struct sched_kind {
	const char *name;	       /* in URLs and bodies */
	const char *what;	       /* what it counts, for people */
	const struct kind_need *needs; /* KIND_NEEDS_MAX */
	bool grouped;		       /* `group_by` applies to it */
};

/* Returns the row of a probe. */
const struct sched_kind *sched_kind_get(enum sched_probe probe);

/* Returns the number of the probe with that name (any case), or -ENOENT. */
int sched_kind_find(const char *name);
