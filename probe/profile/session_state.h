/* SPDX-License-Identifier: GPL-2.0-only */
/* What profile/session.c (makes true what it was told), session_files.c (periods' files) and
 * session_fetch.c (GET) share. Nobody else includes it. */
#pragma once

#include "profile/session.h"

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
	struct session_stats stats;
	struct cleaner *cleaner;
	struct fetch *fetches;	  /* that are under way */
	int64_t minblock_said_us; /* the log said; -1: nothing */
	unsigned writing;	  /* profiles whose files aren't written yet */
	void (*closed)(void *arg);
	void *closed_arg;
};

/* The period of these has been read: their profiles go to files, new ones begin. */
void session_rotate(struct session *session, uint32_t probes);

/* Tells who closed it, once nothing is left to be done. */
void session_check_closed(struct session *session);
