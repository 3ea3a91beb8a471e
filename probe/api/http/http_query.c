// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/http/http_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/http/server_state.h"
#include "base/cleanup.h"

/* Keys that a query may have; behind KEYS_SHOWN those that Go's net/http/pprof has, and whose
 * meaning here is none. */
static const char *const keys[] = {
	"pid",	  "seconds",	 "icicle",	 "follow",     "min_age",     "value",
	"view",	  "header",	 "every",	 "count",      "unit",	      "step",
	"top",	  "min",	 "max",		 "sort",       "by",	      "group_by",
	"pids",	  "probe",	 "from",	 "until",      "comm",	      "container",
	"thread", "before_from", "before_until", "before_pid", "before_comm", "before_container",
	"widths", "limit",	 "debug",	 "gc",	       "rate"};
#define KEYS_SHOWN 32

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

static enum MHD_Result check_key(void *arg, enum MHD_ValueKind kind, const char *key,
				 const char *value)
{
	struct notes *notes = arg;

	(void)kind;
	(void)value;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(key, keys[i]) == 0)
			return MHD_YES;
	}
	notes_unknown(notes, "the query", key, keys, KEYS_SHOWN);
	return MHD_YES;
}

void http_query_read(struct MHD_Connection *mhd, struct query *query, struct notes *notes)
{
	*query = (struct query){
		.pid = query_number(mhd, "pid"),
		.seconds = query_number(mhd, "seconds"),
		.icicle = query_number(mhd, "icicle"),
		.follow = query_number(mhd, "follow"),
		.min_age = query_number(mhd, "min_age"),
		.header = query_number(mhd, "header"),
		.every = query_number(mhd, "every"),
		.count = query_number(mhd, "count"),
		.step = query_number(mhd, "step"),
		.top = query_number(mhd, "top"),
		.min = query_number(mhd, "min"),
		.max = query_number(mhd, "max"),
		.limit = query_number(mhd, "limit"),
		.pids = query_text(mhd, "pids"),
		.sort = query_text(mhd, "sort"),
		.by = query_text(mhd, "by"),
		.group_by = query_text(mhd, "group_by"),
		.unit = query_text(mhd, "unit"),
		.value = query_text(mhd, "value"),
		.view = query_text(mhd, "view"),
		.probe = query_text(mhd, "probe"),
		.from = query_text(mhd, "from"),
		.until = query_text(mhd, "until"),
		.comm = query_text(mhd, "comm"),
		.container = query_text(mhd, "container"),
		.thread = query_text(mhd, "thread"),
		.before_from = query_text(mhd, "before_from"),
		.before_until = query_text(mhd, "before_until"),
		.before_pid = query_text(mhd, "before_pid"),
		.before_comm = query_text(mhd, "before_comm"),
		.before_container = query_text(mhd, "before_container"),
		.widths = query_text(mhd, "widths"),
	};
	MHD_get_connection_values(mhd, MHD_GET_ARGUMENT_KIND, check_key, notes);
}
