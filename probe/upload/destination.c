// SPDX-License-Identifier: GPL-2.0-only
#include "upload/destination.h"

#include <errno.h>

#include "base/libcurl.h"
#include "upload/server_url.h"

const char *upload_destination(const struct upload_options *options, const char *server, char *url,
			       size_t bytes)
{
	url[0] = '\0';
	if (!server[0])
		return "pyroscope_server is empty";
	int r = server_url(server, url, bytes);
	if (r < 0)
		return r == -ENOMEM   ? "no memory"
		       : r == -ENOSYS ? "libcurl can't be loaded (Debian: " LIBCURL_PACKAGE ")"
				      : "pyroscope_server is neither host:port nor an http(s) URL "
					"without user, query and fragment";
	if (server_is_allowed(url, options->allow, options->allow_count))
		return NULL;
	url[0] = '\0';
	return "pyroscope_server is not in upload.allow of the conf file";
}

bool upload_is_forbidden(const struct upload_options *options, const char *server)
{
	char url[SERVER_URL_BYTES];

	return server_url(server, url, sizeof(url)) == 0 &&
	       !server_is_allowed(url, options->allow, options->allow_count);
}
