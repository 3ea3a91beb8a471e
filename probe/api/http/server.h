/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP, inside the loop: an address (TCP, with TLS or without), a Unix socket, and a further
 * address for /metrics and /healthz alone. 64 connections at once: one more closes the one that has
 * waited longest for its request, or whose client reads nothing. A request has 10 s for its headers
 * and body, an answer 60 s without progress.
 */
#pragma once

#include "api/conf/conf.h"
#include "api/feature/feature.h"
#include "loop/loop.h"

struct server;

/*
 * Listens where the conf says. `services` and `conf` are borrowed, and may change: `conf` in
 * server_reload() alone. Sockets that systemd has opened are taken first (sd_listen_fds(3)). Logs
 * where it listens. Negative errno and a sentence in `why`.
 */
int server_new(struct server **ret, struct loop *loop, const struct services *services,
	       const struct conf *conf, char *why, size_t why_bytes);

/* The port of the first address. */
int server_port(const struct server *server);

/*
 * The conf is about to be replaced by `fresh`, which then has the same place: moves to its
 * addresses and takes its keys; requests that are under way are answered. What can't be had stays
 * as it is, is logged, and is put back into `fresh`.
 */
void server_reload(struct server *server, struct conf *fresh);

/* Requests that still wait for their answer get a 503; it must not be filled afterwards. */
void server_free(struct server *server);
