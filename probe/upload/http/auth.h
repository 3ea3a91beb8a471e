/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files say that upload's options name: passwords, tokens, certificates. */
#pragma once

#include <stddef.h>

#include "upload/http/http.h"
#include "upload/http/options.h"

struct auth;

/*
 * Reads the files; the options are copied. Links are followed (a mounted Kubernetes secret is one);
 * each file must be a regular one. A password or a token has up to HTTP_SECRET_MAX bytes of UTF-8
 * without control characters; a line end at its end is cut. PEM files are opened only: libcurl
 * reads them at each connection. -EINVAL, or the negative errno of a file, and in `why` a sentence
 * with the file's name and nothing of its content.
 */
int auth_read(struct auth **ret, const struct upload_options *options, char *why, size_t why_bytes);

/* Secrets are overwritten, too. */
void auth_free(struct auth *auth);
static inline void auth_freep(struct auth **auth)
{
	auth_free(*auth);
}

/* For requests; lives as long as `auth`. */
const struct http_auth *auth_http(const struct auth *auth);

/* Those of the options' files with secrets that everybody may read; how many. */
#define AUTH_SECRETS_MAX 3
size_t auth_exposed(const struct upload_options *options, const char *paths[AUTH_SECRETS_MAX]);
