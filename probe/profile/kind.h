/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLE of probes: a kind is a probe's row. A new probe adds its row here, its hooks to a BPF
 * object and its start to profile/tracer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe.h"
#include "profile/capability.h"

#define KIND_NEEDS_MAX 16

/* What a probe stands on. Where the kernel doesn't allow it, the probe takes `instead`; then, or
 * without either, it is limited as `limit` says. Neither, and no `limit`: it can't run. */
struct kind_need {
	enum capability what, instead; /* CAN_NOTHING: the end, or nothing */
	const char *limit;	       /* NULL: none */
};

struct kind {
	const char *name;	/* in URLs, bodies and folders */
	const char *title;	/* of its pictures */
	const char *count_name; /* unit of its weights */
	bool built;		/* in this version */
	struct kind_need needs[KIND_NEEDS_MAX];
};

/* The row of a number (bpf/probe.h). */
const struct kind *kind_get(enum probe probe);

/* The number of a name (any case), or -ENOENT. */
int kind_find(const char *name);

/* Whether it can run, by what was found of all capabilities; why, and why with limits only. */
void kind_judge(const struct kind *kind, const struct finding findings[CAPABILITY_COUNT],
		struct finding *finding);

/* A bit for each probe of this version. */
uint32_t kinds_built(void);
