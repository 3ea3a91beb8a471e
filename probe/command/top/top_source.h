/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where `top` has its numbers from: a daemon that runs, or one of its own. Main thread only. */
#pragma once

#include "command/top/daemon_client.h"
#include "command/top/private_daemon.h"
#include "command/top/top_options.h"

struct top_source {
	struct private_daemon own; /* pid 0: it isn't needed */
	struct daemon_client *client;
	struct client_request *feed; /* NULL: none is under way */
	char name[160];		     /* for people: "the daemon at …" */
};

/* Finds a daemon, or starts one. Returns 0, or a negative errno and a sentence in `why`. */
int top_source_open(struct top_source *source, const struct top_options *options, struct why *why);
void top_source_close(struct top_source *source);

#define TOP_ROWS_ASKED 1000

/* Begins to read intervals, in the place of those that were read before. `take` says who gets lines
 * and end; its path is set here. Returns 0 or -ENOMEM. */
int top_source_feed(struct top_source *source, const struct top_options *options,
		    const struct client_asking *take);
