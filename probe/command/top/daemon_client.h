/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GETs of a daemon's resources over its Unix socket, by libcurl. Requests go on while the caller
 * waits in client_wait(). Main thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/why.h"

#define CLIENT_BODY_MAX ((size_t)64 << 20)

struct daemon_client;
struct client_request;

/* Creates it for the socket at that path (borrowed); the caller owns *ret. Returns 0, or a negative
 * errno and a sentence in `why`: libcurl can't be loaded. */
int client_new(struct daemon_client **ret, const char *socket, struct why *why);
/* Ends its requests, done() isn't called, and frees it (NULL: nothing). */
void client_free(struct daemon_client *client);

struct client_asking {
	const char *path; /* "/proc/all.json?every=1" */
	/*
	 * Gets each line of the body as it comes, without its line feed; NULL: the body goes to
	 * done() as a whole.
	 */
	void (*line)(void *arg, const char *line, size_t bytes);
	/*
	 * Gets the end, once: 0 and the body, which it may take over; or a negative errno and a
	 * sentence: -ECONNREFUSED: nobody listens; -EACCES: the daemon refuses it; -EIO.
	 */
	void (*done)(void *arg, int error, struct buf *body, const char *why);
	void *arg;
};

/* Begins a request; *ret is valid until done(). Returns 0 or -ENOMEM. */
int client_get(struct daemon_client *client, const struct client_asking *asking,
	       struct client_request **ret);
/* Ends it; done() isn't called. */
void client_cancel(struct client_request *request);

/* Lets requests go on until something came of them, one of the descriptors (at most 4) can be
 * read, or so many ms have passed. */
void client_wait(struct daemon_client *client, const int *fds, size_t count, int timeout_ms);
