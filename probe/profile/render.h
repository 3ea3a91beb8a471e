/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles to bytes, on the bulk worker. */
#pragma once

#include <stdint.h>

#include "loop/worker.h"
#include "output/format/output.h"
#include "profile/profile.h"
#include "stack/places.h"

#define RENDER_OUTPUTS_MAX 2
#define RENDER_BEFORE_MAX  2

struct symbol_files;

/* Where source lines are found, for outputs that show them. */
struct render_lines {
	struct symbol_files *files;
	struct worker *worker;
};

struct render {
	struct job job;

	/* the question */
	struct profile *profile; /* a reference is taken */
	/* What was before it, newest first, is added; NULL: no more. References are taken. */
	struct profile *before[RENDER_BEFORE_MAX];
	int pid;       /* only this process; 0: all */
	uint32_t node; /* only what is below it, of a profile without places; TREE_ROOT: all */
	bool icicle;   /* the picture has its root on top */
	bool events;   /* these instead of the weights (`node` is TREE_ROOT) */
	enum pprof_labels labels;
	const char *host;
	const struct render_lines *lines; /* borrowed; NULL: they aren't looked for */
	bool sparing;			  /* it is asked again and again (file/file_lines.h) */
	const struct output *outputs[RENDER_OUTPUTS_MAX]; /* NULL: none */
	void (*done)(void *arg, struct render *render);
	void *arg;

	/* the answer; done() may take the buffers over */
	int error;
	uint64_t total; /* weight of what was rendered; 0: nothing was written */
	struct buf content[RENDER_OUTPUTS_MAX];

	/* its own */
	struct profile *made; /* what is written; NULL: `profile` */
	struct places *places;
	struct worker *bulk;
	enum { RENDER_BEGINS, RENDER_PREPARED, RENDER_WRITTEN } step;
};

/* Copies the question and calls done() on the loop's thread. -ENOMEM */
int render_submit(struct worker *bulk, const struct render *question);

/* A copy as outputs want it (profile/by_container.h), for a profile is shared; without places
 * unless `places`. On the bulk worker. -ENOMEM, -ENOSPC */
int render_copy(const struct profile *from, bool places, struct profile **ret);
