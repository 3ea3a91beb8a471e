// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/http/listen.h"
#include "api/http/server_state.h"
#include "base/cleanup.h"
#include "base/log.h"

/* Returns the port of a listening socket; 0: not known. */
static int port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} name = {.v6 = {0}};
	socklen_t bytes = sizeof(name);

	if (getsockname(fd, &name.any, &bytes) < 0)
		return 0;
	return ntohs(name.any.sa_family == AF_INET ? name.v4.sin_port : name.v6.sin6_port);
}

/* Removes the Unix socket. To be called while the server still listens there: so no other process's
 * socket can have the path. */
static void remove_socket(struct server *server)
{
	if (server->socket_is_ours)
		unlink(server->socket);
	server->socket_is_ours = false;
	server->socket[0] = '\0';
}

/* Makes a listener for a socket, in place of the old listener of that kind. */
static int take_place(struct server *server, enum listener_kind kind, int *fd,
		      const struct tls_keys *keys, struct why *why)
{
	struct listener *fresh, *old = server->at[kind];
	int r = listener_new(&fresh, server, kind, fd, keys, why);

	if (r < 0)
		return r;
	server->at[kind] = fresh;
	if (old) {
		int old_fd = listener_retire(old);

		if (kind == LISTENER_SOCKET)
			remove_socket(server);
		if (old_fd >= 0)
			close(old_fd);
	}
	return 0;
}

/* ---- TCP ---- */

static int open_tcp(struct server *server, enum listener_kind kind, const char *address, int *port,
		    const struct tls_keys *keys, struct why *why)
{
	int asked = *port;
	_cleanup_close_ int fd = listen_on(address, port);

	if (fd < 0) {
		why_set(why, "can't listen on %s:%d: %s", address, asked, strerror(-fd));
		return fd;
	}
	return take_place(server, kind, &fd, keys, why);
}

/* Opens the address of the API, unless there is to be none: port 0. */
static int open_api(struct server *server, const struct conf *conf, struct why *why)
{
	_cleanup_close_ int given = listen_given(AF_INET);

	if (given < 0 && !conf->bind_addr[0])
		return 0;
	server->port = conf->port;
	if (given < 0)
		return open_tcp(server, LISTENER_API, conf->bind_addr, &server->port,
				conf->rest.keys, why);
	server->port = port_of(given);
	return take_place(server, LISTENER_API, &given, conf->rest.keys, why);
}

static int open_metrics(struct server *server, const struct conf *conf, struct why *why)
{
	const struct rest_options *rest = &conf->rest;
	int port = rest->metrics_port;

	if (!rest->metrics_address[0])
		return 0;
	int r = open_tcp(server, LISTENER_METRICS, rest->metrics_address, &port, rest->keys, why);
	if (r < 0)
		return r;
	server->metrics_port = port;
	log_info("metrics for everybody at %s:%d (/metrics and /healthz alone)",
		 rest->metrics_address, port);
	return 0;
}

/* ---- the Unix socket ---- */

static void explain_socket(int error, const char *path, struct why *why)
{
	const char *words = strerror(-error);

	if (error == -EADDRINUSE)
		words = "another daemon listens there";
	else if (error == -EPERM)
		words = "its folder doesn't belong to root alone, or others may write there";
	else if (error == -ENOTSOCK)
		words = "there is something that is no socket";
	why_set(why, "can't listen at %s: %s", path, words);
}

static int open_socket(struct server *server, const char *path, struct why *why)
{
	_cleanup_close_ int fd = listen_given(AF_UNIX);
	bool given = fd >= 0;

	if (!given && !path[0])
		return 0;
	if (!given)
		fd = listen_at(path);
	if (fd < 0) {
		explain_socket(fd, path, why);
		return fd;
	}
	int r = take_place(server, LISTENER_SOCKET, &fd, NULL, why);
	if (r < 0)
		return r;
	snprintf(server->socket, sizeof(server->socket), "%s", path);
	server->socket_is_ours = !given;
	log_info("socket %s", path);
	return 0;
}

/* Opens the Unix socket at the start. If the conf file doesn't name the socket, a failure is only
 * logged: a second daemon goes without it. */
