// SPDX-License-Identifier: GPL-2.0-only
#include "api/server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/connection.h"
#include "api/dispatch.h"
#include "api/listen.h"
#include "api/request.h"
#include "base/cleanup.h"
#include "base/log.h"

#define ANSWER_MAX	 (256u * 1024 * 1024)
#define ANSWER_TIMEOUT_S 60
#define POLL_EVERY_NS	 (100 * NS_PER_MS)
#define POLL_NS		 (REQUEST_TIMEOUT_NS + 5 * NS_PER_S)
/* More than we keep open: those that are being closed count as well. */
#define MHD_CONNECTIONS (CONNECTIONS_MAX * 2)

#define STREAM_BYTES	4096

struct server {
	struct loop *loop;
	const struct services *services;
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	struct loop_timer timer;
	struct connections connections;
	struct http_request *suspended; /* requests that wait for their answer */
	bool stopping;
	bool woken;		/* a stream was, since the library was run */
	bool starved;		/* no descriptor is left for a connection */
	uint64_t poll_until_ns; /* see check_descriptors() */
};

/* One request, from its first header to the end of its answer. */
struct http_request {
	struct http_request *next; /* while suspended */
	struct server *server;
	struct MHD_Connection *mhd;
	struct connection *connection;
	struct buf body;
	struct answer answer;
	bool dispatched;
	bool suspended;
	bool gone;		  /* the client: its stream ends */
	struct loop_watch hangup; /* of the client, while it waits; fd -1: none */
};

/* ---- the loop's side ---- */

static bool has_descriptor(const struct server *server)
{
	int spare = fcntl(server->watch.fd, F_DUPFD_CLOEXEC, 3);

	if (spare >= 0)
		close(spare);
	return spare >= 0;
}

/*
 * While no descriptor is left, the library would try to accept without end; and when it once could
 * not, it begins again only when it is called some time after a connection has ended. So it is
 * called ten times a second, meanwhile and for a while thereafter.
 */
static void check_descriptors(struct server *server)
{
	bool starved = !has_descriptor(server);

	if (starved && !server->starved) {
		log_warn("no descriptor is left: new connections wait (RLIMIT_NOFILE)");
		loop_unwatch(server->loop, &server->watch);
	} else if (!starved && server->starved) {
		log_info("there are descriptors again");
		starved = loop_watch(server->loop, &server->watch) < 0;
	}
	server->starved = starved;
	if (starved)
		server->poll_until_ns = loop_now_ns() + POLL_NS;
}

static void run(void *arg)
{
	struct server *server = arg;
	MHD_UNSIGNED_LONG_LONG ms;

	server->woken = false;
	MHD_run(server->daemon);
	check_descriptors(server);
	uint64_t now = loop_now_ns(), next = UINT64_MAX;
	if (!server->starved && MHD_get_timeout(server->daemon, &ms) == MHD_YES)
		next = now + ms * NS_PER_MS;
	if (now < server->poll_until_ns && now + POLL_EVERY_NS < next)
		next = now + POLL_EVERY_NS;
	if (server->woken)
		next = now;
	if (next != UINT64_MAX)
		loop_timer_set(server->loop, &server->timer, next);
	else
		loop_timer_cancel(server->loop, &server->timer);
}

/* ---- a request's way ---- */

static void suspend(struct http_request *request);

/* Puts what there is of a stream; as long as there is nothing the library leaves it alone. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t bytes)
{
	struct http_request *request = arg;
	struct stream *stream = request->answer.stream;

	(void)position;
	if (request->gone || request->server->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	ssize_t got = stream->read(stream, to, bytes);
	if (got == 0)
		suspend(request);
	return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : got;
}

static struct MHD_Response *make_response(struct http_request *request)
{
	struct answer *answer = &request->answer;
	size_t len = answer->body.len;

	if (answer->stream)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES,
							 read_stream, request, NULL);
	return MHD_create_response_from_buffer(len, len ? TAKE_PTR(answer->body.data) : (void *)"",
					       len ? MHD_RESPMEM_MUST_FREE
						   : MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result send_answer(struct http_request *request)
{
	struct answer *answer = &request->answer;

	if (buf_error(&answer->body))
		answer_failed(answer, 503, "no memory for the answer");
	struct MHD_Response *response = make_response(request);
	if (!response)
		return MHD_NO;
	if (answer->content_type)
		MHD_add_response_header(response, "Content-Type", answer->content_type);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	if (answer->allow)
		MHD_add_response_header(response, "Allow", answer->allow);
	enum MHD_Result r = MHD_queue_response(request->mhd, answer->status, response);
	MHD_destroy_response(response);
	return r;
}

static void stop_hangup_watch(struct http_request *request)
{
	if (request->hangup.fd < 0)
		return;
	loop_unwatch(request->server->loop, &request->hangup);
	close(request->hangup.fd);
	request->hangup.fd = -1;
}

static void resume(struct http_request *request)
{
	struct http_request **at = &request->server->suspended;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	request->suspended = false;
	MHD_resume_connection(request->mhd);
}

static void ready(void *arg)
{
	struct http_request *request = arg;

	request->answer.cancel = NULL;
	if (!request->answer.status)
		request->answer.status = request->answer.later;
	stop_hangup_watch(request);
	if (!request->suspended)
		return; /* filled at once, or the server stops */
	resume(request);
	run(request->server);
}

