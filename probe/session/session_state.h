/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to session/session.c (applies the spec), session_files.c (periods' files),
 * session_fetch.c (GET) and session_windows.c (windows for uploads).
 */
#pragma once

#include "session/session.h"

struct session {
	struct session_setup setup;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* NULL: not collecting */
	struct params applied;	       /* params of the running subscription */
	bool closing;
	struct why failure; /* why no probe can run; "": some can */
	struct loop_timer period;
	struct profile *previous[PROBE_COUNT];
	/*
	 * Profiles of the period's windows before the current one; NULL: none. Their trees and sums
	 * belong to jobs of the bulk worker.
	 */
	struct profile *collected[PROBE_COUNT];
	struct uploads *uploads;
	struct loop_timer window; /* ends windows for the server (session_windows.c) */
	uint32_t unsent;	  /* probes whose window began before there was a server */
	struct session_stats stats;
	struct cleaner *cleaner;
	struct fetch *fetches;	  /* fetches under way */
	int64_t minblock_said_us; /* last logged; -1: none */
	unsigned writing;	  /* profiles whose files aren't written yet */
	bool uploads_closed;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- session_windows.c ---- */

/*
 * Starts or stops ending windows by a timer, as it collects and has a server. `begins`: collecting
 * starts now.
 */
void session_arm_window(struct session *session, bool begins);

/* The same, as one with the period's windows before it, which has ended. */
struct profile *session_take_period(struct session *session, enum probe probe);

/* Ends these probes' period, which was read: their profiles go to files, new ones begin. */
void session_rotate(struct session *session, uint32_t probes);

/* Calls session->closed() once nothing is left to do. */
void session_check_closed(struct session *session);
