// SPDX-License-Identifier: GPL-2.0-or-later
/* The three forms of a body, and bodies that are none. */
#include "unit/api/requests.h"

#include <ctype.h>

#define JSON(comm) "{\"snoopers\":{\"proc_name\":[{\"comm\":\"" comm "\"}]}}"

/* The comm that a body was understood as. */
static void assert_comm(const char *body, const char *comm)
{
	_cleanup_outcome_ struct outcome outcome;
	const struct name_snooper *names;

	request_text(&outcome, NULL, body);
	if (outcome.result)
		fail_msg("%s: %s", outcome.why.text, body);
	assert_int_equal(snoopers_names(outcome.spec.snoopers, &names), 1);
	assert_string_equal(names[0].comm, comm);
}

static void raw_json_holds_plus_and_percent_as_they_are(void **state)
{
	(void)state;
	assert_comm(JSON("a+b%20c%2"), "a+b%20c%2");
	assert_comm("json=" JSON("a+b%20c%"), "a+b%20c%");
	assert_comm(" \t\r\n" JSON("x"), "x");
	assert_comm("json= \n" JSON("x+"), "x+");
	assert_comm("json=/* a comment */" JSON("x%41"), "x%41");
	assert_comm("json=" JSON("a=b&c"), "a=b&c");
}

static void url_encoded_json_is_decoded(void **state)
{
	static const char json[] = JSON("a+b c%\xc3\xbc");
	char body[512] = "json=", *to = body + 5;

	(void)state;
	for (const char *c = json; *c; c++) /* every byte */
		to += sprintf(to, "%%%02X", (unsigned char)*c);
	assert_comm(body, "a+b c%\xc3\xbc");
	to = body + 5;
	for (const char *c = json; *c; c++) /* blanks as plus, letters as they are, small digits */
		to += isalnum((unsigned char)*c) ? sprintf(to, "%c", *c)
		      : *c == ' '		 ? sprintf(to, "+")
						 : sprintf(to, "%%%02x", (unsigned char)*c);
	assert_comm(body, "a+b c%\xc3\xbc");
	assert_comm("json=++%7B\"snoopers\":{\"proc_name\":[{\"comm\":\"a%2Bb+c\"}]}}", "a+b c");
}

static void broken_escapes_are_refused(void **state)
{
	static const char *const bodies[] = {
		"json=%",      "json=%7",  "json=%7B%",	     "json=%7B%7", "json=%7B%zz",
		"json=%7B%7z", "json=%00", "json=%7B%00%7D", "json=%%7B",  "json="};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		assert_refused(NULL, bodies[i], "invalid json format");
}

