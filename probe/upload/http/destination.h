/* SPDX-License-Identifier: GPL-2.0-only */
/* Where uploads go: what a PUT named as pyroscope_server, as far as the conf file allows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "upload/http/options.h"

/*
 * NULL: `url` (SERVER_URL_BYTES of upload/http/server_url.h are enough) is where. Else `url` is "",
 * and that is why nothing is sent: a sentence, static. Where the options have credentials, `url` is
 * one of upload.allow, and https:// or a loopback address unless insecure_credentials says
 * otherwise.
 */
const char *upload_destination(const struct upload_options *options, const char *server, char *url,
			       size_t bytes);

/* Why no server would get the credentials that the options have: a sentence, static. NULL: one may,
 * or there are none. */
const char *upload_credentials_refused(const struct upload_options *options);

/* Whether a PUT must be refused: it names a server that upload.allow doesn't have. An empty or a
 * malformed one names none. */
bool upload_is_forbidden(const struct upload_options *options, const char *server);
