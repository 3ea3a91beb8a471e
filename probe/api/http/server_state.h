/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal to the room: the state that server.c (all places where the server listens), listener.c
 * (one such place), http_request.c (one request) and http_answer.c (its answer) share. No other
 * room includes this header. */
#pragma once

#include <limits.h>
#include <microhttpd.h>
#include <sys/un.h>

#include "api/http/admission.h"
#include "api/http/connection.h"
#include "api/http/server.h"
#include "loop/rate.h"

enum listener_kind { LISTENER_API, LISTENER_METRICS, LISTENER_SOCKET, LISTENERS };

/* A listener: a place where connections are accepted. */
struct listener {
	struct listener *next;
	struct server *server;
	enum listener_kind kind;
	bool tls;
	bool retired; /* the listener accepts no more, and is freed with its last connection */
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	struct loop_timer timer;
	unsigned connections;
	bool woken;		/* a stream was woken since the library ran */
	bool starved;		/* no descriptor is left for a new connection */
	uint64_t poll_until_ns; /* see check_descriptors() */
};

struct server {
	struct loop *loop;
	const struct services *services;
	const struct conf *conf;
	struct listener *all;		/* all listeners, with the retired ones */
	struct listener *at[LISTENERS]; /* listeners that accept; NULL: none */
	int port, metrics_port;
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* path; "": none */
	bool socket_is_ours; /* the server made the socket, and has to remove it */
	char own_name[HOST_NAME_MAX + 1];
	struct peer_means means;
	struct connections connections;
	struct clients clients;
	struct rate certificates;	/* rate of log lines about bad certificates */
	struct rate warnings;		/* rate of log lines about unknown keys of queries */
	struct http_request *suspended; /* list of the requests that wait for their answer */
	bool stopping;
};

/* One request, from its first header to the end of its answer. */
struct http_request {
	struct http_request *next; /* list of `server->suspended` */
	struct server *server;
	struct listener *listener;
	struct MHD_Connection *mhd;
	struct connection *connection;
	struct caller caller;
	struct query query;
	bool costly;	   /* booked as a costly request of its client */
	bool is_put;	   /* the request is a PUT of a feature, and was let in */
	struct buf body;   /* body of a PUT */
	size_t body_bytes; /* bytes of the body that have arrived */
	struct answer answer;
	bool dispatched;
	bool is_loaded; /* the BPF objects that it needs were loaded, or couldn't be */
	bool suspended;
	bool gone; /* the client has gone: its stream ends */
	/* Watches the client's hang-up while the request waits; fd -1: not watched. */
	struct loop_watch hangup;
};

/* ---- api/http/listener.c ---- */

/* Makes a listener at a listening socket, and puts it into server->all. Takes over *fd and sets it
 * to -1; after a failure the caller owns *fd unless it is -1. Returns 0, or a negative errno with a
 * sentence in `why`. */
int listener_new(struct listener **ret, struct server *server, enum listener_kind kind, int *fd,
		 const struct tls_keys *keys, struct why *why);

/* Retires a listener: it accepts no more, and is freed with its last connection. Returns the
 * listening socket, which the caller owns, or a negative number. */
int listener_retire(struct listener *listener);
/* Removes a listener from server->all and frees it. */
void listener_free(struct listener *listener);

/* Lets the library do its work. Frees a retired listener that has no connection left. */
void listener_run(struct listener *listener);

/* ---- api/http/http_request.c: the library's callbacks ---- */

enum MHD_Result http_request_handle(void *listener, struct MHD_Connection *mhd, const char *path,
				    const char *method, const char *version, const char *data,
				    size_t *data_bytes, void **context);
void http_request_completed(void *listener, struct MHD_Connection *mhd, void **context,
			    enum MHD_RequestTerminationCode code);

/* Answers all requests that wait with a 503: the daemon stops. */
void http_requests_end(struct server *server);

/* Has the library leave the request alone until its answer, or more of its stream, is there. */
void http_request_suspend(struct http_request *request);

/* ---- api/http/http_answer.c ---- */

/* Notes what the request's connection does now. */
void http_request_state(struct http_request *request, enum connection_state state);

/* Sends the answer of a request, which is made. */
enum MHD_Result http_answer_send(struct http_request *request);
