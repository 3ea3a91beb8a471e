/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLE of probes: a kind is a probe's row. A new probe adds its row here, its hooks to a BPF
 * object and its start to kernel/tracer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "output/format/pprof_shape.h"
#include "bpf/shared/probe.h"
#include "capability/capability.h"

#define KIND_NEEDS_MAX 16

/* What a probe stands on. Where the kernel doesn't allow it, the probe takes `instead`, and is
 * limited as `limit` says; where that isn't allowed either it can't run. Without an `instead` it is
 * limited, or, without a `limit`, can't run. */
struct kind_need {
	enum capability what, instead; /* CAN_NOTHING: the end, or nothing */
	const char *limit;	       /* NULL: none */
};

/* The hooks of a probe: those of one family are attached and detached by themselves. */
enum hooks {
	HOOKS_CLOCK,	/* each CPU's clock */
	HOOKS_SWITCHES, /* the scheduler's switches and wake-ups */
	HOOKS_FAULTS,	/* page faults */
	HOOKS_CALLS,	/* calls of allocators */
	HOOKS_COUNT
};

struct kind {
	const char *name;	/* in URLs, bodies and folders */
	const char *title;	/* of its pictures */
	const char *count_name; /* unit of its weights */
	bool for_users; /* users who aren't administrators may have it of their own processes */
	enum hooks hooks;
	bool by_bytes;		/* events are drawn by their bytes: a sample stands for several */
	uint64_t unit;		/* so much of the kernel's weight is one of that unit; 0: 1 */
	const char *event_name; /* what is counted beside the weight; NULL: nothing is */
	const char *event_title;
	struct pprof_shape pprof;
	struct kind_need needs[KIND_NEEDS_MAX];
};

/* The row of a number (bpf/shared/probe.h). */
const struct kind *kind_get(enum probe probe);

/* A weight of the kernel's side in the probe's unit, rounded up. */
uint64_t kind_weight(enum probe probe, uint64_t weight);

/* The number of a name (any case), or -ENOENT. */
int kind_find(const char *name);

/* Whether what has these needs (KIND_NEEDS_MAX) can run, by what was found of all capabilities;
 * why, and why with limits only. */
void needs_judge(const struct kind_need *needs, const struct finding findings[CAPABILITY_COUNT],
		 struct finding *finding);
void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding);
