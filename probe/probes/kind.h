/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * THE TABLE of probes: a `kind` is a probe's row. A new probe adds its row here, its hooks to a BPF
 * object and its start to kernel/tracer. Constant; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "output/format/pprof_shape.h"
#include "bpf/shared/probe.h"
#include "capability/capability.h"

#define KIND_NEEDS_MAX 16

/*
 * Capability `what` is required. If it is missing: with `instead`, that is used (the probe is
 * limited if `limit` is set), and without both the probe can't run; with only `limit`, the probe
 * runs limited; with neither, it can't run.
 */
struct kind_need {
	/* what: CAN_NOTHING ends the list; instead: CAN_NOTHING if there is none */
	enum capability what, instead;
	const char *limit; /* a sentence; NULL: none */
};

/* What each probe needs: to have programs run, and to get their data. */
/* clang-format off */
#define NEEDS_PROGRAMS \
	{.what = CAN_KNOW_TYPES}, {.what = CAN_LOCK_MEMORY}, {.what = CAN_RAW_TRACEPOINT}
#define NEEDS_DATA \
	{.what = CAN_READ_KERNEL}, {.what = CAN_RING_BUFFER}, {.what = CAN_MAP_IN_MAP}, \
	{.what = CAN_SHARE_MAP}, {.what = CAN_READ_BATCH}, {.what = CAN_SEE_PIDS}
/* clang-format on */

/* Families of hooks, each attached and detached by itself. */
enum hooks {
	HOOKS_CLOCK,	/* each CPU's clock */
	HOOKS_SWITCHES, /* the scheduler's switches and wake-ups */
	HOOKS_FAULTS,	/* page faults */
	HOOKS_CALLS,	/* calls of allocators */
	HOOKS_COUNT
};

struct kind {
	const char *name;	/* in URLs, bodies and folders */
	const char *title;	/* of the probe's pictures */
	const char *count_name; /* unit of its weights */
	/* users who aren't administrators may use it on their own processes */
	bool for_users;
	enum hooks hooks;
	bool by_bytes;		/* events are drawn by their bytes: a sample stands for several */
	uint64_t unit;		/* weight of the kernel's side that makes one unit; 0: 1 */
	const char *event_name; /* what is counted beside the weight; NULL: nothing */
	const char *event_title;
	struct pprof_shape pprof;
	struct kind_need needs[KIND_NEEDS_MAX];
};

/* Returns the row of a probe (bpf/shared/probe.h). */
const struct kind *kind_get(enum probe probe);

/* Converts a weight of the kernel's side to the probe's unit, rounded up. */
uint64_t kind_weight(enum probe probe, uint64_t weight);

/* Returns the number of the probe with that name (any case), or -ENOENT. */
int kind_find(const char *name);

/*
 * Judge whether something with these needs (KIND_NEEDS_MAX) can run, from the findings on all
 * capabilities: fill in whether, why not, or why only with limits.
 */
void needs_judge(const struct kind_need *needs, const struct finding findings[CAPABILITY_COUNT],
		 struct finding *finding);
void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding);
