// SPDX-License-Identifier: GPL-2.0-only
#include "access/client.h"

#include <stdlib.h>
#include <string.h>

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
		client->next = clients->all;
		clients->all = client;
	}
	client->connections++;
	return client;
}

void client_disconnect(struct clients *clients, struct client *client)
{
	struct client **at = &clients->all;

	if (--client->connections)
		return;
	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	free(client);
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
