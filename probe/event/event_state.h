/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to event_files.c (files with points), event_targets.c (who maps them) and event_work.c
 * (the jobs). */
#pragma once

#include "event/event_files.h"
#include "event/point_cost.h"
#include "file/symbol_file.h"
#include "loop/loop.h"
#include "loop/rate.h"

enum event_file_state {
	EVENT_FILE_NEW,
	EVENT_FILE_BUSY,  /* a job works on it */
	EVENT_FILE_READY, /* its points are attached */
	EVENT_FILE_SAME,  /* another file's points are its own: it lies over that one (overlayfs) */
	EVENT_FILE_FAILED,
};

/* A file of the path of an event; one for each event and file. */
struct event_file {
	struct event_file *next;
	struct event_files *files;
	enum probe probe;
	uint64_t epoch; /* of the event's programs */
	struct open_request_id content;
	struct symbol_file *file; /* owns a reference */
	struct symbol_place place;
	enum event_file_state state;
	struct uprobes *uprobes;
	struct event_file *same; /* of EVENT_FILE_SAME */
	bool is_overlay;
	bool stepped; /* struct event_points */
	int error;
	struct why why;
	uint64_t failed_ns; /* when the last job ended */
	uint64_t seen_ns;   /* when a target was seen to map it, loop_now_ns() */
};

struct event_slot {
	bool running;
	bool dirty; /* not all targets were looked at since it began or changed */
	uint64_t epoch;
	struct event_text event;
	bool with_return;
	struct call_programs programs; /* owned */
	void (*opens)(void *arg);      /* struct event_wish; NULL: it was called */
	void *opens_arg;
	size_t targets, with_file; /* at the last sweep */
	struct why why;
	void (*stopped)(void *arg);
	void *stopped_arg;
};

struct event_files {
	struct loop *loop;
	struct worker *urgent;
	struct targets *targets;
	struct event_slot slots[PROBE_SLOTS_COUNT];
	struct event_file *all;
	struct map *met; /* of event_targets.c */
	uint64_t sweep;
	uint64_t changes; /* grows whenever what targets' files are may be otherwise */
	bool working;	  /* a job is under way */
	struct point_costs costs;
	bool measuring;	       /* a job measures them */
	bool were_measured[2]; /* the costs of entries, of returns: or that was in vain */
	struct loop_timer timer;
	uint64_t rests_until_ns; /* no sweep begins before */
	struct rate looks;
};

/* Has targets and files looked at, at that time or before. */
void event_files_wake(struct event_files *files, uint64_t at_ns);

/* Returns the event's file of a mapping, which is added if it is new; NULL: it can't be opened. */
struct event_file *event_file_get(struct event_files *files, enum probe probe,
				  struct symbol_file *symbols, const struct symbol_place *place);

/* ---- event_targets.c ---- */

/* Makes room for targets. Returns 0 or -ENOMEM. */
int event_targets_new(struct event_files *files);
void event_targets_free(struct event_files *files);

/* Visits all targets: which files they map is known then, and which of the files are in use. */
void event_targets_visit(struct event_files *files);

/* Drops targets that the last sweep didn't visit; `all`: every one. */
void event_targets_drop(struct event_files *files, bool all);

/* Returns whether a target's mappings weren't read yet. */
bool event_targets_are_arming(const struct event_files *files);

/* ---- event_work.c ---- */

/* Submits a job that attaches a file's points, or detaches them. Returns 0 or a negative errno:
 * nothing was submitted. */
int event_work_attach(struct event_file *file, struct worker *worker,
		      const struct event_slot *slot);
int event_work_detach(struct event_file *file, struct worker *worker);

/* Submits a job that measures what hits cost, of entries or of returns (event/point_cost.h).
 * Returns 0 or -ENOMEM. */
int event_work_measure(struct event_files *files, struct worker *worker, bool session,
		       bool returns);

/* Takes over what they cost; NULL: that isn't known. */
void event_costs_measured(struct event_files *files, bool returns, const struct point_costs *costs);

/* What came of it. `same`: another file with these points; NULL: none. */
struct event_attached {
	struct uprobes *uprobes; /* taken over; NULL: none */
	bool is_overlay, is_same, stepped;
	int error;
	const char *why;
};
void event_file_attached(struct event_file *file, const struct event_attached *result);
void event_file_detached(struct event_file *file);

/* Returns another file of the event that has points and the same content and inode number. */
struct event_file *event_file_twin(const struct event_file *file);
