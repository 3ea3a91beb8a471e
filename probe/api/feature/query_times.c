// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/feature.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

#define TIME_MAX_S 4000000000LL /* the year 2096: sums of two fit into 63 bits, in ns */

bool query_is_number(long long value, long long max)
{
	return value == QUERY_NONE || (value >= 1 && value <= max);
}

bool query_has_range(const struct query *query)
{
	return query->from || query->until || query->comm || query->container || query->thread ||
	       query->before_from || query->before_until || query->before_pid ||
	       query->before_comm || query->before_container || query->widths;
}

bool query_time(const char *text, int64_t now, int64_t *ns)
{
	bool is_before = text[0] == '-';
	const char *at = text + is_before;
	char *end;

	if (!isdigit((unsigned char)*at))
		return false;
	errno = 0;
	long long seconds = strtoll(at, &end, 10), part = 0;
	if (errno || seconds > TIME_MAX_S)
		return false;
	if (*end == '.') {
		const char *digits = end + 1;
		long long scale = (long long)NS_PER_S / 10;

		for (at = digits; isdigit((unsigned char)*at); at++, scale /= 10)
			part += (*at - '0') * scale;
		end = (char *)at;
		if (at == digits)
			return false;
	}
	int64_t given = (int64_t)seconds * (int64_t)NS_PER_S + part;
	*ns = is_before ? now - given : given;
	if (*ns < 0)
		*ns = 0;
	return !*end;
}

const char *query_check_times(const struct query *query)
{
	if (!query_is_number(query->seconds, QUERY_SECONDS_MAX))
		return "seconds must be a number from 1 to 600";
	if (!query_is_number(query->every, QUERY_SECONDS_MAX))
		return "every must be a number from 1 to 600";
	if (!query_is_number(query->count, UINT32_MAX))
		return "count must be a number from 1 to 4294967295";
	if (query->count != QUERY_NONE && query->every == QUERY_NONE)
		return "count needs every";
	return NULL;
}
