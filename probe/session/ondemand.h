/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions on demand: profiles of the next seconds (`seconds=N`), or of interval after interval
 * (`every=N`), beside the configured session and without touching it. Loop thread only.
 */
#pragma once

#include "proc/permission.h"
#include "engine/engine.h"
#include "profile/profile_files.h"
#include "profile/stack_choice.h"
#include "profile/view.h"

#define ONDEMAND_MAX	    8
#define ONDEMAND_OTHERS_MAX 63 /* processes of a session beside the first one */

struct ondemands;
struct ondemand;

struct ondemand_setup {
	struct loop *loop;
	struct engine *engine;
	struct worker *bulk;
	const char *host;
};

/* Creates it; the caller owns *ret. Returns 0 or -ENOMEM. */
int ondemands_new(struct ondemands **ret, const struct ondemand_setup *setup);

/* Frees it, ending running sessions: their done() gets -ECANCELED. */
void ondemands_free(struct ondemands *ondemands);

struct ondemand_request {
	enum probe probe;
	enum view view;	     /* views of what is held show what came since the session began */
	uint64_t min_age_ns; /* VIEW_INUSE, VIEW_MMAP: younger allocations are left out */
	unsigned seconds;
	int pid;			   /* 0: the processes that the snoopers choose */
	pid_t others[ONDEMAND_OTHERS_MAX]; /* beside `pid`; who has ended is left out */
	size_t others_count;
	/* only while the user may look into the process (proc/permission.h) */
	bool of_user;
	struct viewer user;
	struct stack_detail detail;
	bool icicle; /* a picture with the root on top */
	bool header; /* folded text begins with the line that tells what it is of */
	bool events; /* show events instead of weights */
	struct stack_choice choice;
	const struct output *output;
	/* Gets 0 or a negative errno, and the content, which it may take over. */
	void (*done)(void *arg, int error, struct buf *content);
	/*
	 * Instead of done(): the session goes on, interval after interval of that many seconds,
	 * each of which begins where the one before ends. Gets the content of each; a negative
	 * errno ends the session, as does the last interval.
	 */
	void (*interval)(void *arg, int error, const struct profile_meta *meta,
			 struct buf *content);
	unsigned times; /* intervals; 0: until it is cancelled */
	void *arg;
};

/*
 * Starts a session. Returns 0 and *ret, borrowed until done() is called. On failure done() isn't
 * called: -EBUSY if ONDEMAND_MAX run, -ESRCH if there is no such process, or another negative
 * errno, with a sentence in `why`.
 */
int ondemand_start(struct ondemands *ondemands, const struct ondemand_request *request,
		   struct ondemand **ret, struct why *why);

/*
 * Ends a session early: done(), which must not have been called yet, or interval() gets -ECANCELED.
 * If the time of a session that doesn't repeat is over its end is under way anyway.
 */
void ondemand_cancel(struct ondemand *ondemand);

/* Returns the number of running sessions. */
unsigned ondemands_count(const struct ondemands *ondemands);
