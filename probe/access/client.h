/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients: how much of the server each peer has now, a user of this host or an address. What
 * administrators have isn't bounded, and a place is kept for them.
 */
#pragma once

#include <stdbool.h>

#include "access/peer.h"

#define CLIENT_COSTLY_MAX 2 /* requests that cost, of one client at a time */
#define COSTLY_MAX	  7 /* of all clients that aren't administrators: one of 8 places stays */

struct client {
	struct client *next;
	unsigned char key[sizeof(((struct peer *)0)->key)];
	unsigned connections;
	unsigned costly; /* of its requests that cost: those that are under way */
};

struct clients {
	struct client *all; /* those that have a connection */
	unsigned costly;    /* of them all */
};

/* The client that a new connection is of, with one more connection; NULL: no memory. */
struct client *client_connect(struct clients *clients, const struct peer *peer);

/* One connection less; with the last one the client is forgotten. */
void client_disconnect(struct clients *clients, struct client *client);

/* Whether one more request that costs is within its share, and then it is under way. */
bool client_begin_costly(struct clients *clients, struct client *client);
void client_end_costly(struct clients *clients, struct client *client);
