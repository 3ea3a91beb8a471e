/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Renders profiles to bytes by outputs, in jobs of the bulk worker. */
#pragma once

#include <stdint.h>

#include "loop/worker.h"
#include "output/format/output.h"
#include "profile/profile.h"
#include "profile/stack_choice.h"
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
	struct profile *profile; /* render_submit() takes a reference */
	bool second;		 /* its second profile, and those of `before` */
	/*
	 * Earlier profiles to be added, newest first; NULL: no more. render_submit() takes
	 * references.
	 */
	struct profile *before[RENDER_BEFORE_MAX];
	int pid; /* only this process; 0: all */
	/* only below this node, of a profile without places; TREE_ROOT: all */
	uint32_t node;
	bool icicle;		    /* a picture with the root on top */
	bool header;		    /* folded text begins with the line that tells what it is of */
	bool events;		    /* show events instead of weights (`node` is TREE_ROOT) */
	struct stack_choice choice; /* only these stacks (`node` is TREE_ROOT) */
	enum pprof_labels labels;
	const char *host;
	const struct render_lines *lines; /* borrowed; NULL: no source lines */
	bool sparing;			  /* it is rendered again and again (file/file_lines.h) */
	const struct output *outputs[RENDER_OUTPUTS_MAX]; /* NULL: none */
	void (*done)(void *arg, struct render *render);
	void *arg;

	/* the answer; done() may take the buffers over */
	int error;
	uint64_t total; /* rendered weight; 0: nothing was written */
	struct profile_meta
		meta; /* what is told of it; borrows from the profile and the question */
	struct buf content[RENDER_OUTPUTS_MAX];

	/* private */
	struct profile *made; /* the profile that is written; NULL: `profile` */
	struct places *places;
	struct worker *bulk;
	enum { RENDER_BEGINS, RENDER_PREPARED, RENDER_WRITTEN } step;
};

/* Submits a copy of the question; done() is called on the loop's thread. Returns 0 or -ENOMEM. */
int render_submit(struct worker *bulk, const struct render *question);

/*
 * Copies a profile in the form that outputs want (profile/by_container.h), as profiles are shared;
 * without places unless `places`. Jobs of the bulk worker only. Returns 0, -ENOMEM or -ENOSPC.
 */
int render_copy(const struct profile *from, bool places, struct profile **ret);
