/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections under their limits: how many, and how long each may wait for its request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

#define CONNECTIONS_MAX	   64
#define CONNECTIONS_MIN	   4
#define REQUEST_TIMEOUT_NS (10 * NS_PER_S)

struct connection {
	struct connection *next;
	int fd; /* the server's */
	uint64_t since_ns;
	bool waiting; /* for a request, or the rest of it */
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

/* A new connection; over the limit another is shut down. NULL: no memory. */
struct connection *connection_add(struct connections *connections, int fd);
void connection_del(struct connections *connections, struct connection *connection);

/* Its request is complete; or it begins to wait for the next one. */
void connection_set_waiting(struct connections *connections, struct connection *connection,
			    bool waiting);
