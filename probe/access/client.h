/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients: how much of the server each peer has now, a user of this host or an address. What
 * administrators have isn't bounded, and a place is kept for them.
 */
#pragma once

#include <stdbool.h>

#include "access/peer.h"
#include "base/rate.h"

#define CLIENT_COSTLY_MAX 2 /* requests that cost, of one client at a time */
#define COSTLY_MAX	  7 /* of all clients that aren't administrators: one of 8 places stays */

/*
 * Sessions that a client begins, and all clients together. Loading, attaching and unloading the
 * BPF programs of a session takes 0.1 to 0.4 s of the loop, so that COSTLY_MAX doesn't bound a
 * client that begins one after the other and waits for none.
 */
#define CLIENT_SESSIONS_BURST 4
#define CLIENT_SESSION_NS     1000000000ULL
#define SESSIONS_BURST	      8
#define SESSION_NS	      500000000ULL

struct client {
	struct client *next;
	unsigned char key[sizeof(((struct peer *)0)->key)];
	unsigned connections;
	unsigned costly; /* of its requests that cost: those that are under way */
	struct rate sessions;
};

struct clients {
	struct client *all; /* those that have a connection or began a session a moment ago */
	unsigned costly;    /* of them all */
	struct rate sessions;
};

void clients_init(struct clients *clients);
void clients_done(struct clients *clients); /* no connection is left */

/* The client that a new connection is of, with one more connection; NULL: no memory. */
struct client *client_connect(struct clients *clients, const struct peer *peer);

/*
 * One connection less. A client without any is forgotten as soon as it may begin a whole burst of
 * sessions again: who reconnects has no more of them. There are few such clients, for the sessions
 * of all clients together are bounded.
 */
void client_disconnect(struct clients *clients, struct client *client);

/* Whether one more request that costs is within its share, and then it is under way. */
bool client_begin_costly(struct clients *clients, struct client *client);
void client_end_costly(struct clients *clients, struct client *client);

/* Whether the client may begin one more session now, and then it counts. */
bool client_begin_session(struct clients *clients, struct client *client, uint64_t now_ns);
