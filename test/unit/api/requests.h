/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bodies of PUTs, and what became of them. */
#pragma once

#include "unit/lib/unit.h"

#include "api/resource/flamegraph.h"
#include "session/session_params.h"
#include "base/utf8.h"

/* A root that is there always and in which nothing can be made. */
#define REQUEST_ROOT "/proc/self"

/* What the conf file says of uploads. */
static struct upload_options request_upload;

/* The host has no v2 hierarchy. */
static bool request_without_v2;

struct outcome {
	int result;
	struct spec spec; /* if result is 0 */
	struct notes notes;
	struct why why;
};

static inline void outcome_done(struct outcome *outcome)
{
	if (outcome->result == 0)
		spec_done(&outcome->spec);
}
#define _cleanup_outcome_ _cleanup_(outcome_done)

/* The parser may write one byte behind the body: it gets no more room than that. */
static inline void request_bytes(struct outcome *outcome, const struct spec *before,
				 const void *body, size_t bytes)
{
	struct bounds bounds = {
		{(const char *const[]){REQUEST_ROOT}, 1}, &request_upload, request_without_v2};
	_cleanup_free_ char *data = malloc(bytes + 1);

	assert_non_null(data);
	memcpy(data, body, bytes);
	data[bytes] = 'X';
	memset(outcome, 0x55, sizeof(*outcome));
	struct spec untouched = outcome->spec;
	outcome->why.text[0] = '\0';
	outcome->notes = (struct notes){0};
	outcome->result = request_parse(data, bytes, &flamegraph_rules, before, &bounds,
					&outcome->spec, NULL, &outcome->notes, &outcome->why);
	if (outcome->result == 0)
		return;
	assert_int_equal(outcome->result, -EINVAL);
	assert_memory_equal(&outcome->spec, &untouched, sizeof(untouched));
	size_t len = strnlen(outcome->why.text, sizeof(outcome->why.text));
	assert_true(len > 0 && len < sizeof(outcome->why.text));
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(outcome->why.text + at, len - at);

		if (!n)
			fail_msg("the message is no UTF-8: %s", outcome->why.text);
		at += n;
	}
}

static inline void request_text(struct outcome *outcome, const struct spec *before,
				const char *body)
{
	request_bytes(outcome, before, body, strlen(body));
	if (outcome->result == 0)
		assert_non_null(outcome->spec.snoopers);
}

static inline void assert_refused(const struct spec *before, const char *body, const char *message)
{
	_cleanup_outcome_ struct outcome outcome;

	request_text(&outcome, before, body);
	if (outcome.result == 0)
		fail_msg("accepted: %.200s", body);
	if (message)
		assert_string_equal(outcome.why.text, message);
}

static inline void assert_accepted(const struct spec *before, const char *body)
{
	_cleanup_outcome_ struct outcome outcome;

	request_text(&outcome, before, body);
	if (outcome.result)
		fail_msg("%s: %.200s", outcome.why.text, body);
}
