/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides where uploads go: checks the pyroscope_server of a PUT against the conf file's section
 * `upload`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "upload/http/upload_options.h"

/*
 * Makes the URL of the server; SERVER_URL_BYTES (upload/http/server_url.h) are enough for `url`.
 * Returns NULL, or a static sentence why nothing is sent; then `url` is "". If the options have
 * credentials, only a server of upload.allow is taken; and if these have a password or a token,
 * only https:// or a loopback address, unless insecure_credentials is set.
 */
const char *upload_destination(const struct upload_options *options, const char *server, char *url,
			       size_t bytes);

/* Returns a static sentence why no server at all would get the options' credentials; NULL: some
 * server may get them, or there are none. */
const char *upload_credentials_refused(const struct upload_options *options);

/* Returns whether a PUT must be refused because upload.allow doesn't have its server. False for an
 * empty or malformed `server`. */
bool upload_is_forbidden(const struct upload_options *options, const char *server);