/* A stream has more, or its end. The library may be what calls this: it is run later. */
static void wake_stream(void *arg)
{
	struct http_request *request = arg;
	struct server *server = request->server;

	stop_hangup_watch(request);
	if (!request->suspended)
		return;
	resume(request);
	server->woken = true;
	loop_timer_set(server->loop, &server->timer, loop_now_ns());
}

/* The client said something, or has gone. Who reads a stream has nothing more to say. */
static void on_hangup(void *arg)
{
	struct http_request *request = arg;
	char next;

	ssize_t got = recv(request->hangup.fd, &next, 1, MSG_PEEK | MSG_DONTWAIT);
	stop_hangup_watch(request); /* a next request on this connection has to wait */
	if (request->answer.stream) {
		request->gone = true;
		wake_stream(request);
	} else if (got == 0 && request->answer.cancel) {
		request->answer.cancel(request->answer.cancel_arg);
	}
}

static void suspend(struct http_request *request)
{
	request->suspended = true;
	request->next = request->server->suspended;
	request->server->suspended = request;
	MHD_suspend_connection(request->mhd);
	if (!request->answer.cancel && !request->answer.stream)
		return;
	request->hangup = (struct loop_watch){
		.fd = dup(request->connection->fd), .ready = on_hangup, .arg = request};
	if (request->hangup.fd >= 0 && loop_watch(request->server->loop, &request->hangup) < 0) {
		close(request->hangup.fd);
		request->hangup.fd = -1;
	}
}

/* A client that is cut off without a word is told by nothing else while there is nothing to send.
 */
static void begin_stream(struct http_request *request)
{
	int fd = request->connection->fd, yes = 1, every_s = ANSWER_TIMEOUT_S;

	request->answer.stream->wake = wake_stream;
	request->answer.stream->arg = request;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
}

static const char *query_text(struct MHD_Connection *mhd, const char *key)
{
	return MHD_lookup_connection_value(mhd, MHD_GET_ARGUMENT_KIND, key);
}

static long long query_number(struct MHD_Connection *mhd, const char *key)
{
	const char *text = query_text(mhd, key);
	char *end;

	if (!text)
		return QUERY_NONE;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	return errno || end == text || *end || value < 0 ? QUERY_NONSENSE : value;
}

static void dispatch(struct http_request *request, const char *path, const char *method)
{
	const struct call call = {
		.services = request->server->services,
		.path = path,
		.method = method,
		.query = {.pid = query_number(request->mhd, "pid"),
			  .seconds = query_number(request->mhd, "seconds"),
			  .icicle = query_number(request->mhd, "icicle"),
			  .follow = query_number(request->mhd, "follow"),
			  .min_age = query_number(request->mhd, "min_age"),
			  .value = query_text(request->mhd, "value"),
			  .view = query_text(request->mhd, "view")},
		.body = &request->body,
		.answer = &request->answer,
		.ready = ready,
		.arg = request,
	};

	call_dispatch(&call);
	if (request->answer.stream)
		begin_stream(request);
}

static void too_large(struct http_request *request)
{
	answer_failed(&request->answer, 413, "put data size exceeds 1048576");
}

/* The first call of a request: its headers are there. */
static enum MHD_Result begin(struct server *server, struct MHD_Connection *mhd, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const char *length =
		MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
	struct http_request *request = calloc(1, sizeof(*request));

	if (!request || !info || !info->socket_context) {
		free(request);
		return MHD_NO;
	}
	request->server = server;
	request->mhd = mhd;
	request->connection = info->socket_context;
	request->body = (struct buf)BUF_INIT(REQUEST_BODY_MAX + 1);
	request->answer.body = (struct buf)BUF_INIT(ANSWER_MAX);
	request->hangup.fd = -1;
	*context = request;
	if (!length || strtoull(length, NULL, 10) <= REQUEST_BODY_MAX)
		return MHD_YES;
	request->dispatched = true;
	too_large(request);
	return send_answer(request);
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *mhd, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *data_bytes, void **context)
{
	struct server *server = arg;
	struct http_request *request = *context;

	(void)version;
	if (!request)
		return begin(server, mhd, context);
	if (*data_bytes) {
		if (request->body.len + *data_bytes > REQUEST_BODY_MAX)
			too_large(request); /* the rest is read and dropped */
		else
			buf_add(&request->body, data, *data_bytes);
		*data_bytes = 0;
		return MHD_YES;
	}
	if (!request->dispatched) {
		request->dispatched = true;
		connection_set_waiting(&server->connections, request->connection, false);
		if (server->stopping)
			answer_failed(&request->answer, 503, "the daemon is stopping");
		else if (!request->answer.status)
			dispatch(request, path, method);
		if (!request->answer.status) {
			suspend(request);
			return MHD_YES;
		}
	}
	return send_answer(request);
}

