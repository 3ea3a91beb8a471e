/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * History: the profiles of the windows that have ended, kept on disk, and asked for by time. Loop
 * thread only. Windows are packed by jobs of the bulk worker, which owns their trees; all that
 * touches the disk is done by one job after the other on a worker of its own.
 */
#pragma once

#include "history/history_changes.h"
#include "history/history_events.h"
#include "history/history_store.h"
#include "history/history_anomalies.h"
#include "loop/worker.h"
#include "measure/measure.h"
#include "profile/profile.h"

struct history;
struct intern;

struct history_options {
	struct history_limits limits;
	int64_t window_s; /* length of a window */
};

struct history_setup {
	struct loop *loop;
	struct worker *bulk;
	struct history_options options;
	const char *state_dir; /* NULL or "": nothing is kept. Copied */
};

/* Creates it, and opens what there is, in a job; takes the lines of journal/event_journal.h from
 * now on. The caller owns *ret. Returns 0 or -ENOMEM. */
int history_new(struct history **ret, const struct history_setup *setup);

/* Waits for the job that runs. What else was added is lost: who adds waits for done(). */
void history_stop(struct history *history);
void history_free(struct history *history);

/* Returns whether windows are kept; `history` may be NULL. */
bool history_is_on(const struct history *history);
unsigned history_window_s(const struct history *history);

/*
 * Sets who tells which processes a probe samples now, by their names in pictures ("[PID]COMM"), in
 * a table that the caller owns; NULL: nobody knows. Anomalies are of these alone: what has ended,
 * or isn't chosen any more, would seem to have changed.
 */
void history_set_sampled(struct history *history,
			 struct intern *(*sampled)(void *arg, enum probe probe), void *arg);

/* Sets other limits; the length of a window stays. */
void history_set_limits(struct history *history, const struct history_limits *limits);

/*
 * Keeps a window that has ended, with its second profile. Takes references; calls done(arg) when it
 * is on disk, or counted as failed. Returns 0 or -ENOMEM: it is counted, done() isn't called.
 */
int history_add(struct history *history, struct profile *window, void (*done)(void *arg),
		void *arg);

enum history_wish {
	HISTORY_PROFILES,  /* one profile of a range; of two ranges two */
	HISTORY_CHANGES,   /* which functions changed between two ranges */
	HISTORY_ANOMALIES, /* which processes, and functions in them */
	HISTORY_WINDOWS,   /* heads of the records of a range */
	HISTORY_EVENTS	   /* what happened in a range, of no probe */
};

#define HISTORY_ROWS 1000 /* records that are listed, at most: of larger ones if there are more */

/* A question and its answer. The side HISTORY_AFTER is the range that is asked for; the other one
 * is there where two are compared. */
struct history_ask {
	struct job job;

	/* the question */
	enum history_wish wish;
	enum probe probe;
	enum view view;
	bool compares; /* both sides are asked for */
	bool modules;  /* profiles tell the files with the code */
	bool judges;   /* of two profiles also which functions changed */
	struct history_range ranges[HISTORY_SIDES];
	struct history_filter filters[HISTORY_SIDES];
	struct profile *running; /* the window that hasn't ended; NULL: there is none */
	/* Called on the loop's thread; the answer is borrowed. */
	void (*done)(void *arg, struct history_ask *ask);
	void *arg;

	/* the answer */
	int error;				 /* 0, or a negative errno */
	struct profile *profiles[HISTORY_SIDES]; /* done() may take them over */
	struct history_head sums[HISTORY_SIDES];
	uint64_t damaged; /* records that can't be read, and are left out */
	struct history_change *changes;
	size_t changes_count;
	uint64_t functions; /* that were compared */
	bool tells;	    /* both sides have windows enough: else no change is told */
	bool is_crowded;    /* there are more functions than can be judged */
	/* Of two profiles, if it tells and isn't crowded; else NULL. done() may take them over. */
	struct judged_functions *judged;
	struct history_anomalies anomalies; /* done() may take them over */
	struct buf events;		    /* lines as history_event_next() reads them */
	uint64_t events_left_out;	    /* events before these */
	struct history_head *heads;
	size_t heads_count;
	bool runs; /* the last one of them is of the window that hasn't ended */

	/* private */
	char series[HISTORY_SERIES_BYTES];
	struct intern *sampled; /* names of processes that are sampled now; NULL: not known */
	uint64_t lasted_ns;	/* of the running window, by history_lasted_ns() */
	struct history *history;
	struct history_ask *next;
	struct history_head running_head;
	struct buf running_payload;
	bool is_read;
};

/* Submits a copy of the question; takes references. Returns 0, -ENOENT: nothing is kept, -ENOMEM.
 */
int history_submit(struct history *history, const struct history_ask *question);

/*
 * What an answer about anomalies compares unless somebody says otherwise: the last 20 windows (ten
 * minutes) with the 120 before them (an hour).
 */
void history_lately(const struct history *history, int64_t until,
		    struct history_range ranges[HISTORY_SIDES]);

#define WATCHED_ROWS 20

/* What the last look for a probe's anomalies saw. */
struct history_watched {
	int64_t at; /* ns since 1970; 0: nobody has looked, or there are windows too few */
	uint64_t processes, anomalies;
	struct watched_row {
		char *name;	 /* "[PID]COMM" */
		char *container; /* NULL: none */
		struct history_rate rate;
	} rows[WATCHED_ROWS]; /* the largest changes */
	size_t rows_count;
};

/*
 * Looks for anomalies of these probes (1 << enum probe) in the background, unless it does so
 * already or did within the last ten windows (5 minutes); forgets what it saw of others.
 */
void history_watch(struct history *history, uint32_t probes);

/* Returns how many looks came to nothing, as history could not be read. */
uint64_t history_watch_failures(const struct history *history);

/* Returns what was seen of a probe; borrowed until the next call of history_watch() or job. */
const struct history_watched *history_watched(const struct history *history, enum probe probe);

/* Ends questions under way, and those that come later, as the daemon ends: they get -ECANCELED. */
void history_cancel(struct history *history);

struct history_stats {
	struct history_counts counts;
	struct history_files_stats files;
	uint64_t limit_bytes;
	uint64_t events_lost; /* lines of the journal that could not be written */
	bool is_on;
	char failure[256]; /* why nothing is kept, a sentence; "": it is */
};
const struct history_stats *history_stats(const struct history *history);

/* Rows of struct history_stats (measure/measure.h). */
extern const struct measures history_measures;
