/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request of http.h: libcurl's easy handle, its callbacks, and the outcome. Private to http.c,
 * http_call.c and http_verdict.c. */
#pragma once

#include "upload/http/http.h"
#include "base/libcurl.h"

#define HTTP_HEADERS_MAX (64 * 1024) /* bytes of an answer's headers, with all 1xx before it */
#define HTTP_BODY_MAX	 (64 * 1024) /* bytes of an answer's body */

struct http_call {
	struct http *http;
	struct http_call *next;
	void (*done)(void *arg, const struct http_answer *answer);
	void *arg;
	CURL *easy;
	struct curl_slist *headers;

	const char *body; /* borrowed */
	size_t body_bytes;
	size_t read; /* bytes of the body that libcurl took in the present attempt */
	size_t sent; /* bytes of the body that went to the kernel, in all attempts */

	bool link_local; /* a link-local address was refused */
	int status;	 /* 200 or more: the headers came whole; 0: not yet */
	size_t headers_bytes, answer_bytes;
	char begin[HTTP_TEXT_MAX]; /* the beginning of the answer's body, raw */
	size_t begin_len;

	/* Strings that struct http_answer points to. */
	char error[CURL_ERROR_SIZE];
	char text[HTTP_TEXT_MAX + 1], why[2 * CURL_ERROR_SIZE];
};

/* Makes a call that is not started yet. Returns 0, or a negative errno: -EINVAL, -ENOMEM. */
int http_call_new(struct http_call **ret, const struct http_post *request);
void http_call_free(struct http_call *call);
static inline void http_call_freep(struct http_call **call)
{
	http_call_free(*call);
}

/* Makes the answer of a call that has ended with `result`; the strings are borrowed from the
 * call. */
void http_call_judge(struct http_call *call, CURLcode result, struct http_answer *answer);

/* Returns whether all of the body went to the kernel. */
static inline bool http_call_all_sent(const struct http_call *call)
{
	return call->sent == call->body_bytes;
}
