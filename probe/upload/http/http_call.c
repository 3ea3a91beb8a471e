// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/http_call.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "upload/http/http_headers.h"

#define URL_MAX	   8192
#define CONNECT_MS 5000
#define REUSE_S	   3 /* servers close idle connections after 5 s and more */
#define SLOW_BYTES 100
#define SLOW_S	   30

void http_call_free(struct http_call *call)
{
	if (!call)
		return;
	curl_easy_cleanup(call->easy);
	http_headers_free(call->headers);
	free(call);
}

/* ---- libcurl's callbacks ---- */

static size_t read_body(char *to, size_t size, size_t count, void *arg)
{
	struct http_call *call = arg;
	size_t left = call->body_bytes - call->read, room = size * count;
	size_t bytes = left < room ? left : room;

	memcpy(to, call->body + call->read, bytes);
	call->read += bytes;
	return bytes;
}

/*
 * Called at the begin of an attempt. libcurl makes another attempt by itself if a reused connection
 * turns out to be closed; that is allowed while no byte of the body was sent. libcurl (7.88)
 * doesn't seek back for it, so what was read and not sent is given again.
 */
static int begin_attempt(void *arg, char *to, char *from, int to_port, int from_port)
{
	struct http_call *call = arg;

	(void)to, (void)from, (void)to_port, (void)from_port;
	if (call->sent)
		return CURL_PREREQFUNC_ABORT;
	call->read = 0;
	return CURL_PREREQFUNC_OK;
}

static int seek_body(void *arg, curl_off_t offset, int origin)
{
	struct http_call *call = arg;

	if (call->sent || offset != 0 || origin != SEEK_SET)
		return CURL_SEEKFUNC_FAIL;
	call->read = 0;
	return CURL_SEEKFUNC_OK;
}

/* Counts the bytes of the body that were sent. libcurl's own count restarts with each attempt. */
static int count_sent(CURL *easy, curl_infotype type, char *data, size_t bytes, void *arg)
{
	struct http_call *call = arg;

	(void)easy, (void)data;
	if (type == CURLINFO_DATA_OUT)
		call->sent += bytes;
	return 0;
}

static size_t take_header(char *line, size_t size, size_t count, void *arg)
{
	struct http_call *call = arg;
	long status = 0;

	call->headers_bytes += size * count;
	if (call->headers_bytes > HTTP_HEADERS_MAX)
		return 0;
	/* An empty line ends the headers, also those of a 1xx. */
	if (!call->status && count > 0 && (line[0] == '\r' || line[0] == '\n') &&
	    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK &&
	    status >= 200 && status <= 999) {
		call->status = (int)status;
		/* Many servers close the connection behind a refusal and don't say so. */
		if (status >= 300)
			curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
	}
	return size * count;
}

static size_t take_answer(char *data, size_t size, size_t count, void *arg)
{
	struct http_call *call = arg;
	size_t bytes = size * count, room = sizeof(call->begin) - call->begin_len;
	size_t kept = bytes < room ? bytes : room;

	memcpy(call->begin + call->begin_len, data, kept);
	call->begin_len += kept;
	call->answer_bytes += bytes;
	return call->answer_bytes > HTTP_BODY_MAX ? 0 : bytes;
}

/* Whether the address is in 169.254.0.0/16 or fe80::/10: there are clouds' metadata services, which
 * give out a host's credentials, and no server of profiles. */
static bool is_link_local(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 16 == 0xa9fe;
	if (address->sa_family != AF_INET6)
		return false;
	const uint8_t *bytes = six->sin6_addr.s6_addr;
	return IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) ||
	       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) && bytes[12] == 169 && bytes[13] == 254);
}

/* Opens a socket with CLOEXEC, which libcurl's own lacks. Refuses one for a second attempt behind
 * sent bytes, which couldn't send the body anyway. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct http_call *call = arg;

	(void)purpose;
	if (call->sent)
		return CURL_SOCKET_BAD;
	if (is_link_local(&address->addr)) {
		call->link_local = true;
		return CURL_SOCKET_BAD;
	}
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* ---- making a call ---- */

