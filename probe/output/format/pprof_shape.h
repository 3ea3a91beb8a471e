/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * pprof: a profile as profile.proto has it, gzip'd. A distinct frame is a location, a function is a
 * name and a file. Whose a stack is stands in string labels: pid, comm; thread where the tree has
 * threads; container, pod, namespace and container_pid where they are known; or, for servers that
 * would make a series of each, as frames at its root.
 *
 * Source: github.com/google/pprof, proto/profile.proto.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A value of each sample. */
enum pprof_of {
	PPROF_NONE, /* the sample has fewer */
	PPROF_WEIGHT,
	PPROF_EVENTS,
	PPROF_PERIODS, /* the weight times the sampling's period */
};

struct pprof_value {
	const char *type, *unit;
	enum pprof_of of;
	uint64_t factor; /* 0: 1 */
};

#define PPROF_VALUES 2

/* What a probe's pprof has. */
struct pprof_shape {
	struct pprof_value values[PPROF_VALUES];
	const char *period_type, *period_unit; /* "": none */
};

/* Of what has a process and a thread as frames, which are labels instead? */
enum pprof_labels {
	PPROF_LABELS_ALL,
	PPROF_LABELS_PROCESS, /* pid, comm and the container's; the thread stays a frame */
	PPROF_LABELS_NONE,
};

/* What who reads it takes; 0: any. */
struct pprof_limits {
	size_t bytes;	/* before gzip */
	size_t samples; /* of one pprof */
	size_t depth; /* locations of a sample: beyond, those next to the leaf, below [truncated] */
};
