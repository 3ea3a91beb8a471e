// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/feature/feature.h"

bool query_is_number(long long value, long long max)
{
	return value == QUERY_NONE || (value >= 1 && value <= max);
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
