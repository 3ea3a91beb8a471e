// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/http/server_state.h"
#include "base/cleanup.h"
#include "base/log.h"

#define ANSWER_TIMEOUT_S 60
#define POLL_EVERY_NS	 (100 * NS_PER_MS)
#define POLL_NS		 (REQUEST_TIMEOUT_NS + 5 * NS_PER_S)
/* More than we keep open: connections that are being closed count as well. */
#define MHD_CONNECTIONS (CONNECTIONS_MAX * 2)

#define OPTIONS_MAX	5

static bool has_descriptor(const struct listener *listener)
{
	int spare = fcntl(listener->watch.fd, F_DUPFD_CLOEXEC, 3);

	if (spare >= 0)
		close(spare);
	return spare >= 0;
}

/*
 * Checks whether a descriptor is left. While none is, the library would try to accept without end;
 * and after a failed accept it begins again only when it is called some time after a connection has
 * ended. So the library is called ten times a second, meanwhile and for a while thereafter.
 */
static void check_descriptors(struct listener *listener)
{
	struct loop *loop = listener->server->loop;
	bool starved = !has_descriptor(listener);

	if (starved && !listener->starved) {
		log_warn("no descriptor is left: new connections wait (RLIMIT_NOFILE)");
		loop_unwatch(loop, &listener->watch);
	} else if (!starved && listener->starved) {
		log_info("there are descriptors again");
		starved = loop_watch(loop, &listener->watch) < 0;
	}
	listener->starved = starved;
	if (starved)
		listener->poll_until_ns = loop_now_ns() + POLL_NS;
}

void listener_run(struct listener *listener)
{
	MHD_UNSIGNED_LONG_LONG ms;

	listener->woken = false;
	MHD_run(listener->daemon);
	if (listener->retired && !listener->connections) {
		listener_free(listener);
		return;
	}
	check_descriptors(listener);
	uint64_t now = loop_now_ns(), next = UINT64_MAX;
	if (!listener->starved && MHD_get_timeout(listener->daemon, &ms) == MHD_YES)
		next = now + ms * NS_PER_MS;
	if (now < listener->poll_until_ns && now + POLL_EVERY_NS < next)
		next = now + POLL_EVERY_NS;
	if (listener->woken)
		next = now;
	if (next != UINT64_MAX)
		loop_timer_set(listener->server->loop, &listener->timer, next);
	else
		loop_timer_cancel(listener->server->loop, &listener->timer);
}

static void on_ready(void *arg)
{
	listener_run(arg);
}

static void begin_connection(struct listener *listener, int fd, void **context)
{
	struct server *server = listener->server;
	const struct access_rules *rules = &server->conf->rest.rules;
	const struct peer_question question = {
		.loopback_uid = rules->loopback_uid,
		.means = server->means,
		.has_group = rules->has_group,
		.group = rules->group,
	};
	struct connection_of of;

	peer_find(fd, &question, &of.peer);
	of.metrics_only = listener->kind == LISTENER_METRICS;
	of.is_admin = access_of_peer(rules, &of.peer) == ROLE_ADMIN;
	of.client = client_connect(&server->clients, &of.peer);
	if (!of.client)
		return;
	*context = connection_add(&server->connections, fd, listener, &of);
	if (*context)
		listener->connections++;
	else
		client_disconnect(&server->clients, of.client);
}

static void connection_changed(void *arg, struct MHD_Connection *mhd, void **context,
			       enum MHD_ConnectionNotificationCode code)
{
	struct listener *listener = arg;
	struct server *server = listener->server;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		begin_connection(
			listener,
			MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			context);
	} else if (*context) {
		struct connection *connection = *context;
		struct client *client = connection->of.client;

		connection_del(&server->connections, connection);
		client_disconnect(&server->clients, client);
		listener->connections--;
		*context = NULL;
	}
}

/* Decodes a path. A path with a NUL is not the path before the NUL: it stays undecoded, and isn't
 * found. */
static size_t unescape_path(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static void log_mhd(void *arg, const char *format, va_list args)
{
	struct listener *listener = arg;
	char line[256];

	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	if (strstr(line, "accepting connection"))
		listener->poll_until_ns = loop_now_ns() + POLL_NS;
	log_debug("http: %s", line);
}

/* Adds the options for TLS. gala-gopher takes TLS 1.3 only; old scrapers have TLS 1.2. */
static void add_tls(struct MHD_OptionItem options[OPTIONS_MAX], const struct tls_keys *keys)
{
	size_t count = 0;

	options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, keys->key};
	options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, keys->certificate};
	options[count++] =
		(struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
					(void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
	if (keys->authority)
		options[count++] =
			(struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, keys->authority};
	options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
}

static struct MHD_Daemon *start_mhd(struct listener *listener, int fd, const struct tls_keys *keys)
{
	struct MHD_OptionItem tls[OPTIONS_MAX] = {{MHD_OPTION_END, 0, NULL}};
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;

	if (keys) {
		flags |= MHD_USE_TLS;
		add_tls(tls, keys);
	}
	return MHD_start_daemon(
		flags, 0, NULL, NULL, http_request_handle, listener, MHD_OPTION_EXTERNAL_LOGGER,
		log_mhd, listener, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)MHD_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)ANSWER_TIMEOUT_S, MHD_OPTION_UNESCAPE_CALLBACK, unescape_path, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, http_request_completed, listener,
		MHD_OPTION_NOTIFY_CONNECTION, connection_changed, listener, MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
}

int listener_new(struct listener **ret, struct server *server, enum listener_kind kind, int *fd,
		 const struct tls_keys *keys, struct why *why)
{
	_cleanup_free_ struct listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		why_set(why, "no memory");
		return -ENOMEM;
	}
	listener->server = server;
	listener->kind = kind;
	listener->tls = keys != NULL;
	listener->timer = (struct loop_timer){.expired = on_ready, .arg = listener, .name = "http"};
	/* A copy, for the library closes its socket also when it can't start. */
	int copy = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	listener->daemon = copy < 0 ? NULL : start_mhd(listener, copy, keys);
	if (!listener->daemon) {
		why_set(why, "the HTTP library can't be started%s",
			keys ? " with the keys of rest_api_server" : "");
		return -ENOMEM;
	}
	close(TAKE_FD(*fd));
	listener->watch = (struct loop_watch){
		MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd, on_ready,
		listener, "http"};
	int r = loop_watch(server->loop, &listener->watch);
	if (r < 0) {
		MHD_stop_daemon(listener->daemon);
		why_set(why, "epoll: %s", strerror(-r));
		return r;
	}
	listener->next = server->all;
	server->all = listener;
	*ret = TAKE_PTR(listener);
	return 0;
}

int listener_retire(struct listener *listener)
{
	struct server *server = listener->server;
	int fd = MHD_quiesce_daemon(listener->daemon);

	listener->retired = true;
	connections_end(&server->connections, listener);
	loop_timer_set(server->loop, &listener->timer, loop_now_ns());
	return fd;
}

void listener_free(struct listener *listener)
{
	struct server *server = listener->server;
	struct listener **at = &server->all;

	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	loop_timer_cancel(server->loop, &listener->timer);
	if (!listener->starved)
		loop_unwatch(server->loop, &listener->watch);
	MHD_stop_daemon(listener->daemon);
	free(listener);
}
