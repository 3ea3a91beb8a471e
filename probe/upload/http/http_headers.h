/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header lines of a request, with the secrets of its authorization. */
#pragma once

#include "upload/http/http.h"
#include "base/libcurl.h"

/* Makes the header lines; the caller owns *ret. Returns 0, or a negative errno: -ENOMEM; -EINVAL if
 * a value is empty, longer than HTTP_SECRET_MAX, or has a control character; for a colon in a user,
 * a password without a user, or two kinds of authorization. */
int http_headers_new(struct curl_slist **ret, const struct http_post *request);

/* Overwrites and frees the lines. */
void http_headers_free(struct curl_slist *headers);
