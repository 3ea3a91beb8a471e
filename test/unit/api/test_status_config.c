// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes of GET's parts that need no daemon: the configuration, containers, refusals. */
#include "unit/api/requests.h"
#include "unit/lib/buf_text.h"

#include "api/feature/answer.h"
#include "api/request/container_json.h"
#include "api/status/saved_spec.h"
#include "api/resource/sched_resource.h"
#include "api/status/status.h"
#include "api/status/status_runtime.h"

#define UNTOUCHED                                                                                  \
	"\"params\":{\"svg_period\":180,\"perf_sample_period\":10,\"multi_instance\":0,"           \
	"\"native_stack\":0,\"thread_frame\":1,\"frame_detail\":\"line\",\"java_source\":"         \
	"\"auto\",\"java_symbol_refresh_interval\":600,\"max_overhead\":3,\"icicle\":0,"           \
	"\"pyroscope_server\":\"\",\"pyroscope_api\":\"push\","                                    \
	"\"svg_dir\":\"/var/log/stackprobe/stacktrace\","                                          \
	"\"flame_dir\":\"/var/log/stackprobe/flamegraph\",\"aggregate_by_cpu\":0,"                 \
	"\"events\":{},\"event_time\":0,\"event_min_us\":0,\"trigger\":\"\",\"minblock\":50,"
#define UNTOUCHED_TOO                                                                              \
	"\"offcpu_state\":\"sd\",\"offcpu_split\":0,\"offcpu_depth\":256,"                         \
	"\"mem_fault_bytes\":65536,\"mem_sample_bytes\":524288,"                                   \
	"\"mem_realloc_age\":\"new\",\"io_time\":0,\"blkio_writeback\":1,\"net_wait\":0,"          \
	"\"llc_period\":100003}"
#define NO_CONTAINERS                                                                              \
	"\"pod_id\":[],\"container_id\":[],\"container_name\":[],\"cgroup\":[],\"pod\":[],"        \
	"\"image\":[]"

/* Begins an object, and compares it when it is whole. */
static struct json begin(struct buf *out)
{
	struct json json = {.out = out};

	json_object(&json, NULL);
	return json;
}

static void assert_whole(struct json *json, const char *expected)
{
	json_object_end(json);
	_cleanup_free_ char *text = take_text(json->out, NULL);
	assert_string_equal(text, expected);
}

static void assert_config(const char *body, const char *expected)
{
	_cleanup_outcome_ struct outcome outcome;
	_cleanup_buf_ struct buf out = BUF_INIT(10000);
	struct json json = begin(&out);

	request_text(&outcome, NULL, body);
	if (outcome.result)
		fail_msg("%s: %s", outcome.why.text, body);
	status_config(&json, &flamegraph_rules, &outcome.spec);
	assert_whole(&json, expected);
}

static void a_configuration_has_the_shape_of_a_put(void **state)
{
	(void)state;
	assert_config(
		"{\"cmd\":{\"probe\":[\"offcpu\",\"oncpu\"]},\"snoopers\":{\"proc_id\":"
		"[4194304,1],\"proc_name\":[{\"comm\":\"^a\"},{\"comm\":\"b\",\"cmdline\":"
		"\"c\",\"debugging_dir\":\"/d\",\"probe\":[\"oncpu\"]}],\"cgroup\":[\"/e\"],"
		"\"container_name\":[\"web\",\"/^db/\"],\"pod\":[{\"name\":\"p\",\"namespace\":"
		"\"n\"},{\"name\":\"q\"}]},\"state\":\"running\"}",
		"{\"cmd\":{\"probe\":[\"oncpu\",\"offcpu\"]}," UNTOUCHED
		"\"maxblock\":3600000000," UNTOUCHED_TOO
		",\"snoopers\":{\"proc_id\":[4194304,1],\"proc_name\":[{\"comm\":\"^a\","
		"\"cmdline\":\"\",\"debugging_dir\":\"\"},{\"comm\":\"b\",\"cmdline\":\"c\","
		"\"debugging_dir\":\"/d\",\"probe\":[\"oncpu\"]}],\"pod_id\":[],"
		"\"container_id\":[],\"container_name\":[\"web\",\"/^db/\"],\"cgroup\":[\"/e\"],"
		"\"pod\":[{\"name\":\"p\",\"namespace\":\"n\"},{\"name\":\"q\",\"namespace\":"
		"\"\"}],\"image\":[]},\"state\":\"running\"}");
}

static void texts_of_a_put_come_back_byte_for_byte(void **state)
{
	(void)state;
	assert_config("{\"snoopers\":{\"proc_name\":[{\"comm\":\"a\",\"cmdline\":"
		      "\"\\b\\f\\n\\r\\t\\u001f\\u007f\xc3\xa4\\\"\\\\\\/\"}]}}",
		      "{\"cmd\":{\"probe\":[]}," UNTOUCHED "\"maxblock\":3600000000," UNTOUCHED_TOO
		      ",\"snoopers\":{\"proc_id\":[],\"proc_name\":[{\"comm\":\"a\",\"cmdline\":"
		      "\"\\b\\f\\n\\r\\t\\u001f\x7f\xc3\xa4\\\"\\\\/"
		      "\",\"debugging_dir\":\"\"}]," NO_CONTAINERS "},\"state\":\"stopped\"}");
}

