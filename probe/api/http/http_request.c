// SPDX-License-Identifier: GPL-2.0-or-later
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/request/request.h"
#include "api/http/http_query.h"
#include "api/http/server_state.h"
#include "api/resource/feature_table.h"
#include "base/cleanup.h"
#include "base/log.h"

#define ANSWER_MAX  (256u * 1024 * 1024)
#define KEEPALIVE_S 60
#define DROPPED_MAX 65536 /* bytes of a body that is dropped */

static void stop_hangup_watch(struct http_request *request)
{
	if (request->hangup.fd < 0)
		return;
	loop_unwatch(request->server->loop, &request->hangup);
	close(request->hangup.fd);
	request->hangup.fd = -1;
}

static void resume_request(struct http_request *request)
{
	struct http_request **at = &request->server->suspended;

	while (*at != request)
		at = &(*at)->next;
	*at = request->next;
	request->suspended = false;
	MHD_resume_connection(request->mhd);
}

static void answer_ready(void *arg)
{
	struct http_request *request = arg;

	request->answer.cancel = NULL;
	if (!request->answer.status)
		request->answer.status = request->answer.later;
	stop_hangup_watch(request);
	if (!request->suspended)
		return; /* filled at once, or the server stops */
	resume_request(request);
	listener_run(request->listener);
}

/* Wakes a stream that has more, or has ended. The library may be the caller, so it is run later. */
static void wake_stream(void *arg)
{
	struct http_request *request = arg;
	struct listener *listener = request->listener;

	stop_hangup_watch(request);
	if (!request->suspended)
		return;
	resume_request(request);
	listener->woken = true;
	loop_timer_set(request->server->loop, &listener->timer, loop_now_ns());
}

/* The client has gone. What the client sent before, a next request perhaps, makes no difference. */
static void on_hangup(void *arg)
{
	struct http_request *request = arg;

	stop_hangup_watch(request);
	if (request->answer.stream) {
		request->gone = true;
		wake_stream(request);
	} else if (request->answer.cancel) {
		request->answer.cancel(request->answer.cancel_arg);
	}
}

void http_request_suspend(struct http_request *request)
{
	http_request_state(request, CONNECTION_WORKS);
	request->suspended = true;
	request->next = request->server->suspended;
	request->server->suspended = request;
	MHD_suspend_connection(request->mhd);
	if (!request->answer.cancel && !request->answer.stream)
		return;
	request->hangup = (struct loop_watch){.fd = dup(request->connection->fd),
					      .ready = on_hangup,
					      .arg = request,
					      .name = "http"};
	if (request->hangup.fd >= 0 &&
	    loop_watch_hangup(request->server->loop, &request->hangup) < 0) {
		close(request->hangup.fd);
		request->hangup.fd = -1;
	}
}

/* Begins a stream. Only keep-alive shows that a client was cut off while there is nothing to
 * send. */
static void begin_stream(struct http_request *request)
{
	int fd = request->connection->fd, yes = 1, every_s = KEEPALIVE_S;

	request->answer.stream->wake = wake_stream;
	request->answer.stream->arg = request;
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
}

static const char *get_header(struct MHD_Connection *mhd, const char *name)
{
	return MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name);
}

static void set_call(struct http_request *request, const char *path, const char *method,
		     struct call *call)
{
	*call = (struct call){
		.services = request->server->services,
		.path = path,
		.method = method,
		.query = request->query,
		.caller = &request->caller,
		.host = get_header(request->mhd, "Host"),
		.accept = get_header(request->mhd, "Accept"),
		.accept_encoding = get_header(request->mhd, "Accept-Encoding"),
		.if_none_match = get_header(request->mhd, "If-None-Match"),
		.tls = request->listener->tls,
		.body = &request->body,
		.answer = &request->answer,
		.ready = answer_ready,
		.arg = request,
	};
}

