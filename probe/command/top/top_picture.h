/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph of a row that `top` shows, of a process or of several: 10 s of it, as a file in the
 * current folder. */
#pragma once

#include "command/top/daemon_client.h"
#include "command/top/top_reading.h"
#include "kind/kind.h"

#define PICTURE_SECONDS 10

struct top_picture {
	struct client_request *request; /* NULL: none is under way */
	struct daemon_client *client;	/* borrowed */
	struct top_owner owner;
	const char *group; /* of which kind the row is (costs/cost_kind.h) */
	bool asks_all;	   /* for its processes, as of since the PUT; else of a second */
	enum probe probe;
	char message[OWNER_BYTES * 3]; /* what has become of the last one; "": nothing */
};

/* Begins one. If there is no row (NULL), or another one is under way, the message says so. */
void top_picture_begin(struct top_picture *picture, struct daemon_client *client, enum probe probe,
		       const struct top_owner *owner, const char *group);
