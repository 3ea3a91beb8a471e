/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of the server that a PUT names: "host", "host:port", or an http(s) URL with or without a
 * path. It uses libcurl's URL parser, as http_post() does, so that both see the same host in a
 * text. The other functions take the text of a PUT as well as a URL of server_url().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERVER_URL_MAX 256 /* bytes of a server's text, its NUL included */
/* Enough for any result of server_url(): a scheme is added, 127.1 becomes 127.0.0.1. */
#define SERVER_URL_BYTES (SERVER_URL_MAX + 16)

/*
 * Makes the URL "http://host:port/path": scheme and host in small letters, the port only if it was
 * given, no slash at the end. Returns 0, or a negative errno, then `url` is "": -ENOMEM; -ENOSYS if
 * libcurl can't be loaded; -EINVAL if `bytes` are too few, or if `text` is empty, too long, not
 * printable ASCII, has another scheme, a user or password, a query, a fragment, port 0, no host, or
 * a host that isn't of letters, digits, ".-_" (or an address in brackets, without a zone).
 */
int server_url(const char *text, char *url, size_t bytes);

/* Copies `text`, cut to `bytes`, for logs and answers: a user and password become "***". Only texts
 * that server_url() refuses are changed, and it refuses the result too. */
void server_url_show(const char *text, char *shown, size_t bytes);

/*
 * Returns whether a PUT may name `url`: some server of `allow` has the same scheme, host, port (the
 * scheme's if none is given) and path. True if allow_count is 0. A malformed entry of `allow`
 * allows nothing.
 */
bool server_is_allowed(const char *url, char *const *allow, size_t allow_count);

/* Returns whether requests to `url` stay on this host: 127.0.0.0/8, ::1 (also as ::ffff:127.…), or
 * "localhost", which libcurl doesn't look up. */
bool server_is_loopback(const char *url);