static void dispatch_request(struct http_request *request, const char *path, const char *method)
{
	struct call call;

	set_call(request, path, method, &call);
	if (request->answer.notes.count && !request->is_put &&
	    rate_take(&request->server->warnings, loop_now_ns()))
		answer_log_warnings(&request->answer, "GET");
	call_dispatch(&call);
	if (request->answer.stream)
		begin_stream(request);
}

/* Has the library call http_request_handle() again, which then dispatches the request. */
static void objects_loaded(void *arg)
{
	struct http_request *request = arg;

	request->is_loaded = true;
	request->dispatched = false;
	resume_request(request);
	listener_run(request->listener);
}

/* Returns whether the request has to wait until BPF objects are loaded that it needs. */
static bool waits_for_objects(struct http_request *request, const char *path, const char *method)
{
	const struct services *services = request->server->services;
	struct call call;
	struct need need;

	if (request->is_loaded)
		return false;
	set_call(request, path, method, &call);
	call_need(&call, &need);
	if (!call_is_page(&call))
		need.begins |= services->starting;
	return need.begins &&
	       engine_prepare(services->engine, need.begins, NULL, objects_loaded, request);
}

/* Returns the largest body. The body of a request that is no PUT of a feature is read to its end
 * and dropped: a client that still sends when the connection is closed may lose the answer. */
static size_t body_max(const struct http_request *request)
{
	return request->is_put ? REQUEST_BODY_MAX : DROPPED_MAX;
}

static void too_large(struct http_request *request)
{
	answer_failed(&request->answer, 413,
		      request->is_put ? "put data size exceeds 1048576"
				      : "a body of more than 65536 bytes is for a PUT alone");
}

/* ---- admission ---- */

