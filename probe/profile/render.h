/* SPDX-License-Identifier: GPL-2.0-only */
/* Profiles to bytes, on the bulk worker. */
#pragma once

#include <stdint.h>

#include "base/worker.h"
#include "output/output.h"
#include "profile/profile.h"

#define RENDER_OUTPUTS_MAX 2

struct render {
	struct job job;

	/* the question */
	struct profile *profile; /* a reference is taken */
	struct profile *before;	 /* added to it where it isn't NULL; a reference is taken */
	int pid;		 /* only this process; 0: all */
	uint32_t node;		 /* only what is below it; TREE_ROOT: all */
	bool icicle;		 /* the picture has its root on top */
	bool events;		 /* these instead of the weights (`node` is TREE_ROOT) */
	const char *host;
	const struct output *outputs[RENDER_OUTPUTS_MAX]; /* NULL: none */
	void (*done)(void *arg, struct render *render);
	void *arg;

	/* the answer; done() may take the buffers over */
	int error;
	uint64_t total; /* weight of what was rendered; 0: nothing was written */
	struct buf content[RENDER_OUTPUTS_MAX];
};

/* Copies the question and calls done() on the loop's thread. -ENOMEM */
int render_submit(struct worker *bulk, const struct render *question);
