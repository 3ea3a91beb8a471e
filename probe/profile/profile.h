/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile: what one subscriber has of one probe since a time, as a tree with processes below its
 * root, and by thread. Its reference count belongs to the loop thread; its tree and records belong
 * to jobs of the bulk worker, which run one after the other.
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
	unsigned refs; /* loop thread only */
	struct tree *tree;
	struct records *records; /* weights of the tree's stacks by thread */
	/*
	 * The stacks with their second value (VIEW_SECOND), of the same time; NULL: the probe has
	 * none, or this is a copy of one view.
	 */
	struct profile *second;
	enum probe probe;
	enum view view;	     /* VIEW_ALL by default */
	int64_t from, until; /* loop_real_ns() */
	uint64_t covered_ns; /* of a range of history: what of that was sampled; else 0 */
	uint64_t began_ns;   /* loop_now_ns() at about `from`, whose clock may be set */
	uint64_t period_ns;
	uint64_t weight; /* of the whole tree, in the probe's unit */
	/*
	 * events to be sampled, and the stacks taken for them: fewer where the guard thinned them
	 */
	uint64_t events, samples;
	bool places;	   /* frames of native code have their place in it */
	bool shows_events; /* the tree's weights are events */
	bool by_container; /* profile_by_container() made it */
	uint64_t left_out; /* events left out by the guard: the taken ones stand for them */
	uint64_t lost;	   /* samples lost in its time */
	uint64_t refused;  /* events without room in the tree */
	int *jfr_pids;	   /* pids whose Java VM recorded stacks */
	size_t jfr_count;
};

/*
 * Creates an empty profile with one reference, and with a second one if the probe has a second
 * value. Returns 0 or -ENOMEM.
 */
int profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns);
/*
 * Creates an empty profile for a copy of `like`, with its probe, view, time and losses. It has room
 * for twice as much, as frames of pods and containers are added to what may be full already.
 * Returns 0 or -ENOMEM.
 */
int profile_new_like(struct profile **ret, const struct profile *like, bool places);
struct profile *profile_ref(struct profile *profile);
void profile_unref(struct profile *profile);
static inline void profile_unrefp(struct profile **profile)
{
	profile_unref(*profile);
}
#define _cleanup_profile_ _cleanup_(profile_unrefp)

/*
 * Returns the node for a thread's stacks: its process's, or its own with `thread_frame`. -ENOSPC,
 * -ENOMEM.
 */
int64_t profile_thread(struct profile *profile, const struct record_who *who, bool thread_frame);

/* Makes room for so many more stacks, so that they are added faster. Returns 0 or -ENOMEM. */
int profile_reserve(struct profile *profile, size_t stacks);

/*
 * Adds a record to the tree and to the records, with the events that it stands for and the samples
 * taken for them. Returns 0, or -ENOSPC or -ENOMEM: the records had no room, the tree has it.
 */
int profile_add(struct profile *profile, const struct record *record, uint64_t events,
		uint64_t samples);

/* Sets its begin to now, which `real_ns` says. */
void profile_begin(struct profile *profile, int64_t real_ns);

/* Has it begin where another one ended. */
void profile_set_from(struct profile *profile, int64_t from);

/* Adds what was lost, and left out by the guard, in the time of the profile. */
void profile_add_lost(struct profile *profile, uint64_t lost, uint64_t left_out);

/* Sets its end. If the clock was set back meanwhile, `from` follows. */
void profile_set_until(struct profile *profile, int64_t until);

/* Adds `more` to `profile`, with its time; their second profiles too, if both have one. Returns 0,
 * or -ENOSPC or -ENOMEM: a part was added. */
int profile_merge(struct profile *profile, const struct profile *more);

/* A process, as its frame `[pid]comm` names it. */
struct profile_process {
	uint32_t node;
	int pid;
	const char *comm; /* borrowed from the tree */
};

/*
 * Lists the processes in the tree, in no order; the caller frees *ret. Returns their number, or
 * -ENOMEM.
 */
int64_t profile_processes(const struct profile *profile, struct profile_process **ret);

/*
 * Return whether the process's Java VM recorded stacks itself; note that. (Without memory for the
 * note, pictures don't say so.)
 */
bool profile_is_jfr(const struct profile *profile, int pid);
void profile_tell_jfr(struct profile *profile, int pid);

/*
 * Copies only the processes with that pid, without places unless `places`. Returns 0, -ENOMEM or
 * -ENOSPC.
 */
int profile_select(struct profile **ret, const struct profile *from, int pid, bool places);

/*
 * Makes an empty profile drop places: what is added has functions and lines only, as pictures show
 * them.
 */
void profile_drop_places(struct profile *profile);

/* Puts its events in the place of its weights. */
void profile_show_events(struct profile *profile);

/*
 * Fills in the words for a picture of all (TREE_ROOT) or of a process's node. `host` is borrowed.
 */
void profile_describe(const struct profile *profile, uint32_t start, const char *host,
		      struct profile_meta *meta);
