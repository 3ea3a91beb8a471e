/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client takes: the headers Accept and Accept-Encoding (RFC 9110, 12.5). Pure functions; a
 * header that the client hasn't sent is NULL. */
#pragma once

#include <stdbool.h>

/* Returns whether Accept-Encoding has gzip, and doesn't refuse it (`gzip;q=0`). */
bool accept_has_gzip(const char *accept_encoding);

/* Returns whether Accept names a type, "text/html". */
bool accept_has(const char *accept, const char *type);
