// SPDX-License-Identifier: GPL-2.0-or-later
#include "upload/sender/sender_answer.h"

#include <stdio.h>

static enum verdict status_verdict(int status)
{
	if (status >= 200 && status < 300)
		return VERDICT_STORED;
	switch (status) {
	case 408:
		return VERDICT_BODY;
	case 501:
		return VERDICT_REFUSED;
	case 429:
	case 502:
	case 503:
	case 504:
		return VERDICT_SERVER;
	default:
		break;
	}
	if (status >= 400 && status < 500)
		return VERDICT_REFUSED;
	return status >= 500 && status < 600 ? VERDICT_BODY : VERDICT_SERVER;
}

enum verdict answer_verdict(const struct http_answer *answer)
{
	switch (answer->outcome) {
	case HTTP_ANSWERED:
		return status_verdict(answer->status);
	case HTTP_NOT_SENT:
		return VERDICT_SERVER;
	case HTTP_UNKNOWN:
		break;
	}
	return VERDICT_BODY;
}

bool answer_may_be_stored(const struct http_answer *answer)
{
	if (answer->outcome != HTTP_ANSWERED)
		return answer->outcome == HTTP_UNKNOWN;
	return status_verdict(answer->status) == VERDICT_STORED || answer->status == 502 ||
	       answer->status == 504;
}

static const char *status_meaning(int status)
{
	switch (status) {
	case 401:
	case 403:
		return "user, password, token or tenant are missing or wrong";
	case 404:
	case 405:
	case 501:
		return "there is no Pyroscope of that API, or not at that path";
	case 413:
		return "too large for it";
	case 429:
		return "more than it takes now";
	default:
		break;
	}
	if (status < 400)
		return status < 300 ? "stored" : "redirects aren't followed";
	return status < 500 ? "it refuses this" : "it can't take it now";
}

void answer_text(const struct http_answer *answer, char *text, size_t bytes)
{
	if (answer->outcome != HTTP_ANSWERED)
		snprintf(text, bytes, "%s", answer->why);
	else
		snprintf(text, bytes, "%d: %s", answer->status, status_meaning(answer->status));
}
