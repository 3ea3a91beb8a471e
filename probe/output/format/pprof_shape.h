/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a pprof (profile.proto, gzip'd) contains; output.h has the writers. A distinct frame becomes
 * a location; a function is a name and a file. String labels tell whose a stack is: pid, comm;
 * thread, if the tree has threads; container, pod, namespace and container_pid, if they are known.
 * For servers that would make a series of each label, these can be frames at the stack's root.
 *
 * Source: github.com/google/pprof, proto/profile.proto.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a value of a sample is made from. */
enum pprof_of {
	PPROF_NONE, /* no value: the samples have fewer values */
	PPROF_WEIGHT,
	PPROF_EVENTS,
	PPROF_PERIODS, /* weight * sampling period, ns */
};

struct pprof_value {
	const char *type, *unit;
	enum pprof_of of;
	uint64_t factor; /* of weight or events; 0 means 1 */
};

#define PPROF_VALUES 2

/* The sample types of a probe's pprof. */
struct pprof_shape {
	struct pprof_value values[PPROF_VALUES];
	const char *period_type, *period_unit; /* never NULL; "": no period */
};

/* Which of the tree's frames for pod, container, process and thread become labels. */
enum pprof_labels {
	PPROF_LABELS_ALL,
	PPROF_LABELS_PROCESS, /* all but the thread, which stays a frame */
	PPROF_LABELS_NONE,
};

/* The limits of the server or tool that reads the pprof; 0: no limit. */
struct pprof_limits {
	size_t bytes;	/* of one pprof, before gzip */
	size_t samples; /* of one pprof */
	size_t depth;	/* locations of a sample; of more, those next to the leaf and [truncated] */
};
