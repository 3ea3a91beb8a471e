/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads libcurl with dlopen(), when the first server is named or podman's socket is found. Linked,
 * libcurl and the thirty libraries that it needs would take 6 MB of each daemon that uploads
 * nothing.
 *
 * Call libcurl_load() first; then call libcurl's functions by their names, as declared in
 * curl/curl.h.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>

#define LIBCURL_PACKAGE "libcurl3-gnutls or libcurl4" /* of Debian */

/* Loads libcurl at the first call; libcurl is never unloaded. Returns false if libcurl can't be
 * loaded. Any thread. */
bool libcurl_load(void);

#define LIBCURL_FUNCTIONS(X)                                                                       \
	X(easy_cleanup)                                                                            \
	X(easy_getinfo)                                                                            \
	X(easy_init)                                                                               \
	X(easy_perform)                                                                            \
	X(easy_setopt)                                                                             \
	X(easy_strerror)                                                                           \
	X(free)                                                                                    \
	X(global_init)                                                                             \
	X(multi_add_handle)                                                                        \
	X(multi_cleanup)                                                                           \
	X(multi_info_read)                                                                         \
	X(multi_init)                                                                              \
	X(multi_perform)                                                                           \
	X(multi_poll)                                                                              \
	X(multi_remove_handle)                                                                     \
	X(multi_setopt)                                                                            \
	X(multi_socket_action)                                                                     \
	X(slist_append)                                                                            \
	X(slist_free_all)                                                                          \
	X(url)                                                                                     \
	X(url_cleanup)                                                                             \
	X(url_get)                                                                                 \
	X(url_set)                                                                                 \
	X(version_info)

/* curl/curl.h has macros of these names, which check types. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#undef curl_multi_setopt

#define LIBCURL_MEMBER(name) __typeof__(curl_##name) *name;
struct libcurl {
	LIBCURL_FUNCTIONS(LIBCURL_MEMBER)
};
extern struct libcurl libcurl;

#define curl_easy_cleanup	 libcurl.easy_cleanup
#define curl_easy_getinfo	 libcurl.easy_getinfo
#define curl_easy_init		 libcurl.easy_init
#define curl_easy_perform	 libcurl.easy_perform
#define curl_easy_setopt	 libcurl.easy_setopt
#define curl_easy_strerror	 libcurl.easy_strerror
#define curl_free		 libcurl.free
#define curl_global_init	 libcurl.global_init
#define curl_multi_add_handle	 libcurl.multi_add_handle
#define curl_multi_cleanup	 libcurl.multi_cleanup
#define curl_multi_info_read	 libcurl.multi_info_read
#define curl_multi_init		 libcurl.multi_init
#define curl_multi_perform	 libcurl.multi_perform
#define curl_multi_poll		 libcurl.multi_poll
#define curl_multi_remove_handle libcurl.multi_remove_handle
#define curl_multi_setopt	 libcurl.multi_setopt
#define curl_multi_socket_action libcurl.multi_socket_action
#define curl_slist_append	 libcurl.slist_append
#define curl_slist_free_all	 libcurl.slist_free_all
#define curl_url		 libcurl.url
#define curl_url_cleanup	 libcurl.url_cleanup
#define curl_url_get		 libcurl.url_get
#define curl_url_set		 libcurl.url_set
#define curl_version_info	 libcurl.version_info
