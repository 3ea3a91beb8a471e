/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sessions on demand (`seconds=N`): a profile of the next seconds, beside the configured one and
 * without touching it. On the loop's thread.
 */
#pragma once

#include "proc/permission.h"
#include "engine/engine.h"
#include "profile/profile_files.h"
#include "profile/view.h"

#define ONDEMAND_MAX 8

struct ondemands;
struct ondemand;

struct ondemand_setup {
	struct loop *loop;
	struct engine *engine;
	struct worker *bulk;
	const char *host;
};

/* -ENOMEM */
int ondemands_new(struct ondemands **ret, const struct ondemand_setup *setup);

/* Ends those that run: their done() gets -ECANCELED. */
void ondemands_free(struct ondemands *ondemands);

struct ondemand_request {
	enum probe probe;
	enum view view;	     /* what is held: of what came since the session began */
	uint64_t min_age_ns; /* VIEW_INUSE, VIEW_MMAP: what is younger is left out */
	unsigned seconds;
	int pid;      /* 0: the processes that the snoopers choose */
	bool of_user; /* only while the user may look into it (proc/permission.h) */
	struct viewer user;
	struct stack_detail detail;
	bool icicle; /* the picture has its root on top */
	bool events; /* these instead of the weights */
	const struct output *output;
	/* Gets 0 or a negative errno, and the content, which it may take over. */
	void (*done)(void *arg, int error, struct buf *content);
	void *arg;
};

/* -EBUSY: ONDEMAND_MAX run; -ESRCH: no such process; other negative errno with a sentence in
 * `why`. Then done() isn't called. */
int ondemand_start(struct ondemands *ondemands, const struct ondemand_request *request,
		   struct ondemand **ret, char *why, size_t why_bytes);

/* Ends it before its time: done(), which wasn't called yet, gets -ECANCELED. Once its time is over
 * its end is on its way anyway. */
void ondemand_cancel(struct ondemand *ondemand);

unsigned ondemands_count(const struct ondemands *ondemands);
