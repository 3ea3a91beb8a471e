/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The configured feature: makes what it was told last true, writes its files, keeps the profile of
 * the period before for GET. On the loop's thread.
 *
 *	idle --running--> collecting --period's end--> files are written, collecting goes on
 *	collecting --params changed or stopped--> closing: window read, files written --> again
 */
#pragma once

#include "profile/cleaner.h"
#include "engine/engine.h"
#include "profile/profile_files.h"
#include "select/spec.h"
#include "session/uploads.h"
#include "profile/view.h"

struct session;

struct session_setup {
	struct loop *loop;
	struct engine *engine;
	struct files_setup files; /* borrowed contents live as long as the session */
	struct retention_limits retention;
	const struct upload_options *upload; /* copied */
	const char *state_dir;		     /* NULL or "": none; lives as long as the session */
};

/* -ENOMEM, or what uploads_new() says, with a sentence in `why`. */
int session_new(struct session **ret, const struct session_setup *setup, char *why,
		size_t why_bytes);
void session_free(struct session *session);

/*
 * Makes `spec` true, at once where nothing has to be closed first. Negative errno and a sentence in
 * `why` when it can't start; then nothing has changed.
 */
int session_apply(struct session *session, const struct spec *spec, char *why, size_t why_bytes);

/* Where files may lie from now on; the strings live as long as the session. */
void session_set_roots(struct session *session, const struct store_roots *roots);

/* Where what has to be known after a restart is kept from now on; lives as long as the session. */
void session_set_state(struct session *session, const char *state_dir);

/* What it was told last; NULL: nothing yet. */
const struct spec *session_spec(const struct session *session);

/* "running", "arming", "stopped", "unsupported" or "failed", and why ("" where there's no more to
 * say). */
const char *session_state(const struct session *session, enum probe probe, const char **why);

struct session_question {
	enum probe probe;
	enum view view;
	uint64_t min_age_ns; /* VIEW_INUSE, VIEW_MMAP: what is younger is left out */
	int pid;	     /* 0: all */
	bool icicle;	     /* the picture has its root on top */
	bool events;	     /* these instead of the weights */
	const struct output *output;
	/* Gets 0 or a negative errno, and the content, which it may take over. */
	void (*done)(void *arg, int error, struct buf *content);
	void *arg;
};

/* The profile so far as `output`: since the last file, and where that is less than 30 s the period
 * before as well; of other views than VIEW_ALL what is held now. -ENOENT: there is none; -ENOMEM:
 * then done() isn't called. */
int session_fetch(struct session *session, const struct session_question *question);

/* At the end, when no job is done any more: fetches under way get -ECANCELED. */
void session_cancel_fetches(struct session *session);

/* Stops, writes what is there, and calls done(arg) when all is written. */
void session_close(struct session *session, void (*done)(void *arg), void *arg);

/* That takes too long, and nobody waits any more: what is lost is counted and logged. */
void session_abandon(struct session *session);

/* Other options for uploads: negative errno and a sentence; those before count on. */
int session_set_upload(struct session *session, const struct upload_options *options, char *why,
		       size_t why_bytes);
void session_uploads_status(const struct session *session, struct upload_status *status);

/* Other limits for what is kept. */
void session_set_retention(struct session *session, const struct retention_limits *limits);

struct session_stats {
	uint64_t files_written;
	struct cleaner_stats cleaned;
	uint64_t files_causes[FILES_CAUSES]; /* of these that failed */
	uint64_t unwritten;		     /* their weight */
	char last_failure[512];		     /* a sentence; "": there was none */
};
void session_stats(const struct session *session, struct session_stats *stats);
