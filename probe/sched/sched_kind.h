/* SPDX-License-Identifier: GPL-2.0-only */
/* The probes of the feature /sched. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probes/kind.h"
#include "bpf/shared/scheduler.h"

struct sched_kind {
	const char *name;	       /* in URLs and bodies */
	const char *what;	       /* what it counts, for people */
	const struct kind_need *needs; /* KIND_NEEDS_MAX */
	bool grouped;		       /* `group_by` holds for it */
};

const struct sched_kind *sched_kind_get(enum sched_probe probe);

/* The number of a name (any case), or -ENOENT. */
int sched_kind_find(const char *name);