static int open_first_socket(struct server *server, const struct conf *conf, struct why *why)
{
	int r = open_socket(server, conf->rest.socket, why);

	if (r < 0 && !conf->rest.socket_given) {
		log_warn("%s; it goes without that socket (rest_api_server.socket)", why->text);
		return 0;
	}
	return r;
}

/* ---- all of them ---- */

static void warn_of_loopback(const struct server *server, const struct conf *conf)
{
	if (conf->rest.rules.loopback_uid && server->means.way == SOCK_UNTOLD)
		log_warn("this kernel doesn't tell whose process asks over loopback (sock_diag): "
			 "come by the Unix socket, or send a token");
	else if (conf->rest.rules.loopback_uid && server->means.sight == CGROUPS_BELOW)
		log_warn("from within a cgroup namespace other containers aren't told from the "
			 "host: over loopback nobody outside of it has a user. Run this container "
			 "with --cgroupns=host, come by the Unix socket, or send a token");
}

int server_new(struct server **ret, struct loop *loop, const struct services *services,
	       const struct conf *conf, struct why *why)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	server->loop = loop;
	server->services = services;
	server->conf = conf;
	server->certificates = (struct rate){.every_ns = NS_PER_S, .burst = 10};
	server->warnings = (struct rate){.every_ns = 10 * NS_PER_S, .burst = 10};
	gethostname(server->own_name, sizeof(server->own_name) - 1);
	connections_init(&server->connections, loop);
	clients_init(&server->clients);
	if (conf->rest.rules.loopback_uid)
		peer_try(&server->means);
	warn_of_loopback(server, conf);
	int r = open_api(server, conf, why);
	if (r == 0)
		r = open_first_socket(server, conf, why);
	if (r == 0)
		r = open_metrics(server, conf, why);
	if (r == 0 && !server->at[LISTENER_API] && !server->at[LISTENER_SOCKET]) {
		why_set(why, "nobody could ask: neither rest_api_server.bind_addr nor "
			     "rest_api_server.socket is there");
		r = -EINVAL;
	}
	if (r < 0) {
		server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

int server_port(const struct server *server)
{
	return server->port;
}

/* ---- SIGHUP ---- */

static void swap_texts(char **a, char **b)
{
	char *kept = *a;

	*a = *b;
	*b = kept;
}

/* Listens at the same socket with other keys. Open connections keep the old keys until they end. */
static int change_keys(struct server *server, enum listener_kind kind, const struct tls_keys *keys,
		       struct why *why)
{
	struct listener *old = server->at[kind], *fresh;

	if (!old)
		return 0;
	why_set(why, "its socket can't be had");
	_cleanup_close_ int fd = listener_retire(old);
	server->at[kind] = NULL;
	int r = fd < 0 ? -EIO : listener_new(&fresh, server, kind, &fd, keys, why);
	if (r == 0) {
		server->at[kind] = fresh;
		return 0;
	}
	/* Fall back to the old keys. */
	if (fd >= 0 && listener_new(&fresh, server, kind, &fd, server->conf->rest.keys, why) == 0)
		server->at[kind] = fresh;
	return r;
}

static void reload_keys(struct server *server, struct rest_options *fresh)
{
	/* The old conf's keys aren't used any more: the library has read them. */
	struct rest_options *old = (struct rest_options *)&server->conf->rest;
	struct why why;
	bool failed = false;

	if (tls_keys_equal(fresh->keys, old->keys))
		return;
	for (int kind = 0; kind < LISTENER_SOCKET; kind++) {
		if (change_keys(server, kind, fresh->keys, &why) == 0)
			continue;
		log_error("SIGHUP: %s; the next SIGHUP tries again", why.text);
		failed = true;
	}
	if (failed) {
		struct tls_keys *kept = old->keys;

		old->keys = fresh->keys;
		fresh->keys = kept;
		return;
	}
	log_info("SIGHUP: TLS %s", fresh->keys ? "has the keys that are there now" : "is off");
}

/* Closes an address. */
static void close_listener(struct server *server, enum listener_kind kind)
{
	int fd = server->at[kind] ? listener_retire(server->at[kind]) : -1;

	server->at[kind] = NULL;
	if (fd >= 0)
		close(fd);
}

static void reload_api(struct server *server, struct conf *fresh)
{
	const struct conf *old = server->conf;
	int port = fresh->port;
	struct why why;

	if (strcmp(fresh->bind_addr, old->bind_addr) == 0 && fresh->port == old->port &&
	    (server->at[LISTENER_API] || !fresh->bind_addr[0]))
		return;
	if (!fresh->bind_addr[0] && (!server->at[LISTENER_SOCKET] || !fresh->rest.socket[0])) {
		log_error("SIGHUP: there is no socket, so it goes on listening on %s:%d",
			  old->bind_addr, server->port);
		memcpy(fresh->bind_addr, old->bind_addr, sizeof(fresh->bind_addr));
		fresh->port = old->port;
		return;
	}
	if (!fresh->bind_addr[0]) {
		close_listener(server, LISTENER_API);
		server->port = 0;
		log_info("the TCP address is closed");
		return;
	}
	if (open_tcp(server, LISTENER_API, fresh->bind_addr, &port, fresh->rest.keys, &why) == 0) {
		server->port = port;
		log_info("listening on %s:%d", fresh->bind_addr, port);
		return;
	}
	log_error("%s; it goes on listening on %s:%d", why.text, old->bind_addr, server->port);
	memcpy(fresh->bind_addr, old->bind_addr, sizeof(fresh->bind_addr));
	fresh->port = old->port;
}

static void reload_metrics(struct server *server, struct conf *fresh)
{
	const struct rest_options *old = &server->conf->rest;
	struct rest_options *rest = &fresh->rest;
	struct why why;

	if (strcmp(rest->metrics_address, old->metrics_address) == 0 &&
	    rest->metrics_port == old->metrics_port)
		return;
	if (!rest->metrics_address[0]) {
		if (server->at[LISTENER_METRICS])
			log_info("metrics: the second address is closed");
		close_listener(server, LISTENER_METRICS);
		return;
	}
	if (open_metrics(server, fresh, &why) == 0)
		return;
	log_error("%s; the second address stays as it was", why.text);
	memcpy(rest->metrics_address, old->metrics_address, sizeof(rest->metrics_address));
	rest->metrics_port = old->metrics_port;
}

static void reload_socket(struct server *server, struct conf *fresh)
{
	/* The old conf's path isn't used any more: the server has a copy. */
	struct rest_options *old = (struct rest_options *)&server->conf->rest;
	struct why why;

	if (strcmp(fresh->rest.socket, old->socket) == 0)
		return;
	if (fresh->rest.socket[0] && open_socket(server, fresh->rest.socket, &why) == 0)
		return;
	if (!fresh->rest.socket[0] && !server->at[LISTENER_API])
		why_set(&why, "SIGHUP: there is no TCP address");
	if (fresh->rest.socket[0] || !server->at[LISTENER_API]) {
		log_error("%s; the socket stays as it was", why.text);
		swap_texts(&fresh->rest.socket, &old->socket);
	} else if (server->at[LISTENER_SOCKET]) {
		remove_socket(server);
		close_listener(server, LISTENER_SOCKET);
	}
}

void server_reload(struct server *server, struct conf *fresh)
{
	reload_keys(server, &fresh->rest);
	reload_api(server, fresh);
	reload_metrics(server, fresh);
	reload_socket(server, fresh);
	if (!access_rules_equal(&server->conf->rest.rules, &fresh->rest.rules))
		connections_end(&server->connections, NULL);
	if (fresh->rest.rules.loopback_uid && !server->conf->rest.rules.loopback_uid) {
		peer_try(&server->means);
		warn_of_loopback(server, fresh);
	}
}

void server_free(struct server *server)
{
	if (!server)
		return;
	/* No answer is filled any more, nor those of requests that come only now. */
	server->stopping = true;
	remove_socket(server);
	http_requests_end(server);
	for (struct listener *at = server->all; at; at = at->next)
		MHD_run(at->daemon);
	while (server->all)
		listener_free(server->all);
	connections_done(&server->connections);
	clients_done(&server->clients);
	free(server);
}
