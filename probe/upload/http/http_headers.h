/* SPDX-License-Identifier: GPL-2.0-only */
/* A request's header lines, secrets among them. */
#pragma once

#include "upload/http/http.h"
#include "base/libcurl.h"

/* -EINVAL: a value that is empty, longer than HTTP_SECRET_MAX, or has a control character; a colon
 * in a user; a password without a user; two kinds of authorization. -ENOMEM */
int http_headers_new(struct curl_slist **ret, const struct http_request *request);

/* Wipes them first. */
void http_headers_free(struct curl_slist *headers);
