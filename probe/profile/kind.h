/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * THE TABLE of probes: a kind is a probe's row. A new probe adds its row here, its hooks to a BPF
 * object and its start to profile/tracer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "probe.h"

struct kind {
	const char *name;	/* in URLs, bodies and folders */
	const char *title;	/* of its pictures */
	const char *count_name; /* unit of its weights */
	bool built;		/* in this version */
};

/* The row of a number (bpf/probe.h). */
const struct kind *kind_get(enum probe probe);

/* The number of a name (any case), or -ENOENT. */
int kind_find(const char *name);

/* A bit for each probe of this version. */
uint32_t kinds_built(void);
