// SPDX-License-Identifier: GPL-2.0-or-later
/* A server as a PUT names it, and, behind a newline, one that the conf file allows. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "upload/http/server_url.h"

static void check_form(const char *url)
{
	char again[SERVER_URL_BYTES];
	size_t len = strlen(url);

	demand(strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0);
	demand(url[len - 1] != '/' && strcspn(url, "@?#\\%|<>\" ") >= strcspn(url + 8, "/") + 8);
	for (size_t i = 0; i < len; i++)
		demand(url[i] > ' ' && url[i] <= '~');
	/* It may have grown past what a PUT may say. */
	if (len < SERVER_URL_MAX)
		demand(server_url(url, again, sizeof(again)) == 0 && strcmp(url, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	_cleanup_free_ char *text = calloc(1, bytes + 1);
	char url[SERVER_URL_BYTES], allowed_url[SERVER_URL_BYTES];

	demand(text != NULL);
	if (bytes)
		memcpy(text, data, bytes);
	char *allowed = strchr(text, '\n');
	if (allowed)
		*allowed++ = '\0';
	int r = server_url(text, url, sizeof(url));
	demand(r == 0 || (r == -EINVAL && !url[0]));
	if (r == 0)
		check_form(url);
	if (r == 0 && strlen(url) < SERVER_URL_MAX)
		demand(server_is_allowed(url, &text, 1));
	if (allowed && server_is_allowed(text, &allowed, 1))
		demand(r == 0 && server_url(allowed, allowed_url, sizeof(allowed_url)) == 0);
	return 0;
}
