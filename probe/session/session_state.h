/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to session/session.c (applies the spec), session_files.c (periods' files),
 * session_fetch.c (GET), session_status.c (its status), session_windows.c (windows for uploads),
 * session_trigger.c (waits for pressure) and session_before.c (files of what was before).
 *
 * The session is in one state:
 *
 *	STOPPED   nothing is collected; with a trigger it may wait (session_trigger.c)
 *	RUNNING   collects; the timer `period` runs
 *	PARTING   collects; the window is being read, as some probes leave; the period goes on
 *	TURNING   collects; the window is being read, and the period ends with it
 *
 *	STOPPED -> RUNNING   probes are wanted, and one of them can run
 *	RUNNING -> PARTING   fewer probes are wanted
 *	        -> TURNING   no probe is wanted, or other params
 *	PARTING -> TURNING   the daemon ends
 *
 * A session that waits for its trigger wants no probe: at the end of the period for which it fired
 * the session goes on as if no probe were wanted any more.
 *
 * When the window was read, what is wanted now decides, which may have changed meanwhile:
 *
 *	PARTING, TURNING -> STOPPED   no probe; the period's files are written
 *	                 -> RUNNING   other params: the same, and a new period begins with them
 *	TURNING          -> RUNNING   the params that are applied: likewise
 *	PARTING          -> RUNNING   the same params: the files of the probes that leave are
 *written
 */
#pragma once

#include "pressure/pressure.h"
#include "session/session.h"

enum session_phase { SESSION_STOPPED, SESSION_RUNNING, SESSION_PARTING, SESSION_TURNING };

/* Its text is "" while nothing is to run, or to run without a trigger. */
struct session_trigger {
	char text[SPEC_TRIGGER_MAX];
	bool fired;		   /* a period is sampled, or begins when its objects are loaded */
	bool loads;		   /* these are being loaded */
	struct pressure *pressure; /* NULL: nothing is waited for */
	struct loop_timer again;   /* looks for a cgroup that isn't there */
	int error;		   /* why nothing is waited for; 0: no error */
	struct why why;		   /* the same as a sentence; else why the kernel doesn't tell */
	const char *how;	   /* struct trigger_status */
};

struct session {
	struct session_setup setup;
	enum session_phase phase;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* NULL: STOPPED */
	struct params applied;	       /* params of the running subscription */
	struct why failure;	       /* why no probe can run; "": some can */
	struct session_trigger trigger;
	struct loop_timer period;
	struct profile *previous[PROBE_COUNT];
	/*
	 * Profiles of the period's windows before the current one; NULL: none. Their trees and sums
	 * belong to jobs of the bulk worker.
	 */
	struct profile *collected[PROBE_COUNT];
	struct uploads *uploads;
	struct loop_timer window; /* ends windows for the server and history (session_windows.c) */
	bool sends;		  /* there is a server, and something is collected */
	uint32_t unsent;	  /* probes whose window began before there was a server */
	struct session_stats stats;
	struct cleaner *cleaner;
	struct fetch *fetches;			/* fetches under way */
	struct history_fetch *questions;	/* to history, which wait for a drain */
	union probe_settings said[PROBE_COUNT]; /* as logged; all bits set: none */
	unsigned writing;			/* files and windows that aren't written yet */
	bool uploads_closed;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- session_windows.c ---- */

/*
 * Starts or stops ending windows by a timer, as it collects and has a server or a history.
 * `begins`: collecting starts now.
 */
void session_arm_window(struct session *session, bool begins);

/* Hands a window, or what is held now, to history. What fails is counted there. */
void session_keep(struct session *session, struct profile *profile);

/* Returns the window of a probe, which has ended, as one with those of its period before it; the
 * caller owns it. NULL: no memory, it goes on. */
struct profile *session_take_period(struct session *session, enum probe probe);

/* Ends these probes' period, which was read: their profiles go to files, new ones begin. */
void session_rotate(struct session *session, uint32_t probes);

/* Writes a profile's files. */
void session_write_files(struct session *session, struct profile *profile,
			 const struct params *params, bool before);

/* ---- session_before.c ---- */

/* Writes files of what history has of the period before now. */
void session_write_before(struct session *session);

/* ---- session_trigger.c ---- */

/*
 * Takes over the trigger that is wanted; waits for it if the session is STOPPED and it hasn't
 * fired. `fired`: a trigger that is another one counts as fired.
 */
void session_settle_trigger(struct session *session, bool fired);

/* Ends the waiting, for good. */
void session_end_trigger(struct session *session);

/* Returns whether the session waits for a trigger. */
bool session_waits(const struct session *session);

/* ---- session.c ---- */

/* Begins a period, as the trigger has fired. */
void session_begin_fired(struct session *session);

/* ---- session_files.c, too ---- */

/* Calls session->closed() once nothing is left to do. */
void session_check_closed(struct session *session);
