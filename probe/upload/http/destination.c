// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/http/destination.h"

#include <errno.h>
#include <string.h>

#include "base/libcurl.h"
#include "upload/http/server_url.h"

const char *upload_credentials_refused(const struct upload_options *options)
{
	if (!upload_has_credentials(options) || options->allow_count)
		return NULL;
	return "the conf file has credentials (password_file, token_file or cert_file) and no list "
	       "of servers that may get them: name these in upload.allow";
}

/* Whether a password or token would be sent in the clear. A certificate's key is never sent. */
static bool is_exposing(const struct upload_options *options, const char *url)
{
	return (options->password_file || options->token_file) && !options->insecure_credentials &&
	       strncmp(url, "https://", 8) != 0 && !server_is_loopback(url);
}

/* Returns why a server with a valid URL isn't used; NULL: it is used. */
static const char *server_refused(const struct upload_options *options, const char *url)
{
	const char *why = upload_credentials_refused(options);

	if (why)
		return why;
	if (!server_is_allowed(url, options->allow, options->allow_count))
		return "pyroscope_server is not in upload.allow of the conf file";
	if (is_exposing(options, url))
		return "pyroscope_server is http://, and the password or token of the conf file "
		       "would be read on its way: use https://, or set "
		       "upload.insecure_credentials = true";
	return NULL;
}

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
	const char *why = server_refused(options, url);
	if (why)
		url[0] = '\0';
	return why;
}

bool upload_is_forbidden(const struct upload_options *options, const char *server)
{
	char url[SERVER_URL_BYTES];

	return server_url(server, url, sizeof(url)) == 0 &&
	       !server_is_allowed(url, options->allow, options->allow_count);
}
