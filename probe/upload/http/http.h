/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP client for POST, by libcurl's multi interface (libcurl-multi(3)). Loop thread only; libcurl
 * has a thread of its own for each name that it looks up. CAs and certificates are read on the loop
 * thread at each first connection (Debian's CAs: 10 ms with GnuTLS, 30 ms with OpenSSL).
 *
 * The server is taken as hostile: at most 64 KiB of an answer's headers and 64 KiB of its body are
 * read, then the connection is dropped. Redirects aren't followed. HTTP/1.1 only, http and https
 * only, TLS 1.2 and later; a proxy only if the environment names one (http_proxy, https_proxy,
 * no_proxy). Link-local addresses are refused, also as a proxy.
 * At most four connections; more requests wait, and their timeout runs meanwhile. A connection is
 * reused only behind a 2xx and within 3 s, as servers close idle connections at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

#define HTTP_TEXT_MAX	   512	/* bytes of an answer's text, without its NUL */
#define HTTP_RETRY_AFTER_S 3600 /* longer times are cut to this */
#define HTTP_AT_ONCE	   4	/* connections */
#define HTTP_SECRET_MAX	   4096 /* bytes */

/* Credentials; a member may be NULL. Either `user` or `token`. */
struct http_auth {
	const char *user, *password;	  /* basic; NULL password: empty. `user` has no colon */
	const char *token;		  /* bearer */
	const char *tenant;		  /* X-Scope-OrgID */
	const char *ca_file;		  /* PEM; NULL: the system's CAs */
	const char *cert_file, *key_file; /* PEM */
};

/*
 * What became of a request. A server can have the body only if all of its bytes were sent
 * (Content-Length says how many); it has decided when its status and headers are there:
 *
 * ANSWERED  status and headers came whole. The status counts, whatever became of the answer's body
 *           (cut, too long, too slow). A 2xx before all of our body was sent is NOT_SENT.
 * NOT_SENT  no answer, and not all of the body was sent: refused, no such name, TLS failed, cut.
 *           The server can't have the body.
 * UNKNOWN   no answer (cut, timed out, garbage, headers without an end), and all of the body was
 *           handed to the kernel: the server may have the body. Also when a server with TLS 1.3
 *           refuses our certificate, as it says so behind the handshake.
 *
 * One call never sends a body twice: libcurl's silent retry on a fresh connection is allowed only
 * while no byte of the body was sent.
 */
enum http_outcome { HTTP_ANSWERED, HTTP_NOT_SENT, HTTP_UNKNOWN };

/* The strings are borrowed until done() returns. */
struct http_answer {
	enum http_outcome outcome;
	int status;		/* 200..999; 0 unless HTTP_ANSWERED */
	unsigned retry_after_s; /* 0: the server said none; at most HTTP_RETRY_AFTER_S */
	const char *text; /* the beginning of the answer's body, at most HTTP_TEXT_MAX bytes, one
			   * line of UTF-8; "" if it might repeat our authorization */
	const char *why;  /* unless HTTP_ANSWERED: a sentence without secrets; else "" */
};

struct http_post {
	const char *url;	      /* a URL of server_url(), with path and query behind it */
	const char *content_type;     /* like all header values without CR, LF, NUL */
	const struct http_auth *auth; /* NULL: none */
	const void *body;
	size_t body_bytes;   /* 1 or more */
	bool stays_here;     /* use no proxy, even if the environment names one */
	unsigned timeout_ms; /* for the whole request, 1 or more; for connecting at most 5 s */
	/* Called once; the call is freed then. done() may post, cancel other calls and close idle
	 * connections, but not call http_free(). */
	void (*done)(void *arg, const struct http_answer *answer);
	void *arg;
};

struct http;
struct http_call;

/* Makes a client. The caller owns *ret; `loop` is borrowed until http_free(). Opens no descriptor
 * before the first request. Returns 0, or -ENOMEM. */
int http_new(struct http **ret, struct loop *loop);
/* Cancels all requests, without done(), and frees the client. */
void http_free(struct http *http);
static inline void http_freep(struct http **http)
{
	http_free(*http);
}

/*
 * Starts a request. Strings are copied; the body is borrowed until done() or http_cancel(). done()
 * is called once, never inside http_post(), unless the call is cancelled. `ret` may be NULL; *ret
 * is valid until done(). Returns 0, or a negative errno: -EINVAL for a URL or a header value that
 * is malformed; -ENOSYS if libcurl can't be loaded; -ENOMEM; others from epoll.
 */
int http_post(struct http *http, const struct http_post *request, struct http_call **ret);

/* Cancels a request, without done(). Returns whether all of the body was sent: then the outcome is
 * HTTP_UNKNOWN, else HTTP_NOT_SENT. */
bool http_cancel(struct http_call *call);

/* Closes all connections and descriptors, unless a request is under way. Called 5 s after the last
 * request by the client itself. */
void http_close_idle(struct http *http);
