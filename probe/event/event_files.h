/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Points of events in the files of targets. An event names a file by its path; each target's own
 * file of that path gets the points, once for all processes that map it, while a target does. Loop
 * thread only; reading files, attaching and detaching are jobs of the urgent worker.
 */
#pragma once

#include "alloc/uprobes.h"
#include "event/event_text.h"
#include "loop/loop.h"
#include "loop/worker.h"
#include "target/target.h"

struct event_files;

/* Creates it, with no event; the caller owns *ret. Returns 0 or -ENOMEM. */
int event_files_new(struct event_files **ret, struct loop *loop, struct worker *urgent,
		    struct targets *targets);

/* Frees it, detaching all points at once. The worker must be stopped. */
void event_files_free(struct event_files *files);

struct event_wish {
	const struct event_text *event;
	bool with_return;	       /* the programs see returns */
	struct call_programs programs; /* of CALL_SIZE; the descriptors are taken over */
	/* Called before the first point is attached, when no point of an earlier text is left. */
	void (*opens)(void *arg);
	void *arg;
};

/* Begins to attach an event's points, or changes which these are. `probe` is one of the slots. */
void event_files_start(struct event_files *files, enum probe probe, const struct event_wish *wish);

/*
 * Detaches an event's points. Calls stopped(arg) when that is done, later or at once, unless
 * event_files_start() comes first.
 */
void event_files_stop(struct event_files *files, enum probe probe, void (*stopped)(void *arg),
		      void *arg);

/* Tells that targets came, went or changed their mappings: they are looked at soon. */
void event_files_refresh(struct event_files *files);

/* Tells that the choice of targets changed. */
void event_files_reselect(struct event_files *files);

/* Returns whether some target's file is being looked at for the first time. */
bool event_files_are_arming(const struct event_files *files);

/* What a hit costs by itself, ns; `return_ns` more if its return is probed. */
struct hit_cost {
	uint64_t entry_ns, return_ns;
};

/* Returns what hits of an event's points cost: as it was measured (event/point_cost.h) for the
 * dearest of its points; before that, as it is assumed. */
struct hit_cost event_files_cost(const struct event_files *files, enum probe probe);

/* Returns why an event isn't seen, or not in all its targets, a sentence; "": it is. */
const char *event_files_why(const struct event_files *files, enum probe probe);
