// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top/daemon_client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/libcurl.h"

#define HOST	 "http://localhost"
#define FDS_MAX	 4
#define REQUESTS 4

struct client_request {
	struct daemon_client *client;
	struct client_asking asking;
	CURL *easy;
	struct buf body; /* of lines: what isn't a whole line yet */
};

struct daemon_client {
	CURLM *multi;
	const char *socket;
	struct client_request *requests[REQUESTS];
};

int client_new(struct daemon_client **ret, const char *socket, struct why *why)
{
	struct daemon_client *client;

	if (!libcurl_load()) {
		why_set(why, "libcurl can't be loaded (Debian's package %s)", LIBCURL_PACKAGE);
		return -ENOENT;
	}
	client = calloc(1, sizeof(*client));
	if (client)
		client->multi = curl_multi_init();
	if (!client || !client->multi) {
		free(client);
		why_set(why, "no memory");
		return -ENOMEM;
	}
	client->socket = socket;
	*ret = client;
	return 0;
}

static void free_request(struct client_request *request)
{
	struct daemon_client *client = request->client;

	for (int i = 0; i < REQUESTS; i++) {
		if (client->requests[i] == request)
			client->requests[i] = NULL;
	}
	if (request->easy) {
		curl_multi_remove_handle(client->multi, request->easy);
		curl_easy_cleanup(request->easy);
	}
	buf_done(&request->body);
	free(request);
}

void client_cancel(struct client_request *request)
{
	free_request(request);
}

void client_free(struct daemon_client *client)
{
	if (!client)
		return;
	for (int i = 0; i < REQUESTS; i++) {
		if (client->requests[i])
			free_request(client->requests[i]);
	}
	curl_multi_cleanup(client->multi);
	free(client);
}

static bool is_fine(const struct client_request *request)
{
	long status = 0;

	return curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	       status == 200;
}

/* Reports the whole lines that have come, and keeps the rest. */
static void report_lines(struct client_request *request)
{
	struct buf *body = &request->body;
	size_t taken = 0;
	const char *end;

	while (taken < body->len &&
	       (end = memchr(body->data + taken, '\n', body->len - taken)) != NULL) {
		size_t bytes = (size_t)(end - body->data) - taken;

		request->asking.line(request->asking.arg, body->data + taken, bytes);
		taken += bytes + 1;
	}
	if (!taken)
		return;
	memmove(body->data, body->data + taken, body->len - taken);
	body->len -= taken;
}

static size_t take_body(char *data, size_t size, size_t count, void *arg)
{
	struct client_request *request = arg;

	buf_add(&request->body, data, size * count);
	if (buf_error(&request->body))
		return 0;
	if (request->asking.line && is_fine(request))
		report_lines(request);
	return size * count;
}

/* Prepares the transfer. Returns false if an option is refused. */
static bool set_options(struct client_request *request, const char *url)
{
	CURL *easy = request->easy;
	int bad = 0;

	bad |= curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request->client->socket);
	bad |= curl_easy_setopt(easy, CURLOPT_URL, url);
	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	bad |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
	bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
	bad |= curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
	return !bad;
}

static int begin_request(struct client_request *request)
{
	_cleanup_buf_ struct buf url = BUF_INIT(4096);

	buf_printf(&url, HOST "%s", request->asking.path);
	buf_char(&url, '\0');
	request->easy = curl_easy_init();
	if (!request->easy || buf_error(&url) || !set_options(request, url.data) ||
	    curl_multi_add_handle(request->client->multi, request->easy) != CURLM_OK)
		return -ENOMEM;
	return 0;
}

int client_get(struct daemon_client *client, const struct client_asking *asking,
	       struct client_request **ret)
{
	int place = 0;

	while (place < REQUESTS && client->requests[place])
		place++;
	if (place == REQUESTS)
		return -EBUSY;
	struct client_request *request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	*request = (struct client_request){
		.client = client, .asking = *asking, .body = BUF_INIT(CLIENT_BODY_MAX)};
	client->requests[place] = request;
	int r = begin_request(request);
	if (r < 0)
		free_request(request);
	else
		*ret = request;
	return r;
}

/* Finds the daemon's own words in the body of a refusal: {"result": "failed", "message": "…"}. */
static void write_refusal(const struct client_request *request, struct why *why)
{
	static const char key[] = "\"message\":";
	const struct buf *body = &request->body;
	const char *from = body->len ? memmem(body->data, body->len, key, strlen(key)) : NULL;
	const char *end = body->data + body->len;
	char words[512];
	size_t len = 0;

	from = from ? memchr(from + strlen(key), '"', (size_t)(end - from) - strlen(key)) : NULL;
	for (from = from ? from + 1 : end; from < end && *from != '"'; from++) {
		if (*from == '\\' && from + 1 < end)
			from++;
		if (len + 1 < sizeof(words))
			words[len++] = *from >= ' ' && *from < 0x7f ? *from : '?';
	}
	words[len] = '\0';
	why_set(why, "%s", len ? words : "the daemon refuses it");
}

static void end_request(struct client_request *request, CURLcode code)
{
	struct client_asking asking = request->asking;
	struct buf body = request->body;
	struct why why = {0};
	int error = 0;

	if (code == CURLE_COULDNT_CONNECT) {
		error = -ECONNREFUSED;
		why_set(&why, "no daemon listens at %s", request->client->socket);
	} else if (code != CURLE_OK) {
		error = -EIO;
		why_set(&why, "the daemon's answer broke off: %s", curl_easy_strerror(code));
	} else if (!is_fine(request)) {
		error = -EACCES;
		write_refusal(request, &why);
	}
	request->body = (struct buf)BUF_INIT(CLIENT_BODY_MAX);
	free_request(request);
	asking.done(asking.arg, error, &body, why.text);
	buf_done(&body);
}

static void end_requests(struct daemon_client *client)
{
	const struct CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		struct client_request *request = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
		if (request)
			end_request(request, message->data.result);
	}
}

void client_wait(struct daemon_client *client, const int *fds, size_t count, int timeout_ms)
{
	struct curl_waitfd waits[FDS_MAX] = {0};
	int left;

	for (size_t i = 0; i < count && i < FDS_MAX; i++)
		waits[i] = (struct curl_waitfd){.fd = fds[i], .events = CURL_WAIT_POLLIN};
	curl_multi_perform(client->multi, &left);
	end_requests(client);
	curl_multi_poll(client->multi, waits, (unsigned)count, timeout_ms, NULL);
	curl_multi_perform(client->multi, &left);
	end_requests(client);
}
