// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/connection.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Shuts a connection down; the HTTP library sees the end of the stream and closes it. */
static void shut_down(struct connection *connection)
{
	connection->closing = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* Which connections are meant; NULL and false: all. */
struct which {
	const struct client *client;
	bool ordinary;	   /* no administrator's */
	bool metrics_only; /* only connections at the address for /metrics */
};

static bool is_meant(const struct connection *connection, const struct which *which)
{
	return !connection->closing && (!which->client || connection->of.client == which->client) &&
	       (!which->ordinary || !connection->of.is_admin) &&
	       (!which->metrics_only || connection->of.metrics_only);
}

/* Returns the connection that has waited longest for a request, or whose client has taken nothing
 * of its answer for STUCK_NS before `now_ns` (0: only connections that wait); NULL: none. */
static struct connection *longest_idle(const struct connections *connections,
				       const struct which *which, uint64_t now_ns)
{
	struct connection *oldest = NULL;

	for (struct connection *at = connections->all; at; at = at->next) {
		bool idle = at->state == CONNECTION_WAITS ||
			    (at->state == CONNECTION_WRITES && at->since_ns + STUCK_NS <= now_ns);

		if (idle && is_meant(at, which) && (!oldest || at->since_ns < oldest->since_ns))
			oldest = at;
	}
	return oldest;
}

static unsigned count_connections(const struct connections *connections, const struct which *which)
{
	unsigned open = 0;

	for (const struct connection *at = connections->all; at; at = at->next)
		open += is_meant(at, which);
	return open;
}

static unsigned at_least(unsigned number, unsigned least)
{
	return number > least ? number : least;
}

/* Returns, of the client that has most connections, the one that has been written longest; NULL: no
 * client has more than the new connection's. */
static struct connection *of_who_has_most(const struct connections *connections,
					  const struct connection *fresh, const struct which *which)
{
	unsigned most = count_connections(connections, &(struct which){.client = fresh->of.client});
	struct connection *victim = NULL;

	for (struct connection *at = connections->all; at; at = at->next) {
		if (at->state != CONNECTION_WRITES || at->of.is_admin || !is_meant(at, which))
			continue;
		unsigned has =
			count_connections(connections, &(struct which){.client = at->of.client});
		if (has > most || (victim && has == most && at->since_ns < victim->since_ns)) {
			most = has;
			victim = at;
		}
	}
	return victim;
}

/* Returns the connection that a new one replaces, which may be the new one itself; NULL: there is
 * room. */
static struct connection *find_victim(const struct connections *connections,
				      struct connection *fresh)
{
	const struct which all = {0}, ordinary = {.ordinary = true},
			   same = {.client = fresh->of.client}, metrics = {.metrics_only = true};
	const struct which *full = NULL;
	unsigned quarter = at_least(connections->max / 4, 2);
	struct connection *victim = NULL;

	if (!fresh->of.is_admin && count_connections(connections, &same) > quarter)
		full = &same;
	else if (fresh->of.metrics_only && count_connections(connections, &metrics) > quarter)
		full = &metrics;
	else if (!fresh->of.is_admin &&
		 count_connections(connections, &ordinary) >
			 connections->max - at_least(connections->max / 8, 1))
		full = &ordinary;
	else if (count_connections(connections, &all) > connections->max)
		full = &all;
	if (!full)
		return NULL;
	if (full == &all) /* connections of administrators come last */
		victim = longest_idle(connections, &ordinary, fresh->since_ns);
	if (!victim)
		victim = longest_idle(connections, full, fresh->since_ns);
	if (!victim || victim == fresh)
		victim = of_who_has_most(connections, fresh, full);
	return victim ? victim : fresh;
}

static void set_idle_timer(struct connections *connections)
{
	const struct connection *oldest = longest_idle(connections, &(struct which){0}, 0);

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
		if (at->state == CONNECTION_WAITS && !at->closing &&
		    now - at->since_ns >= REQUEST_TIMEOUT_NS)
			shut_down(at);
	}
	set_idle_timer(connections);
}

/* Returns how many connections are allowed: a sixteenth of the descriptors at most, for clients
 * must not stop the profiling. */
static unsigned allowed_connections(void)
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
		.timer = {.expired = close_late, .arg = connections, .name = "http"},
		.max = allowed_connections(),
	};
}

void connections_done(struct connections *connections)
{
	loop_timer_cancel(connections->loop, &connections->timer);
}

struct connection *connection_add(struct connections *connections, int fd, const void *listener,
				  const struct connection_of *of)
{
	struct connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->fd = fd;
	connection->listener = listener;
	connection->of = *of;
	connection->since_ns = loop_now_ns();
	connection->next = connections->all;
	connections->all = connection;
	struct connection *victim = find_victim(connections, connection);
	if (victim)
		shut_down(victim);
	set_idle_timer(connections);
	return connection;
}

void connections_end(struct connections *connections, const void *listener)
{
	for (struct connection *at = connections->all; at; at = at->next) {
		if (at->closing || (listener && at->listener != listener))
			continue;
		at->last = true;
		if (at->state == CONNECTION_WAITS && at->served)
			shut_down(at);
	}
}

void connection_del(struct connections *connections, struct connection *connection)
{
	struct connection **at = &connections->all;

	while (*at != connection)
		at = &(*at)->next;
	*at = connection->next;
	free(connection);
	set_idle_timer(connections);
}

void connection_set_state(struct connections *connections, struct connection *connection,
			  enum connection_state state)
{
	connection->state = state;
	connection->served |= state == CONNECTION_WAITS;
	connection->since_ns = loop_now_ns();
	set_idle_timer(connections);
}