/* Checks the client's certificate, once for a connection; the handshake is over. */
static void check_certificate(struct http_request *request)
{
	struct connection *connection = request->connection;
	struct server *server = request->server;
	char name[256];

	if (connection->checked)
		return;
	connection->checked = true;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(request->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	if (!info || !info->tls_session)
		return;
	connection->certificate =
		tls_client_check(info->tls_session, name, sizeof(name), connection->certificate_why,
				 sizeof(connection->certificate_why));
	if (connection->certificate == TLS_CLIENT_BAD &&
	    rate_take(&server->certificates, loop_now_ns()))
		log_warn("the certificate of a client (%s) isn't accepted: %s", name,
			 connection->certificate_why);
}

/* Returns whether the request is let in; else the answer says why not. */
static bool is_let_in(struct http_request *request, const char *path, const char *method,
		      const char *version)
{
	const struct server *server = request->server;
	struct connection *connection = request->connection;
	struct MHD_Connection *mhd = request->mhd;
	const struct admission admission = {
		.rules = &server->conf->rest.rules,
		.names = {server->own_name, server->conf->rest.hosts,
			  server->conf->rest.hosts_count},
		.clients = &request->server->clients,
	};
	struct visitor visitor = {
		.peer = &connection->of.peer,
		.client = connection->of.client,
		.metrics_only = request->listener->kind == LISTENER_METRICS,
		.needs_host = strcmp(version, MHD_HTTP_VERSION_1_0) != 0,
		.browser = {get_header(mhd, "Host"), get_header(mhd, "Origin"),
			    get_header(mhd, "Sec-Fetch-Site"), get_header(mhd, "Sec-Fetch-Mode"),
			    get_header(mhd, "Sec-Fetch-Dest"), get_header(mhd, "Referer"),
			    request->listener->tls},
		.authorization = get_header(mhd, "Authorization"),
	};
	struct call call;

	check_certificate(request);
	visitor.has_certificate = connection->certificate == TLS_CLIENT_GOOD;
	if (connection->certificate == TLS_CLIENT_BAD)
		visitor.bad_certificate = connection->certificate_why;
	set_call(request, path, method, &call);
	bool fine =
		admission_check(&admission, &visitor, &call, &request->caller, &request->costly);
	request->query = call.query;
	request->is_put = fine && call_is_put(&call);
	connection->of.is_admin |= request->caller.role == ROLE_ADMIN;
	return fine;
}

/* Makes a request when its headers are there. NULL: no memory. */
static struct http_request *http_request_new(struct listener *listener, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http_request *request = calloc(1, sizeof(*request));

	if (!request || !info || !info->socket_context) {
		free(request);
		return NULL;
	}
	request->server = listener->server;
	request->listener = listener;
	request->mhd = mhd;
	request->connection = info->socket_context;
	request->body = (struct buf)BUF_INIT(REQUEST_BODY_MAX + 1);
	request->answer.body = (struct buf)BUF_INIT(ANSWER_MAX);
	request->hangup.fd = -1;
	http_query_read(request->mhd, &request->query, &request->answer.notes);
	return request;
}

/* Returns whether the body is read: not if it is too large, nor if the request is refused and the
 * body comes without its size (Transfer-Encoding). */
static bool is_read(const struct http_request *request, bool is_let_in)
{
	const char *length = get_header(request->mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);

	if (length && strtoull(length, NULL, 10) > body_max(request))
		return false;
	return is_let_in || !get_header(request->mhd, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Begins a request: the first call of the library, with the headers. */
static enum MHD_Result begin_request(struct listener *listener, struct MHD_Connection *mhd,
				     const char *path, const char *method, const char *version,
				     void **context)
{
	struct http_request *request = http_request_new(listener, mhd);

	if (!request)
		return MHD_NO;
	*context = request;
	bool let_in = is_let_in(request, path, method, version);
	if (is_read(request, let_in))
		return MHD_YES;
	if (let_in)
		too_large(request);
	request->dispatched = true;
	return http_answer_send(request);
}

enum MHD_Result http_request_handle(void *arg, struct MHD_Connection *mhd, const char *path,
				    const char *method, const char *version, const char *data,
				    size_t *data_bytes, void **context)
{
	struct listener *listener = arg;
	struct server *server = listener->server;
	struct http_request *request = *context;

	if (!request)
		return begin_request(listener, mhd, path, method, version, context);
	if (*data_bytes) {
		request->body_bytes += *data_bytes;
		if (!request->answer.status && request->body_bytes > body_max(request))
			too_large(request);
		if (request->is_put && !request->answer.status) /* else it is dropped */
			buf_add(&request->body, data, *data_bytes);
		*data_bytes = 0;
		return MHD_YES;
	}
	if (!request->dispatched) {
		request->dispatched = true;
		http_request_state(request, CONNECTION_WORKS);
		if (server->stopping)
			answer_failed(&request->answer, 503, "the daemon is stopping");
		else if (!request->answer.status && !waits_for_objects(request, path, method))
			dispatch_request(request, path, method);
		if (!request->answer.status) {
			http_request_suspend(request);
			return MHD_YES;
		}
	}
	return http_answer_send(request);
}

void http_request_completed(void *arg, struct MHD_Connection *mhd, void **context,
			    enum MHD_RequestTerminationCode code)
{
	struct server *server = ((struct listener *)arg)->server;
	struct http_request *request = *context;

	(void)mhd;
	(void)code;
	if (!request)
		return;
	http_request_state(request, CONNECTION_WAITS);
	services_forget(server->services, request);
	stop_hangup_watch(request);
	if (request->costly)
		client_end_costly(&server->clients, request->connection->of.client);
	buf_done(&request->body);
	buf_done(&request->answer.body);
	if (request->answer.stream)
		request->answer.stream->free(request->answer.stream);
	free(request);
	*context = NULL;
}

void http_requests_end(struct server *server)
{
	while (server->suspended) {
		struct http_request *request = server->suspended;

		stop_hangup_watch(request);
		services_forget(server->services, request);
		if (!request->answer.stream)
			answer_failed(&request->answer, 503, "the daemon is stopping");
		resume_request(request);
	}
}
