/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Connections under their limits: how many in all and of one client, and how long each may wait for
 * its request. Who isn't an administrator has a quarter of them, and all of these together leave an
 * eighth to administrators; the address for /metrics has a quarter as well.
 *
 * A new connection over a limit takes the place of the one within that limit that has waited
 * longest for a request, or whose client has taken nothing of its answer for STUCK_NS; else of one
 * of the client that has most, if that has more than the new one's. Else the new one is shut down.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "access/client.h"
#include "access/peer.h"
#include "access/tls.h"
#include "loop/loop.h"

#define CONNECTIONS_MAX	   64
#define CONNECTIONS_MIN	   4
#define REQUEST_TIMEOUT_NS (10 * NS_PER_S)
#define STUCK_NS	   (5 * NS_PER_S)

/* What is known of a connection's other end, from when it was accepted. */
struct connection_of {
	struct peer peer;
	struct client *client; /* one of its connections is this one */
	bool is_admin;	       /* without showing anything, or a token or certificate once did */
	bool metrics_only;     /* it came to the address for /metrics */
};

enum connection_state {
	CONNECTION_WAITS,  /* for a request, or the rest of it */
	CONNECTION_WORKS,  /* its answer isn't ready, or is a stream that has nothing now */
	CONNECTION_WRITES, /* an answer goes out */
};

struct connection {
	struct connection *next;
	int fd;		      /* the server's */
	const void *listener; /* where it was accepted */
	struct connection_of of;
	bool checked; /* its certificate was looked at */
	enum tls_client certificate;
	char certificate_why[128]; /* why it isn't good */
	enum connection_state state;
	uint64_t since_ns; /* it is in that state; of an answer: its last part was taken */
	bool served;	   /* it had an answer before */
	bool last;	   /* its next answer is the last one */
	bool closing;
};

struct connections {
	struct loop *loop;
	struct loop_timer timer;
	struct connection *all;
	unsigned max; /* CONNECTIONS_MAX, or fewer where few descriptors are allowed */
};

void connections_init(struct connections *connections, struct loop *loop);
void connections_done(struct connections *connections);

/* A new connection; over a limit another is shut down, or itself. NULL: no memory. */
struct connection *connection_add(struct connections *connections, int fd, const void *listener,
				  const struct connection_of *of);
void connection_del(struct connections *connections, struct connection *connection);

/* Ends those of a listener (NULL: all), for it takes no more, or who they are has to be asked anew:
 * shuts down those that wait for a next request. The others end with their next answer. */
void connections_end(struct connections *connections, const void *listener);

/* The connection enters that state; of an answer that goes out: a part more has been taken. */
void connection_set_state(struct connections *connections, struct connection *connection,
			  enum connection_state state);