static void completed(void *arg, struct MHD_Connection *mhd, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct server *server = arg;
	struct http_request *request = *context;

	(void)mhd;
	(void)code;
	if (!request)
		return;
	connection_set_waiting(&server->connections, request->connection, true);
	services_forget(server->services, request);
	stop_hangup_watch(request);
	buf_done(&request->body);
	buf_done(&request->answer.body);
	if (request->answer.stream)
		request->answer.stream->free(request->answer.stream);
	free(request);
	*context = NULL;
}

static void connected(void *arg, struct MHD_Connection *mhd, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	struct server *server = arg;
	const union MHD_ConnectionInfo *info;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
		*context = connection_add(&server->connections, info->connect_fd);
	} else if (*context) {
		connection_del(&server->connections, *context);
		*context = NULL;
	}
}

/* A path with a NUL in it is not the path before the NUL: it stays as it is, and isn't found. */
static size_t unescape(void *arg, struct MHD_Connection *mhd, char *text)
{
	(void)arg;
	(void)mhd;
	return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static void log_mhd(void *arg, const char *format, va_list args)
{
	struct server *server = arg;
	char line[256];

	vsnprintf(line, sizeof(line), format, args);
	line[strcspn(line, "\n")] = '\0';
	if (strstr(line, "accepting connection"))
		server->poll_until_ns = loop_now_ns() + POLL_NS;
	log_debug("http: %s", line);
}

/* ---- listening ---- */

static struct MHD_Daemon *start(struct server *server, int fd)
{
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
				NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, log_mhd,
				server, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				(unsigned)MHD_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
				(unsigned)ANSWER_TIMEOUT_S, MHD_OPTION_UNESCAPE_CALLBACK, unescape,
				NULL, MHD_OPTION_NOTIFY_COMPLETED, completed, server,
				MHD_OPTION_NOTIFY_CONNECTION, connected, server, MHD_OPTION_END);
}

int server_new(struct server **ret, struct loop *loop, const struct services *services,
	       const char *address, int *port, char *why, size_t why_bytes)
{
	int asked = *port;
	_cleanup_close_ int fd = listen_on(address, port);
	_cleanup_free_ struct server *server = calloc(1, sizeof(*server));

	if (fd < 0 || !server) {
		snprintf(why, why_bytes, "can't listen on %s:%d: %s", address, asked,
			 strerror(fd < 0 ? -fd : ENOMEM));
		return fd < 0 ? fd : -ENOMEM;
	}
	server->loop = loop;
	server->services = services;
	connections_init(&server->connections, loop);
	server->timer = (struct loop_timer){.expired = run, .arg = server};
	server->daemon = start(server, fd);
	const union MHD_DaemonInfo *info =
		server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)
			       : NULL;
	if (!info) {
		snprintf(why, why_bytes, "the HTTP library can't be started");
		return -ENOMEM;
	}
	(void)TAKE_FD(fd); /* the library closes it */
	server->watch = (struct loop_watch){info->epoll_fd, run, server};
	int r = loop_watch(loop, &server->watch);
	if (r < 0) {
		MHD_stop_daemon(server->daemon);
		snprintf(why, why_bytes, "epoll: %s", strerror(-r));
		return r;
	}
	*ret = TAKE_PTR(server);
	return 0;
}

void server_free(struct server *server)
{
	if (!server)
		return;
	/* Nobody fills their answers any more, nor those of requests that come only now. */
	server->stopping = true;
	while (server->suspended) {
		struct http_request *request = server->suspended;

		stop_hangup_watch(request);
		services_forget(server->services, request);
		if (!request->answer.stream)
			answer_failed(&request->answer, 503, "the daemon is stopping");
		resume(request);
	}
	MHD_run(server->daemon);
	loop_unwatch(server->loop, &server->watch);
	loop_timer_cancel(server->loop, &server->timer);
	MHD_stop_daemon(server->daemon);
	connections_done(&server->connections);
	free(server);
}
