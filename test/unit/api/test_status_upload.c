// SPDX-License-Identifier: GPL-2.0-or-later
/* What GET and /metrics say of uploads. */
#include "unit/lib/unit.h"

#include "api/status/status.h"
#include "loop/loop.h"
#include "measure/measure.h"

static void assert_json(const struct upload_status *status, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(10000);
	struct json json = {.out = &out};

	json_object(&json, NULL);
	status_upload(&json, status);
	json_object_end(&json);
	buf_char(&out, '\0');
	assert_int_equal(buf_error(&out), 0);
	assert_string_equal(out.data, expected);
}

static struct upload_status failing = {
	.state = UPLOAD_FAILING,
	.reason = "",
	.server = "https://pyro:4040/there",
	.api = PYROSCOPE_INGEST,
	.sent = {.stored = 1,
		 .stored_bytes = 22000000000,
		 .last_stored_ns = 1795427364900000000,
		 .retries = 3,
		 .maybe_twice = 4,
		 .lost = {5, 6, 7, 8, 9, 10},
		 .waiting = 11,
		 .waiting_bytes = 12345678901,
		 .failing = true,
		 .last_failure = "503: \"busy\"\xff\n"},
};

static void get_says_how_it_goes(void **state)
{
	struct upload_status off = {.reason = "pyroscope_server is empty"};

	(void)state;
	failing.sent.oldest_waiting_ns = loop_real_ns() - 90100000000;
	assert_json(&failing,
		    "{\"upload\":{\"state\":\"failing\",\"reason\":\"\","
		    "\"server\":\"https://pyro:4040/there\",\"api\":\"ingest\",\"stored\":1,"
		    "\"last_stored\":1795427364,\"waiting\":11,\"waiting_bytes\":12345678901,"
		    "\"oldest_waiting_s\":90,"
		    "\"retries\":3,\"maybe_twice\":4,"
		    "\"lost\":{\"too_old\":5,\"no_room\":6,\"refused\":7,\"too_large\":8,"
		    "\"unwritable\":9,\"unreadable\":10},"
		    "\"last_failure\":\"503: \\\"busy\\\"\xef\xbf\xbd\\u000a\"}}");
	assert_json(&off, "{\"upload\":{\"state\":\"off\",\"reason\":\"pyroscope_server is empty\","
			  "\"server\":\"\",\"api\":\"push\",\"stored\":0,"
			  "\"last_stored\":0,\"waiting\":0,"
			  "\"waiting_bytes\":0,\"oldest_waiting_s\":0,\"retries\":0,"
			  "\"maybe_twice\":0,\"lost\":{\"too_old\":0,\"no_room\":0,\"refused\":0,"
			  "\"too_large\":0,\"unwritable\":0,\"unreadable\":0},"
			  "\"last_failure\":\"\"}}");
}

static void a_clock_that_was_set_back_makes_nothing_younger_than_now(void **state)
{
	struct upload_status status = failing;
	_cleanup_buf_ struct buf out = BUF_INIT(10000);
	struct json json = {.out = &out};

	(void)state;
	status.sent.oldest_waiting_ns = loop_real_ns() + 5000000000;
	status_upload(&json, &status);
	buf_char(&out, '\0');
	assert_has(out.data, "\"oldest_waiting_s\":0,");
}

static void metrics_have_the_same_figures(void **state)
{
	static const char *const lines[] = {
		"\nstackprobe_upload_stored_total 1\n",
		"\nstackprobe_upload_stored_bytes_total 22000000000\n",
		"\nstackprobe_upload_last_stored_timestamp_seconds 1795427364\n",
		"\nstackprobe_upload_retries_total 3\n",
		"\nstackprobe_upload_maybe_twice_total 4\n",
		"\nstackprobe_upload_lost_total{cause=\"too_old\"} 5\n",
		"\nstackprobe_upload_lost_total{cause=\"no_room\"} 6\n",
		"\nstackprobe_upload_lost_total{cause=\"refused\"} 7\n",
		"\nstackprobe_upload_lost_total{cause=\"too_large\"} 8\n",
		"\nstackprobe_upload_lost_total{cause=\"unwritable\"} 9\n",
		"\nstackprobe_upload_lost_total{cause=\"unreadable\"} 10\n",
		"\nstackprobe_upload_waiting 11\n",
		"\nstackprobe_upload_waiting_bytes 12345678901\n",
		"\n# TYPE stackprobe_upload_lost_total counter\n",
		"\n# TYPE stackprobe_upload_waiting gauge\n",
	};
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 16);

	(void)state;
	measures_lines(&out, &sender_measures, &failing.sent);
	buf_char(&out, '\0');
	assert_int_equal(buf_error(&out), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_has(out.data, lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_says_how_it_goes),
		cmocka_unit_test(a_clock_that_was_set_back_makes_nothing_younger_than_now),
		cmocka_unit_test(metrics_have_the_same_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
