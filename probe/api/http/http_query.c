// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/http_query.h"

#include <errno.h>
#include <stdlib.h>

#include "api/http/server_state.h"

static const char *query_text(struct MHD_Connection *mhd, const char *key)
{
	return MHD_lookup_connection_value(mhd, MHD_GET_ARGUMENT_KIND, key);
}

static long long query_number(struct MHD_Connection *mhd, const char *key)
{
	const char *text = query_text(mhd, key);
	char *end;

	if (!text)
		return QUERY_NONE;
	errno = 0;
	long long value = strtoll(text, &end, 10);
	return errno || end == text || *end || value < 0 ? QUERY_NONSENSE : value;
}

void http_query_read(struct MHD_Connection *mhd, struct query *query)
{
	*query = (struct query){
		.pid = query_number(mhd, "pid"),
		.seconds = query_number(mhd, "seconds"),
		.icicle = query_number(mhd, "icicle"),
		.follow = query_number(mhd, "follow"),
		.min_age = query_number(mhd, "min_age"),
		.value = query_text(mhd, "value"),
		.view = query_text(mhd, "view"),
	};
}
