/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Credentials of uploads: reads the password and the token from the files that the options name,
 * and checks the files of certificates. */
#pragma once

#include <stddef.h>

#include "upload/http/http.h"
#include "upload/http/upload_options.h"

struct auth;

/*
 * Reads the files. The caller owns *ret; `options` is copied. Symbolic links are followed (a
 * mounted Kubernetes secret is one); each file must be a regular file. A password or a token has up
 * to HTTP_SECRET_MAX bytes of UTF-8 without control characters; one line end behind it is cut. PEM
 * files are only opened: libcurl reads them at each connection. Returns 0, or a negative errno:
 * -EINVAL, -ENOMEM, or that of a file; then `why` has a sentence with the file's name and nothing
 * of its content.
 */
int auth_read(struct auth **ret, const struct upload_options *options, struct why *why);

/* Overwrites the secrets and frees `auth`; NULL is allowed. */
void auth_free(struct auth *auth);
static inline void auth_freep(struct auth **auth)
{
	auth_free(*auth);
}

/* Returns the credentials for requests; borrowed until auth_free(). */
const struct http_auth *auth_http(const struct auth *auth);

/* Finds the files with secrets (password, token, key) that every user may read (S_IROTH). Returns
 * their number; the paths are borrowed from `options`. */
#define AUTH_SECRETS_MAX 3
size_t auth_exposed(const struct upload_options *options, const char *paths[AUTH_SECRETS_MAX]);
