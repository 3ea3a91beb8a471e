/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server that a PUT names: "host", "host:port", or an http(s) URL with or without a path. By
 * libcurl's URL parser, the one that http_post() uses: what is allowed here is what is asked there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERVER_URL_MAX 256 /* bytes of a server as it is written, its NUL counted */
/* What server_url() makes of it always fits: a scheme comes on top, 127.1 becomes 127.0.0.1. */
#define SERVER_URL_BYTES (SERVER_URL_MAX + 16)

/*
 * "http://host:port/path" into `url`: scheme and host in small letters, the port where one was
 * given, no slash at its end. 0, or -EINVAL, where `text` is empty, too long, has characters other
 * than printable ASCII, another scheme, a user or password, a query, a fragment, port 0, no host or
 * one that isn't of letters, digits, ".-_" (or an address in brackets, without a zone), or where
 * `bytes` are too few. `url` is "" then. -ENOMEM. -ENOSYS: there is no libcurl.
 */
int server_url(const char *text, char *url, size_t bytes);

/* `text` as it may be kept and shown: what stands for a user and a password is "***". Such a one is
 * none that server_url() takes, before and after; all others are as they were. Cut to `bytes`. */
void server_url_show(const char *text, char *shown, size_t bytes);

/*
 * Whether a PUT may name `url` (either form): it is one of `allow`, each written as a PUT would.
 * Scheme, host, port (its scheme's if none is given) and path have to be the same. Any is, where
 * allow_count is 0. One of `allow` that is no URL allows nothing.
 */
bool server_is_allowed(const char *url, char *const *allow, size_t allow_count);

/* Whether what is said to `url` (either form) stays on this host: 127.0.0.0/8, ::1 (also as
 * ::ffff:127.…), or "localhost", for which libcurl asks nobody. */
bool server_is_loopback(const char *url);