static void numbers_are_shown_as_they_always_were(void **state)
{
	static const struct {
		const char *put, *shown;
	} cases[] = {
		{"1", "1"},
		{"2147483648", "2147483648"},
		{"999999999999999", "999999999999999"},
		{"1000000000000000", "1e+15"},
		{"1234567890123450", "1.23456789012345e+15"},
		{"1234567890123456", "1234567890123456"},
		{"4503599627370497", "4503599627370497"},
		{"9007199254740991", "9.00719925474099e+15"},
		{"9007199254740992", "9.00719925474099e+15"},
		{"9007199254740994", "9007199254740994"},
		{"9223372036854775807", "9223372036854775807"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf body = BUF_INIT(4096), expected = BUF_INIT(4096);

		buf_printf(&body, "{\"snoopers\":{\"proc_id\":[1]},\"params\":{\"maxblock\":%s}}%c",
			   cases[i].put, 0);
		buf_printf(&expected,
			   "{\"cmd\":{\"probe\":[]}," UNTOUCHED "\"maxblock\":%s," UNTOUCHED_TOO
			   ",\"snoopers\":{\"proc_id\":[1],\"proc_name\":[]," NO_CONTAINERS
			   "},\"state\":\"stopped\"}%c",
			   cases[i].shown, 0);
		assert_config(body.data, expected.data);
	}
}

static void what_is_kept_has_the_start_times_too(void **state)
{
	_cleanup_outcome_ struct outcome outcome;
	_cleanup_buf_ struct buf out = BUF_INIT(10000);
	struct json json = begin(&out);
	static const uint64_t starts[] = {0, 123456789012};

	(void)state;
	request_text(&outcome, NULL, "{\"snoopers\":{\"proc_id\":[5,6]}}");
	snoopers_set_starts(outcome.spec.snoopers, starts, 2);
	saved_spec_write(&json, &sched_rules, NULL);
	saved_spec_write(&json, &flamegraph_rules, &outcome.spec);
	assert_whole(&json, "{\"flamegraph\":{\"cmd\":{\"probe\":[]}," UNTOUCHED
			    "\"maxblock\":3600000000," UNTOUCHED_TOO
			    ",\"snoopers\":{\"proc_id\":[5,6],\"proc_name\":[]," NO_CONTAINERS
			    "},\"state\":\"stopped\",\"proc_id_start\":[0,123456789012]}}");
}

static void a_process_has_its_runtime_and_its_container(void **state)
{
	static const struct container_place place = {CONTAINER_CRIO, .id = "0123",
						     .pod_uid = "3f2c"};
	static const struct target native = {0};
	_cleanup_container_ struct container *container = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT(10000);
	struct json json = begin(&out);

	(void)state;
	assert_int_equal(container_new(&container, &place, "a\"\n\x7f\xff", "p", "n", NULL), 0);
	status_runtime(&json, &native);
	status_container(&json, container);
	status_container(&json, NULL);
	assert_whole(&json, "{\"runtime\":\"native\",\"container\":{\"id\":\"0123\",\"name\":"
			    "\"a\\\"\\u000a\\u007f\xef\xbf\xbd\",\"pod\":\"p\",\"pod_id\":\"3f2c\","
			    "\"namespace\":\"n\",\"image\":\"\",\"runtime\":\"cri-o\"},"
			    "\"container\":null}");
}

static void a_refusal_quotes_what_it_refuses(void **state)
{
	struct answer answer = {.body = BUF_INIT(1000)};

	(void)state;
	buf_str(&answer.body, "half of an answer");
	answer.body.error = -ENOMEM;
	answer_failed(&answer, 400, "no \"a\"\n\x01\x7f\xc3\xa4");
	buf_char(&answer.body, '\0');
	assert_string_equal(answer.body.data,
			    "{ \"result\": \"failed\", \"message\":\"no \\\"a\\\"\\n\\u0001\x7f"
			    "\xc3\xa4\",\"detail\":\"no \\\"a\\\"\\n\\u0001\x7f\xc3\xa4\" }\n");
	assert_int_equal(answer.status, 400);
	buf_done(&answer.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_has_the_shape_of_a_put),
		cmocka_unit_test(texts_of_a_put_come_back_byte_for_byte),
		cmocka_unit_test(numbers_are_shown_as_they_always_were),
		cmocka_unit_test(what_is_kept_has_the_start_times_too),
		cmocka_unit_test(a_process_has_its_runtime_and_its_container),
		cmocka_unit_test(a_refusal_quotes_what_it_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
