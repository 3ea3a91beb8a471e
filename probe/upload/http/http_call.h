/* SPDX-License-Identifier: GPL-2.0-only */
/* One request of http.h: libcurl's easy handle, what came of it, and the verdict. For http.c. */
#pragma once

#include "upload/http/http.h"
#include "base/libcurl.h"

#define HTTP_HEADERS_MAX (64 * 1024) /* of an answer, those before it (1xx) counted */
#define HTTP_BODY_MAX	 (64 * 1024) /* of an answer */

struct http_call {
	struct http *http;
	struct http_call *next;
	void (*done)(void *arg, const struct http_answer *answer);
	void *arg;
	CURL *easy;
	struct curl_slist *headers;

	const char *body; /* borrowed */
	size_t body_bytes;
	size_t read; /* by libcurl, of the attempt that runs */
	size_t sent; /* went to the kernel */

	bool link_local; /* an address of the server's was refused */
	int status;	 /* 200 or more: its headers came whole */
	size_t headers_bytes, answer_bytes;
	char begin[HTTP_TEXT_MAX]; /* of the answer, as it came */
	size_t begin_len;

	/* What the answer points to. */
	char error[CURL_ERROR_SIZE];
	char text[HTTP_TEXT_MAX + 1], why[2 * CURL_ERROR_SIZE];
};

/* Not under way yet. -EINVAL, -ENOMEM */
int http_call_new(struct http_call **ret, const struct http_request *request);
void http_call_free(struct http_call *call);
static inline void http_call_freep(struct http_call **call)
{
	http_call_free(*call);
}

/* It is over, with `result`. The answer's strings are the call's. */
void http_call_judge(struct http_call *call, CURLcode result, struct http_answer *answer);

static inline bool http_call_all_sent(const struct http_call *call)
{
	return call->sent == call->body_bytes;
}
