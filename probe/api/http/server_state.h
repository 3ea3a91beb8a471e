/* SPDX-License-Identifier: GPL-2.0-only */
/* What api/http/server.c (where it listens), api/http/listener.c (one such place) and
 * api/http/http_request.c (a request's way) share. Nobody else includes it. */
#pragma once

#include <limits.h>
#include <microhttpd.h>
#include <sys/un.h>

#include "api/http/admission.h"
#include "api/http/connection.h"
#include "api/http/server.h"
#include "base/rate.h"

enum listener_kind { LISTENER_API, LISTENER_METRICS, LISTENER_SOCKET, LISTENERS };

/* A place where connections are accepted. */
struct listener {
	struct listener *next;
	struct server *server;
	enum listener_kind kind;
	bool tls;
	bool retired; /* accepts no more; goes with its last connection */
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	struct loop_timer timer;
	unsigned connections;
	bool woken;		/* a stream was, since the library was run */
	bool starved;		/* no descriptor is left for a connection */
	uint64_t poll_until_ns; /* see check_descriptors() */
};

struct server {
	struct loop *loop;
	const struct services *services;
	const struct conf *conf;
	struct listener *all;		/* retired ones, too */
	struct listener *at[LISTENERS]; /* those that accept; NULL: none */
	int port, metrics_port;
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
	bool socket_is_ours; /* made by us, and to be removed */
	char own_name[HOST_NAME_MAX + 1];
	struct peer_means means;
	struct connections connections;
	struct clients clients;
	struct rate certificates;	/* log lines of bad ones */
	struct http_request *suspended; /* requests that wait for their answer */
	bool stopping;
};

/* One request, from its first header to the end of its answer. */
struct http_request {
	struct http_request *next; /* while suspended */
	struct server *server;
	struct listener *listener;
	struct MHD_Connection *mhd;
	struct connection *connection;
	struct caller caller;
	struct query query;
	bool costly;	   /* booked to its client */
	bool is_put;	   /* of a feature, by who may */
	struct buf body;   /* of a PUT */
	size_t body_bytes; /* that came */
	struct answer answer;
	bool dispatched;
	bool suspended;
	bool gone;		  /* the client: its stream ends */
	struct loop_watch hangup; /* of the client, while it waits; fd -1: none */
};

/* ---- api/http/listener.c ---- */

/* Accepts connections at a listening socket, which it then has. Negative errno and a sentence in
 * `why`. */
int listener_new(struct listener **ret, struct server *server, enum listener_kind kind, int *fd,
		 const struct tls_keys *keys, char *why, size_t why_bytes);

/* Accepts no more, and is freed with its last connection; the listening socket is the caller's. */
int listener_retire(struct listener *listener);
void listener_free(struct listener *listener);

/* Lets the library do what is to be done. Frees a retired listener that has no connection left. */
void listener_run(struct listener *listener);

/* ---- api/http/http_request.c: the library's callbacks ---- */

enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *mhd, const char *path,
				    const char *method, const char *version, const char *data,
				    size_t *data_bytes, void **context);
void http_request_completed(void *listener, struct MHD_Connection *mhd, void **context,
			    enum MHD_RequestTerminationCode code);

/* Answers all that wait for an answer: the daemon stops. */
void http_requests_end(struct server *server);
