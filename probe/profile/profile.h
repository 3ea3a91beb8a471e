/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A profile: what one subscriber has of one probe since a time, as a tree with processes below its
 * root, and by thread. References are counted on the loop's thread; the tree and the records are
 * touched by the bulk worker's jobs alone, which run one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/format/output.h"
#include "bpf/shared/probe.h"
#include "profile/view.h"
#include "bpf/shared/sample.h"
#include "stack/records.h"
#include "stack/tree.h"

#define FRAME_TRUNCATED "[truncated]"
#define FRAME_UNKNOWN	"[unknown]"
#define FRAME_JVM	"[jvm]" /* all of a stack of the Java VM's own */

struct profile {
	unsigned refs; /* of the loop's thread */
	struct tree *tree;
	struct records *records; /* whose the tree's stacks are */
	enum probe probe;
	enum view view;	     /* VIEW_ALL, unless it is set */
	int64_t from, until; /* of loop_real_ns() */
	uint64_t began_ns;   /* of loop_now_ns(), about: `from` is by a clock that may be set */
	uint64_t period_ns;
	uint64_t weight;	  /* in the probe's unit, of the whole tree */
	uint64_t events, samples; /* what was to be sampled, and the stacks taken for it: fewer
				     where the guard thinned them */
	bool places;		  /* frames of native code by their place in it, too */
	bool shows_events;	  /* the tree's weights are events */
	bool by_container;	  /* profile_by_container() made it */
	uint64_t left_out;	  /* events by the guard: those that were taken stand for them */
	uint64_t lost;		  /* samples lost meanwhile */
	uint64_t refused;	  /* events that found no room in the tree */
	int *jfr_pids;		  /* processes with stacks that their Java VM recorded */
	size_t jfr_count;
};

/* With one reference. -ENOMEM */
int profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns);
/* An empty one of the same probe, view and time, and of the same losses, for a copy of it: with
 * room for twice as much, as frames of pods and containers come to what may be full already.
 * -ENOMEM */
int profile_new_like(struct profile **ret, const struct profile *like, bool places);
struct profile *profile_ref(struct profile *profile);
void profile_unref(struct profile *profile);
static inline void profile_unrefp(struct profile **profile)
{
	profile_unref(*profile);
}
#define _cleanup_profile_ _cleanup_(profile_unrefp)

/* The node of a thread's stacks: its process's or, with a frame for it, its own. -ENOSPC, -ENOMEM
 */
int64_t profile_thread(struct profile *profile, const struct record_who *who, bool thread_frame);

/* It has what was until then. Where the clock was set back meanwhile, `from` follows it. */
void profile_set_until(struct profile *profile, int64_t until);

/* Adds `more` to `profile`, its time included. -ENOSPC, -ENOMEM: a part was added. */
int profile_merge(struct profile *profile, const struct profile *more);

/* One process, as its frame `[pid]comm` names it. */
struct profile_process {
	uint32_t node;
	int pid;
	const char *comm; /* borrowed from the tree */
};

/* The processes in the tree, in no order. *ret is the caller's to free. Returns their number. */
int64_t profile_processes(const struct profile *profile, struct profile_process **ret);

/* Whether its Java VM has recorded stacks of that process itself, and that it has. (Without memory
 * to keep it, pictures don't say so.) */
bool profile_is_jfr(const struct profile *profile, int pid);
void profile_tell_jfr(struct profile *profile, int pid);

/* A profile of just the processes with that pid, without places unless `places`.
 * -ENOMEM, -ENOSPC */
int profile_select(struct profile **ret, const struct profile *from, int pid, bool places);

/* Of an empty profile: what it gets from now on has functions and lines only, as pictures show
 * them. */
void profile_drop_places(struct profile *profile);

/* Its events take the place of its weights. */
void profile_show_events(struct profile *profile);

/* The words for a picture of all (TREE_ROOT) or of one process's node. `host` is borrowed. */
void profile_describe(const struct profile *profile, uint32_t start, const char *host,
		      struct profile_meta *meta);