static void decoded_bytes_must_be_utf8(void **state)
{
	static const char *const bodies[] = {JSON("\xff"),
					     JSON("\xc0\x80"),
					     JSON("\xed\xa0\x80"),
					     JSON("\xe2\x82"),
					     "json=%7B\"state\":\"%FF\"%7D",
					     "\xef\xbf",
					     "json=\x80"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		assert_refused(NULL, bodies[i], "invalid json format");
	assert_comm(JSON("\xf0\x9f\x94\xa5\xc3\xbc"), "\xf0\x9f\x94\xa5\xc3\xbc");
	assert_comm(JSON("\\u00fc\\ud83d\\udd25"), "\xc3\xbc\xf0\x9f\x94\xa5");
	assert_refused(NULL, JSON("\\ud83d"), NULL);
	assert_refused(NULL, JSON("\\udd25x"), NULL);
}

static void a_nul_byte_anywhere_is_refused(void **state)
{
	static const char body[] = "json=" JSON("abc");

	(void)state;
	for (size_t at = 0; at < sizeof(body) - 1; at++) {
		char changed[sizeof(body)];
		_cleanup_outcome_ struct outcome outcome;

		memcpy(changed, body, sizeof(body));
		changed[at] = '\0';
		request_bytes(&outcome, NULL, changed, sizeof(body) - 1);
		assert_int_equal(outcome.result, -EINVAL);
	}
}

/* Cut at its NUL, "\u0000x" would be the empty pattern, which matches every process. */
static void an_escaped_nul_does_not_cut_a_text(void **state)
{
	(void)state;
	assert_refused(NULL, JSON("\\u0000redis"), NULL);
	assert_refused(NULL, JSON("redis\\u0000"), NULL);
	assert_refused(NULL,
		       "{\"snoopers\":{\"proc_id\":[1]},\"params\":{\"svg_dir\":"
		       "\"/proc/self/task\\u0000/../../etc\"}}",
		       NULL);
}

static void deep_nesting_is_answered(void **state)
{
	static char body[1024 * 1024];
	static const char *const openers[] = {"[", "{\"a\":", "[{\"a\":"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(openers); i++) {
		static const size_t depths[] = {10, 999, 1000, 1001, 100000};

		for (size_t d = 0; d < ARRAY_SIZE(depths); d++) {
			_cleanup_outcome_ struct outcome outcome;
			size_t len = 0, each = strlen(openers[i]);

			while (len < depths[d] * each && len + each < sizeof(body)) {
				memcpy(body + len, openers[i], each);
				len += each;
			}
			request_bytes(&outcome, NULL, body, len);
			assert_int_equal(outcome.result, -EINVAL);
		}
	}
	char nested[] =
		"{\"unknown\":[[[[[[[[[[{\"a\":[]}]]]]]]]]]],\"snoopers\":{\"proc_id\":[1]}}";
	assert_accepted(NULL, nested);
}

static void bodies_cut_anywhere_are_answered(void **state)
{
	static const char body[] =
		"json={ // "
		"comment\n\"cmd\":{\"probe\":[\"oncpu\"]},\"snoopers\":{\"proc_id\":[101],"
		"\"proc_name\":[{\"comm\":\"^re\\\"dis\\u00fc\",\"cmdline\":\"\",\"debugging_dir\":"
		"\"\"}]},/* x */\"params\":{\"svg_period\":180,\"perf_sample_period\":10},"
		"\"state\":\"running\"}";

	(void)state;
	for (size_t cut = 0; cut < sizeof(body); cut++) {
		_cleanup_outcome_ struct outcome outcome;

		request_bytes(&outcome, NULL, body, cut);
		assert_int_equal(outcome.result, cut == sizeof(body) - 1 ? 0 : -EINVAL);
	}
}

static void changed_bytes_are_answered(void **state)
{
	static const char body[] =
		"json={\"cmd\":{\"probe\":[\"oncpu\"]},\"snoopers\":{\"proc_id\":[101],"
		"\"proc_name\":[{\"comm\":\"^(a|b)*c{2}\"}]},\"params\":{\"svg_period\":180}}";
	static const char letters[] = "{}[]\",:\\/*+%0-9eE.u#\n\x01\x7f\xc3\xbcjn";
	uint64_t random = 17;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		_cleanup_outcome_ struct outcome outcome;
		char changed[sizeof(body)];

		memcpy(changed, body, sizeof(body));
		for (int change = 0; change < 1 + i % 4; change++) {
			uint64_t bits = random_next(&random);

			changed[bits % (sizeof(body) - 1)] =
				letters[(bits >> 32) % (sizeof(letters) - 1)];
		}
		request_bytes(&outcome, NULL, changed, sizeof(body) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raw_json_holds_plus_and_percent_as_they_are),
		cmocka_unit_test(url_encoded_json_is_decoded),
		cmocka_unit_test(broken_escapes_are_refused),
		cmocka_unit_test(decoded_bytes_must_be_utf8),
		cmocka_unit_test(a_nul_byte_anywhere_is_refused),
		cmocka_unit_test(an_escaped_nul_does_not_cut_a_text),
		cmocka_unit_test(deep_nesting_is_answered),
		cmocka_unit_test(bodies_cut_anywhere_are_answered),
		cmocka_unit_test(changed_bytes_are_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
