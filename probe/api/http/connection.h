/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of open connections with their limits: how many in all and of one client, and how long a
 * connection may wait for its request. A client that is no administrator may have a quarter of the
 * connections, and all such clients together leave an eighth to administrators; the address for
 * /metrics has a quarter as well. Loop thread only.
 *
 * A new connection over a limit replaces the connection within that limit that has waited longest
 * for a request, or whose client has taken nothing of its answer for STUCK_NS. If there is none, it
 * replaces a connection of the client that has most, if that client has more than the new
 * connection's client. Else the new connection is shut down.
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

/* What is known of the other end of a connection, from the accept on. */
struct connection_of {
	struct peer peer;
	struct client *client; /* the client; this connection counts as one of its connections */
	/* An administrator: by the peer alone, or since a token or certificate said so. */
	bool is_admin;
	bool metrics_only; /* the connection is at the address for /metrics */
};

enum connection_state {
	CONNECTION_WAITS,  /* waits for a request, or the rest of it */
	CONNECTION_WORKS,  /* the answer isn't ready, or is a stream that has nothing now */
	CONNECTION_WRITES, /* an answer is being sent */
};

struct connection {
	struct connection *next;
	int fd;		      /* owned by the HTTP library */
	const void *listener; /* listener that accepted the connection */
	struct connection_of of;
	bool checked; /* the certificate was checked */
	enum tls_client certificate;
	char certificate_why[128]; /* why the certificate isn't good */
	enum connection_state state;
	/* Time of the last change of state, or when the client took the last part of an answer;
	 * ns. */
	uint64_t since_ns;
	bool served; /* the connection had an answer before */
	bool last;   /* the next answer is the last one */
	bool closing;
};

struct connections {
	struct loop *loop;
	struct loop_timer timer;
	struct connection *all;
	unsigned max; /* CONNECTIONS_MAX, or fewer if few descriptors are allowed */
};

void connections_init(struct connections *connections, struct loop *loop);
void connections_done(struct connections *connections);

/* Adds a connection; `of` is copied. Over a limit another connection is shut down, or the new one.
 * The table owns the result until connection_del(). NULL: no memory. */
struct connection *connection_add(struct connections *connections, int fd, const void *listener,
				  const struct connection_of *of);
/* Removes and frees a connection. */
void connection_del(struct connections *connections, struct connection *connection);

/* Ends the connections of a listener that accepts no more, or all of them (NULL), if their clients
 * have to be identified anew. Shuts down the connections that wait for a further request; the
 * others end with their next answer. */
void connections_end(struct connections *connections, const void *listener);

/* Sets the state of a connection. CONNECTION_WRITES again: the client has taken one more part of
 * the answer. */
void connection_set_state(struct connections *connections, struct connection *connection,
			  enum connection_state state);
