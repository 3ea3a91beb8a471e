/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Quotas of the server's clients: how many connections, expensive requests and sessions each client
 * has now. A client is a user of this host or an address. Administrators have no quota, and a place
 * is kept free for them. Loop thread only.
 */
#pragma once

#include <stdbool.h>

#include "access/peer.h"
#include "loop/rate.h"

#define CLIENT_COSTLY_MAX 2 /* expensive requests of one client at a time */
#define COSTLY_MAX	  7 /* of all clients but administrators: one of 8 places stays free */

/*
 * Rates at which one client, and all clients together, may begin sessions. Loading, attaching and
 * unloading the BPF programs of a session takes 0.1 to 0.4 s of the loop, so COSTLY_MAX alone
 * doesn't stop a client that begins one session after the other and waits for none.
 */
#define CLIENT_SESSIONS_BURST 4
#define CLIENT_SESSION_NS     1000000000ULL
#define SESSIONS_BURST	      8
#define SESSION_NS	      500000000ULL

struct client {
	struct client *next;
	unsigned char key[sizeof(((struct peer *)0)->key)];
	unsigned connections;
	unsigned costly; /* expensive requests in progress */
	struct rate sessions;
};

struct clients {
	struct client *all; /* clients with a connection, or that began a session a moment ago */
	unsigned costly;    /* expensive requests of all clients in progress */
	struct rate sessions;
};

void clients_init(struct clients *clients);
void clients_done(struct clients *clients); /* when no connection is left */

/* Returns the client to which a new connection belongs, and counts the connection; NULL: no memory.
 * The client is borrowed until client_disconnect(). */
struct client *client_connect(struct clients *clients, const struct peer *peer);

/*
 * Counts one connection less. A client without connections is forgotten only once it may begin a
 * whole burst of sessions again, so that reconnecting gives it no more sessions. Few such clients
 * are kept, since the sessions of all clients together are bounded.
 */
void client_disconnect(struct clients *clients, struct client *client);

/* Returns whether the client may send one more expensive request, and counts the request if so. */
bool client_begin_costly(struct clients *clients, struct client *client);
void client_end_costly(struct clients *clients, struct client *client);

/* Returns whether the client may begin one more session now, and counts the session if so. */
bool client_begin_session(struct clients *clients, struct client *client, uint64_t now_ns);
