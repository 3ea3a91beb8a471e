// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/accept.h"

#include <stdlib.h>
#include <string.h>

bool accept_has_gzip(const char *accept_encoding)
{
	const char *gzip = accept_encoding ? strstr(accept_encoding, "gzip") : NULL;

	if (!gzip)
		return false;
	gzip += strlen("gzip");
	gzip += strspn(gzip, " ");
	if (*gzip != ';')
		return true;
	gzip += strspn(gzip, "; ");
	return strncmp(gzip, "q=", 2) != 0 || strtod(gzip + 2, NULL) > 0;
}

bool accept_has(const char *accept, const char *type)
{
	return accept && strstr(accept, type);
}
