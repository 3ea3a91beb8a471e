/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * POSTs to an HTTP server, on the loop's thread, by libcurl's multi interface (libcurl-multi(3)).
 * Threads: libcurl's resolver, one for each name that is being looked up. CAs and certificates are
 * read on the loop's thread, at each first connection (Debian's CAs: 10 ms with GnuTLS, 30 ms with
 * OpenSSL).
 *
 * The server is hostile: 64 KiB of an answer's headers and 64 KiB of its body are read at most,
 * then the connection is dropped. Redirects aren't followed. HTTP/1.1, TLS 1.2 and later, http and
 * https only; a proxy only where the environment names one (http_proxy, https_proxy, no_proxy).
 * Link-local addresses are refused, a proxy's too.
 * Four connections at most; more requests wait, and their time runs. A connection is used again
 * within 3 s, for servers close idle ones when they like, and behind a 2xx only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

#define HTTP_TEXT_MAX	   512 /* of an answer, its NUL not counted */
#define HTTP_RETRY_AFTER_S 3600
#define HTTP_AT_ONCE	   4 /* connections */
#define HTTP_SECRET_MAX	   4096

/* NULL: none. Secrets themselves; files in PEM. A user and a token together: -EINVAL. */
struct http_auth {
	const char *user, *password; /* basic; no password is an empty one. No colon in a user */
	const char *token;	     /* bearer */
	const char *tenant;	     /* X-Scope-OrgID */
	const char *ca_file;	     /* instead of the system's */
	const char *cert_file, *key_file;
};

/*
 * What became of a request. A server has the whole body only if all of its bytes were sent
 * (Content-Length says how many), and it has decided when its status and headers are there:
 *
 * ANSWERED  status and headers came whole. The status counts, whatever became of the answer's body
 *           (cut, too long, too slow) or of the rest of ours.
 * NOT_SENT  no answer, and not all of the body went out: refused, no such name, TLS failed, cut.
 *           The server can't have it.
 * UNKNOWN   all of the body was handed to the kernel, and no answer came (cut, timed out, garbage,
 *           headers without an end): the server may have it. Also where a server that speaks TLS
 *           1.3 refuses our certificate, which it tells behind the handshake.
 *
 * A body is never sent twice by one call: libcurl's silent retry on a fresh connection is allowed
 * as long as no byte of the body went out.
 */
enum http_outcome { HTTP_ANSWERED, HTTP_NOT_SENT, HTTP_UNKNOWN };

/* Strings are the callee's, until done() returns. */
struct http_answer {
	enum http_outcome outcome;
	int status;		/* 200..999; 0 where it isn't HTTP_ANSWERED */
	unsigned retry_after_s; /* 0: not said; at most HTTP_RETRY_AFTER_S */
	const char *text; /* its body's beginning, HTTP_TEXT_MAX bytes, one line of UTF-8; or "",
			   * also where it repeats our authorization */
	const char *why;  /* where it isn't HTTP_ANSWERED: a sentence without secrets; else "" */
};

struct http_request {
	const char *url;	      /* server_url()'s and what stands behind it */
	const char *content_type;     /* no CR, LF, NUL, as all that becomes a header */
	const struct http_auth *auth; /* NULL: none */
	const void *body;
	size_t body_bytes;   /* 1 or more */
	bool stays_here;     /* no proxy, whatever the environment says */
	unsigned timeout_ms; /* for all of it, 1 or more; for the connection 5 s at most */
	/* May post, cancel others, close what is idle; not http_free(). The call is gone then. */
	void (*done)(void *arg, const struct http_answer *answer);
	void *arg;
};

struct http;
struct http_call;

/* Nothing is in the kernel before the first request. -ENOMEM */
int http_new(struct http **ret, struct loop *loop);
/* Requests under way end without done(). */
void http_free(struct http *http);
static inline void http_freep(struct http **http)
{
	http_free(*http);
}

/*
 * Strings are copied; the body is borrowed until done() or http_cancel(). done() is never called
 * inside, and always once otherwise. `ret` may be NULL. -EINVAL (a URL that server_url() would
 * refuse but for its path and query, a control character in what becomes a header), -ENOMEM, or
 * what epoll_create1() says.
 */
int http_post(struct http *http, const struct http_request *request, struct http_call **ret);

/* done() isn't called any more. Whether all of the body had gone out (then it is HTTP_UNKNOWN). */
bool http_cancel(struct http_call *call);

/* Closes all connections and descriptors, if nothing is under way; done by itself 5 s after the
 * last call. */
void http_close_idle(struct http *http);