static int set_auth_files(CURL *easy, const struct http_auth *auth)
{
	CURLcode bad = CURLE_OK;

	if (auth->ca_file) {
		bad |= curl_easy_setopt(easy, CURLOPT_CAINFO, auth->ca_file);
		/* Else the CAs in the system's folder would be trusted too. */
		bad |= curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	if (auth->cert_file)
		bad |= curl_easy_setopt(easy, CURLOPT_SSLCERT, auth->cert_file);
	if (auth->key_file)
		bad |= curl_easy_setopt(easy, CURLOPT_SSLKEY, auth->key_file);
	/* Without this OpenSSL asks for a key's password at the terminal. GnuTLS would take the
	 * empty text for a password. */
	const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
	if (auth->cert_file && library && strncmp(library, "GnuTLS", 6) != 0)
		bad |= curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
	return bad ? -ENOMEM : 0;
}

static CURLcode set_limits(CURL *easy, unsigned timeout_ms)
{
	CURLcode bad = CURLE_OK;

	bad |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	bad |= curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	bad |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	bad |= curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	bad |= curl_easy_setopt(easy, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE);
	bad |= curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* Cleanup during a look-up of a name doesn't wait for the resolver's thread. */
	bad |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	bad |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
	bad |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)SLOW_BYTES);
	bad |= curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SLOW_S);
	bad |= curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)REUSE_S);
	return bad;
}

static CURLcode set_callbacks(CURL *easy, struct http_call *call)
{
	CURLcode bad = CURLE_OK;

	bad |= curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	bad |= curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->error);
	bad |= curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_body);
	bad |= curl_easy_setopt(easy, CURLOPT_READDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, begin_attempt);
	bad |= curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_body);
	bad |= curl_easy_setopt(easy, CURLOPT_SEEKDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
	bad |= curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer);
	bad |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	bad |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, count_sent);
	bad |= curl_easy_setopt(easy, CURLOPT_DEBUGDATA, call);
	bad |= curl_easy_setopt(easy, CURLOPT_VERBOSE, 1L);
	return bad;
}

/* Checks scheme and characters; libcurl checks the rest, and the host. */
static bool is_url(const char *url)
{
	size_t len = url ? strnlen(url, URL_MAX) : URL_MAX;

	if (len == URL_MAX)
		return false;
	if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (url[i] <= ' ' || url[i] > '~')
			return false;
	}
	return true;
}

static int set_request(struct http_call *call, const struct http_post *request)
{
	CURL *easy = call->easy;
	CURLcode bad = set_limits(easy, request->timeout_ms) | set_callbacks(easy, call);

	bad |= curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (request->stays_here)
		bad |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
	bad |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "stackprobe/" VERSION);
	bad |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers);
	bad |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
	bad |= curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_bytes);
	if (bad)
		return -ENOMEM;
	return request->auth ? set_auth_files(easy, request->auth) : 0;
}

int http_call_new(struct http_call **ret, const struct http_post *request)
{
	if (!is_url(request->url) || !request->body || !request->body_bytes ||
	    !request->timeout_ms || !request->done)
		return -EINVAL;
	_cleanup_(http_call_freep) struct http_call *call = calloc(1, sizeof(*call));
	if (!call)
		return -ENOMEM;
	call->done = request->done;
	call->arg = request->arg;
	call->body = request->body;
	call->body_bytes = request->body_bytes;
	int r = http_headers_new(&call->headers, request);
	if (r < 0)
		return r;
	call->easy = curl_easy_init();
	if (!call->easy)
		return -ENOMEM;
	r = set_request(call, request);
	if (r == 0)
		*ret = TAKE_PTR(call);
	return r;
}
