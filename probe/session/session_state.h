/* SPDX-License-Identifier: GPL-2.0-only */
/* What session/session.c (makes true what it was told), session_files.c (periods' files) and
 * session_fetch.c (GET) share. Nobody else includes it. */
#pragma once

#include "session/session.h"

struct session {
	struct session_setup setup;
	struct spec wanted;
	bool told;

	struct subscriber *subscriber; /* NULL: not collecting */
	struct params applied;	       /* while collecting */
	bool closing;
	char failure[256]; /* why none of it can run; "": it can */
	struct loop_timer period;
	struct profile *previous[PROBE_COUNT];
	/* What the period's windows had until the one that runs; NULL: there were none. The tree
	 * and the sums are of jobs on the bulk worker alone. */
	struct profile *collected[PROBE_COUNT];
	struct uploads *uploads;
	struct loop_timer window; /* ends by itself, for the server (session_windows.c) */
	uint32_t unsent;	  /* probes whose window began before there was one */
	struct session_stats stats;
	struct cleaner *cleaner;
	struct fetch *fetches;	  /* that are under way */
	int64_t minblock_said_us; /* the log said; -1: nothing */
	unsigned writing;	  /* profiles whose files aren't written yet */
	bool uploads_closed;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- session_windows.c ---- */

/* Windows end by themselves from now on, or don't any more, as it collects and has a server.
 * `begins`: what it has collected has come since now. */
void session_arm_window(struct session *session, bool begins);

/* The same, as one with the period's windows before it, which has ended. */
struct profile *session_take_period(struct session *session, enum probe probe);

/* The period of these has been read: their profiles go to files, new ones begin. */
void session_rotate(struct session *session, uint32_t probes);

/* Tells who closed it, once nothing is left to be done. */
void session_check_closed(struct session *session);
