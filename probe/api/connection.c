// SPDX-License-Identifier: GPL-2.0-only
#include "api/connection.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* The server sees the end of the stream and closes it. */
static void shut_down(struct connection *connection)
{
	connection->closing = true;
	shutdown(connection->fd, SHUT_RDWR);
}

static struct connection *longest_waiting(const struct connections *connections)
{
	struct connection *oldest = NULL;

	for (struct connection *at = connections->all; at; at = at->next) {
		if (at->waiting && !at->closing && (!oldest || at->since_ns < oldest->since_ns))
			oldest = at;
	}
	return oldest;
}

static void arm(struct connections *connections)
{
	const struct connection *oldest = longest_waiting(connections);

	if (oldest)
		loop_timer_set(connections->loop, &connections->timer,
			       oldest->since_ns + REQUEST_TIMEOUT_NS);
	else
		loop_timer_cancel(connections->loop, &connections->timer);
}

static void close_late(void *arg)
{
	struct connections *connections = arg;
	uint64_t now = loop_now_ns();

	for (struct connection *at = connections->all; at; at = at->next) {
		if (at->waiting && !at->closing && now - at->since_ns >= REQUEST_TIMEOUT_NS)
			shut_down(at);
	}
	arm(connections);
}

/* A sixteenth of the descriptors at most: whoever connects must not stop the profiling. */
static unsigned allowed(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= CONNECTIONS_MAX * 16)
		return CONNECTIONS_MAX;
	unsigned part = (unsigned)limit.rlim_cur / 16;
	return part > CONNECTIONS_MIN ? part : CONNECTIONS_MIN;
}

void connections_init(struct connections *connections, struct loop *loop)
{
	*connections = (struct connections){
		.loop = loop,
		.timer = {.expired = close_late, .arg = connections},
		.max = allowed(),
	};
}

void connections_done(struct connections *connections)
{
	loop_timer_cancel(connections->loop, &connections->timer);
}

struct connection *connection_add(struct connections *connections, int fd)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	unsigned open = 1;

	if (!connection)
		return NULL;
	for (const struct connection *at = connections->all; at; at = at->next)
		open += !at->closing;
	connection->fd = fd;
	connection->since_ns = loop_now_ns();
	connection->waiting = true;
	if (open > connections->max) {
		struct connection *oldest = longest_waiting(connections);

		shut_down(oldest ? oldest : connection);
	}
	connection->next = connections->all;
	connections->all = connection;
	arm(connections);
	return connection;
}

void connection_del(struct connections *connections, struct connection *connection)
{
	struct connection **at = &connections->all;

	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	free(connection);
	arm(connections);
}

void connection_set_waiting(struct connections *connections, struct connection *connection,
			    bool waiting)
{
	connection->waiting = waiting;
	connection->since_ns = loop_now_ns();
	arm(connections);
}
