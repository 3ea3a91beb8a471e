/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HTTP, inside the loop. 64 connections at once: one more closes the one that has waited longest
 * for its request. A request has 10 s for its headers and body, an answer 60 s without progress.
 */
#pragma once

#include "api/feature.h"
#include "base/loop.h"

struct server;

/* Listens; `services` are borrowed and may change. *port becomes the one taken. Negative errno and
 * a sentence in `why`. */
int server_new(struct server **ret, struct loop *loop, const struct services *services,
	       const char *address, int *port, char *why, size_t why_bytes);

/* Requests that still wait for their answer get a 503; it must not be filled afterwards. */
void server_free(struct server *server);
