// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/client.h"

#include <stdlib.h>
#include <string.h>

#include "loop/loop.h"

void clients_init(struct clients *clients)
{
	*clients = (struct clients){.sessions = {.every_ns = SESSION_NS, .burst = SESSIONS_BURST}};
}

void clients_done(struct clients *clients)
{
	while (clients->all) {
		struct client *client = clients->all;

		clients->all = client->next;
		free(client);
	}
}

static void forget_rested(struct clients *clients)
{
	uint64_t now = loop_now_ns();

	for (struct client **at = &clients->all; *at;) {
		struct client *client = *at;

		if (client->connections || !rate_is_rested(&client->sessions, now)) {
			at = &client->next;
			continue;
		}
		*at = client->next;
		free(client);
	}
}

struct client *client_connect(struct clients *clients, const struct peer *peer)
{
	struct client *client = clients->all;

	while (client && memcmp(client->key, peer->key, sizeof(client->key)) != 0)
		client = client->next;
	if (!client) {
		client = calloc(1, sizeof(*client));
		if (!client)
			return NULL;
		memcpy(client->key, peer->key, sizeof(client->key));
		client->sessions = (struct rate){.every_ns = CLIENT_SESSION_NS,
						 .burst = CLIENT_SESSIONS_BURST};
		client->next = clients->all;
		clients->all = client;
	}
	client->connections++;
	return client;
}

void client_disconnect(struct clients *clients, struct client *client)
{
	if (!--client->connections)
		forget_rested(clients);
}

bool client_begin_costly(struct clients *clients, struct client *client)
{
	if (client->costly >= CLIENT_COSTLY_MAX || clients->costly >= COSTLY_MAX)
		return false;
	client->costly++;
	clients->costly++;
	return true;
}

void client_end_costly(struct clients *clients, struct client *client)
{
	client->costly--;
	clients->costly--;
}

bool client_begin_session(struct clients *clients, struct client *client, uint64_t now_ns)
{
	return rate_allows(&clients->sessions, now_ns) && rate_take(&client->sessions, now_ns) &&
	       rate_take(&clients->sessions, now_ns);
}
