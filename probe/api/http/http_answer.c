// SPDX-License-Identifier: GPL-2.0-or-later
/* Sends a request's answer: its body, whole, in parts or as a stream, and its headers. */
#include <string.h>

#include "api/http/server_state.h"
#include "base/cleanup.h"

#define STREAM_BYTES 4096
#define PART_BYTES   65536 /* part of an answer; taking a part shows that the client reads */

void http_request_state(struct http_request *request, enum connection_state state)
{
	connection_set_state(&request->server->connections, request->connection, state);
}

/* Puts what there is of a stream. While there is nothing, the library doesn't call again. */
static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t bytes)
{
	struct http_request *request = arg;
	struct stream *stream = request->answer.stream;

	(void)position;
	if (request->gone || request->server->stopping)
		return MHD_CONTENT_READER_END_OF_STREAM;
	ssize_t got = stream->read(stream, to, bytes);
	if (got == 0)
		http_request_suspend(request);
	else
		http_request_state(request, CONNECTION_WRITES);
	return got < 0 ? MHD_CONTENT_READER_END_OF_STREAM : got;
}

/* Puts the next part of a large body: the part before has been taken. */
static ssize_t read_part(void *arg, uint64_t position, char *to, size_t bytes)
{
	struct http_request *request = arg;
	const struct buf *body = &request->answer.body;
	size_t left = position < body->len ? body->len - position : 0;
	size_t part = left < bytes ? left : bytes;

	http_request_state(request, CONNECTION_WRITES);
	memcpy(to, body->data + position, part);
	return part ? (ssize_t)part : MHD_CONTENT_READER_END_OF_STREAM;
}

static struct MHD_Response *make_response(struct http_request *request)
{
	struct answer *answer = &request->answer;
	size_t len = answer->body.len;

	if (answer->stream)
		return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES,
							 read_stream, request, NULL);
	if (len > PART_BYTES)
		return MHD_create_response_from_callback(len, PART_BYTES, read_part, request, NULL);
	return MHD_create_response_from_buffer(len, len ? TAKE_PTR(answer->body.data) : (void *)"",
					       len ? MHD_RESPMEM_MUST_FREE
						   : MHD_RESPMEM_PERSISTENT);
}

/* Headers of each answer: no page of another origin may have the answer, frame it or run in it. */
static const struct {
	const char *name, *value;
} fixed_headers[] = {
	{"X-Content-Type-Options", "nosniff"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Referrer-Policy", "no-referrer"},
};
/* Pictures have their script and style inside. In a sandbox they have no origin: a name that became
 * script in one reads nothing of the page's and asks the daemon for nothing. */
static const char picture_policy[] =
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts";

/* Adds a warning as a header, for answers that have no place for it. */
static void add_warning(const char *warning, struct MHD_Response *response)
{
	char value[WARNING_BYTES];
	size_t len = 0;

	for (; warning[len]; len++)
		value[len] = warning[len] >= ' ' && warning[len] <= '~' ? warning[len] : '?';
	value[len] = '\0';
	MHD_add_response_header(response, "Stackprobe-Warning", value);
}

static void add_headers(const struct http_request *request, struct MHD_Response *response)
{
	const struct answer *answer = &request->answer;

	for (size_t i = 0; i < ARRAY_SIZE(fixed_headers); i++)
		MHD_add_response_header(response, fixed_headers[i].name, fixed_headers[i].value);
	MHD_add_response_header(response, "Content-Security-Policy",
				answer->policy ? answer->policy : picture_policy);
	if (answer->policy) /* pictures, in their sandbox, have no need of it */
		MHD_add_response_header(response, "Cross-Origin-Opener-Policy", "same-origin");
	MHD_add_response_header(response, "Cache-Control",
				answer->etag[0] ? "no-cache" : "no-store");
	if (answer->etag[0])
		MHD_add_response_header(response, "ETag", answer->etag);
	if (answer->varies)
		MHD_add_response_header(response, "Vary", answer->varies);
	if (answer->links)
		MHD_add_response_header(response, "Link", answer->links);
	if (answer->content_type)
		MHD_add_response_header(response, "Content-Type", answer->content_type);
	if (answer->allow)
		MHD_add_response_header(response, "Allow", answer->allow);
	if (answer->wants_token)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	if (answer->is_gzip)
		MHD_add_response_header(response, "Content-Encoding", "gzip");
	if (answer->retry_after)
		MHD_add_response_header(response, "Retry-After", answer->retry_after);
	if (answer->notes.count)
		add_warning(answer->notes.warnings[0], response);
	if (request->connection->last)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
}

enum MHD_Result http_answer_send(struct http_request *request)
{
	struct answer *answer = &request->answer;

	if (buf_error(&answer->body))
		answer_failed(answer, 503, "no memory for the answer");
	if (request->is_put)
		fresh_forget(request->server->services->fresh);
	struct MHD_Response *response = make_response(request);
	if (!response)
		return MHD_NO;
	add_headers(request, response);
	http_request_state(request, CONNECTION_WRITES);
	enum MHD_Result r = MHD_queue_response(request->mhd, answer->status, response);
	MHD_destroy_response(response);
	return r;
}
