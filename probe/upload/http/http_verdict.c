// SPDX-License-Identifier: GPL-2.0-or-later
/* Judges how a call ended: outcome, the answer's text, the reason of a failure. */
#include <string.h>

#include "base/utf8.h"
#include "base/why.h"
#include "upload/http/http_call.h"

/* Makes one line of UTF-8 from any bytes; characters that can't be shown become `?`. `room` counts
 * the NUL. */
static void clean_text(char *to, size_t room, const char *from, size_t from_len)
{
	size_t len = 0;

	for (size_t i = 0, bytes; i < from_len; i += bytes) {
		size_t shown = utf8_printable(from + i, from_len - i);
		size_t valid = utf8_sequence(from + i, from_len - i);

		bytes = valid ? valid : 1;
		if (len + bytes >= room)
			break;
		if ((unsigned char)from[i] <= ' ') {
			/* One blank for a run of blanks and control characters, none at the
			 * begin. */
			if (len && to[len - 1] != ' ')
				to[len++] = ' ';
		} else if (!shown) {
			to[len++] = '?';
		} else {
			memcpy(to + len, from + i, bytes);
			len += bytes;
		}
	}
	while (len && to[len - 1] == ' ')
		len--;
	to[len] = '\0';
}

/* Whether the answer may repeat our authorization; its text would get into logs. Eight bytes of a
 * secret are looked for, as the answer may be cut behind them. A server that refuses a password
 * (401, 403) may repeat it decoded, so such an answer is never shown. */
static bool repeats_secret(const struct http_call *call)
{
	for (const struct curl_slist *line = call->headers; line; line = line->next) {
		if (strncmp(line->data, "Authorization: ", 15) != 0)
			continue;
		const char *secret = strchr(line->data + 15, ' ') + 1;
		size_t len = strlen(secret);

		if (call->status == 401 || call->status == 403 ||
		    memmem(call->begin, call->begin_len, secret, len < 8 ? len : 8))
			return true;
	}
	return false;
}

static bool is_of_tls(CURLcode result)
{
	switch (result) {
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_ISSUER_ERROR:
		return true;
	default:
		return false;
	}
}

/* Whether the call ended because http_call.c kept libcurl from sending the body again. */
static bool is_second_attempt(const struct http_call *call, CURLcode result)
{
	return result == CURLE_SEND_FAIL_REWIND || result == CURLE_ABORTED_BY_CALLBACK ||
	       (result == CURLE_COULDNT_CONNECT && call->sent);
}

/* Makes the sentence. The same cause has the same words (no times, no local ports), as the log
 * writes each sentence once. */
static void explain_failure(struct http_call *call, CURLcode result, struct why *why)
{
	bool all_sent = http_call_all_sent(call);
	long error = 0;

	curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &error);
	if (call->headers_bytes > HTTP_HEADERS_MAX)
		why_set(why, "The answer's headers are longer than %d KiB",
			HTTP_HEADERS_MAX / 1024);
	else if (call->status)
		why_set(why, "Answered %d before all was sent", call->status);
	else if (call->link_local && result == CURLE_COULDNT_CONNECT)
		why_set(why, "Link-local addresses (169.254.0.0/16, fe80::/10) are refused");
	else if (result == CURLE_OPERATION_TIMEDOUT)
		why_set(why, "%s", all_sent ? "No answer in time" : "Not sent in time");
	else if (result == CURLE_OK)
		why_set(why, "The answer has no status of 200 or more");
	else if (is_second_attempt(call, result))
		why_set(why, "The connection was closed without an answer");
	else if (result == CURLE_OUT_OF_MEMORY && all_sent) /* what 7.88 says of a line of 100 KB */
		why_set(why, "Out of memory, or a header that is too long");
	else if (is_of_tls(result))
		why_set(why, "TLS: %s", call->error[0] ? call->error : curl_easy_strerror(result));
	else if (error)
		why_set(why, "%s: %s", curl_easy_strerror(result), strerror((int)error));
	else if ((result == CURLE_RECV_ERROR || result == CURLE_SEND_ERROR) && call->error[0])
		why_set(why, "%s: %s", curl_easy_strerror(result), call->error);
	else
		why_set(why, "%s", curl_easy_strerror(result));
}

static unsigned retry_after_s(CURL *easy)
{
	curl_off_t seconds = 0;

	if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) || seconds < 0)
		return 0;
	return seconds > HTTP_RETRY_AFTER_S ? HTTP_RETRY_AFTER_S : (unsigned)seconds;
}

void http_call_judge(struct http_call *call, CURLcode result, struct http_answer *answer)
{
	bool all_sent = http_call_all_sent(call);
	struct why why;

	/* A 2xx counts only if all was sent: the server can't have stored the body before. */
	if (call->status >= 300 || (call->status && all_sent)) {
		if (!repeats_secret(call))
			clean_text(call->text, sizeof(call->text), call->begin, call->begin_len);
		*answer = (struct http_answer){.outcome = HTTP_ANSWERED,
					       .status = call->status,
					       .retry_after_s = retry_after_s(call->easy)};
	} else {
		explain_failure(call, result, &why);
		clean_text(call->why, sizeof(call->why), why.text, strlen(why.text));
		*answer = (struct http_answer){.outcome = all_sent ? HTTP_UNKNOWN : HTTP_NOT_SENT};
	}
	answer->text = call->text;
	answer->why = call->why;
}
