/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP server in the daemon's loop. It listens at an address (TCP, with or without TLS), at a Unix
 * socket, and at a further address for /metrics and /healthz alone. There are 64 connections at
 * once: a further one closes the connection that has waited longest for its request, or whose
 * client reads nothing. A request has 10 s for its headers and body, an answer 60 s without
 * progress. Loop thread only.
 */
#pragma once

#include "api/conf/conf.h"
#include "api/feature/feature.h"
#include "loop/loop.h"

struct server;

/*
 * Makes the server, which listens where the conf says. `services` and `conf` are borrowed and may
 * change; `conf` only in server_reload(). Sockets that systemd has opened are taken first
 * (sd_listen_fds(3)). Logs where the server listens. The caller owns *ret (server_free()). Returns
 * 0, or a negative errno with a sentence in `why`.
 */
int server_new(struct server **ret, struct loop *loop, const struct services *services,
	       const struct conf *conf, struct why *why);

/* Returns the port of the first address; 0: there is none. */
int server_port(const struct server *server);

/*
 * Moves the server to the addresses and TLS keys of `fresh`, which is about to replace the conf in
 * the same place. Requests that are under way are still answered. What can't be had stays as it is;
 * that is logged and put back into `fresh`.
 */
void server_reload(struct server *server, struct conf *fresh);

/* Frees the server (NULL: nothing). Requests that still wait get a 503; their answers must not be
 * filled afterwards. */
void server_free(struct server *server);
