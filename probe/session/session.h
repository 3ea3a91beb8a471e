/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The session: the configured feature /flamegraph. Applies the last spec it was given, writes its
 * files, and keeps the profile of the period before for GET. Loop thread only. A state machine:
 *
 *	idle --running, with a trigger--> waits --pressure--> collecting, for one period --> waits
 *	idle --running--> collecting --period's end--> files are written, collecting goes on
 *	collecting --params changed or stopped--> closing: window read, files written --> again
 */
#pragma once

#include "profile/cleaner.h"
#include "engine/engine.h"
#include "history/history.h"
#include "profile/profile_files.h"
#include "select/spec.h"
#include "session/session_trigger.h"
#include "session/uploads.h"
#include "profile/stack_choice.h"
#include "profile/view.h"

struct session;

struct session_setup {
	struct loop *loop;
	struct engine *engine;
	struct files_setup files; /* its strings are borrowed for the session's life */
	struct retention_limits retention;
	const struct upload_options *upload; /* copied */
	const char *state_dir;		     /* NULL or "": none; borrowed for the session's life */
	struct history *history; /* gets the windows that have ended; borrowed; NULL: nobody */
};

/*
 * Creates an idle session; the caller owns *ret. Returns 0, -ENOMEM or an error of uploads_new(),
 * with a sentence in `why`.
 */
int session_new(struct session **ret, const struct session_setup *setup, struct why *why);
void session_free(struct session *session);

/*
 * Applies `spec`: at once, or when what is running has been closed. Returns 0, or a negative errno
 * and a sentence in `why` if it can't start; then nothing has changed.
 */
int session_apply(struct session *session, const struct spec *spec, struct why *why);

/* Sets where files may lie from now on; the strings are borrowed for the session's life. */
void session_set_roots(struct session *session, const struct store_roots *roots);

/* Sets the folder for what has to survive a restart; borrowed for the session's life. */
void session_set_state(struct session *session, const char *state_dir);

/* Returns the last spec it was given, or NULL. */
const struct spec *session_spec(const struct session *session);

/*
 * Returns "running", "arming", "waiting", "stopped", "unsupported" or "failed"; *why is the reason,
 * "" if there is nothing to add.
 */
const char *session_state(const struct session *session, enum probe probe, const char **why);

/* Fills in the status of the trigger. */
void session_trigger(const struct session *session, struct trigger_status *status);

/* Returns the probes (1 << enum probe) that begin to collect, or go on, once `spec` is applied:
 * none of one whose trigger has to fire first. */
uint32_t session_begins(const struct session *session, const struct spec *spec);

struct session_question {
	enum probe probe;
	enum view view;
	uint64_t min_age_ns; /* VIEW_INUSE, VIEW_MMAP: younger allocations are left out */
	int pid;	     /* 0: all */
	bool icicle;	     /* a picture with the root on top */
	bool header;	     /* folded text begins with the line that tells what it is of */
	bool events;	     /* show events instead of weights */
	struct stack_choice choice;
	const struct output *output;
	/* Gets 0 or a negative errno, and the content, which it may take over. */
	void (*done)(void *arg, int error, struct buf *content);
	void *arg;
};

/*
 * Renders the profile so far as question->output: since the last file, and if that is less than 30
 * s ago with the period before; of VIEW_INUSE and VIEW_MMAP what is held now. Returns 0, or
 * -ENOENT if there is none, or -ENOMEM: then done() isn't called.
 */
int session_fetch(struct session *session, const struct session_question *question);

/*
 * Asks history, with the window that runs if it is of the probe and view that are asked for.
 * Returns 0, or an error of history_submit(): then done() isn't called.
 */
int session_ask_history(struct session *session, const struct history_ask *question);

/* Ends fetches under way, for shutdown when no job is done any more: they get -ECANCELED. */
void session_cancel_fetches(struct session *session);

/* Stops, writes all profiles, and calls done(arg) when that is finished. */
void session_close(struct session *session, void (*done)(void *arg), void *arg);

/* Gives up session_close(), which takes too long: what is lost is counted and logged. */
void session_abandon(struct session *session);

/*
 * Sets other options for uploads. Returns 0, or a negative errno and a sentence; then the old ones
 * stay.
 */
int session_set_upload(struct session *session, const struct upload_options *options,
		       struct why *why);

/* Fills in the status of the uploads. */
void session_uploads_status(const struct session *session, struct upload_status *status);

/* Sets other limits for kept files. */
void session_set_retention(struct session *session, const struct retention_limits *limits);

struct session_stats {
	uint64_t files_written;
	struct cleaner_stats cleaned;
	uint64_t files_causes[FILES_CAUSES]; /* files that failed, by cause */
	uint64_t unwritten;		     /* weight of the failed files */
	char last_failure[512];		     /* a sentence; "": there was none */
	struct trigger_stats trigger;
};
void session_stats(const struct session *session, struct session_stats *stats);

/* Rows of struct session_stats (measure/measure.h). */
extern const struct measures session_measures;
