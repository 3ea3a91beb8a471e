// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/api/requests.h"

#include "unit/lib/param_value.h"

#include "bpf/shared/probe.h"
#include "session/settings.h"

#define BODY(rest)  "{\"snoopers\":{\"proc_name\":[{\"comm\":\"x\"}]}" rest "}"
#define PARAMS(p)   BODY(",\"params\":{" p "}")
#define SNOOPERS(s) "{\"snoopers\":{" s "}}"
#define COMM(c)	    SNOOPERS("\"proc_name\":[{\"comm\":\"" c "\"}]")

/* Whether the program has the agent of JFR inside. */
static bool has_jfr;
bool __wrap_attach_has_jfr(void);

bool __wrap_attach_has_jfr(void)
{
	return has_jfr;
}

static void messages_are_those_of_the_contract(void **state)
{
	static const char *const cases[][2] = {
		{PARAMS("\"svg_period\":29"),
		 "params.svg_period invalid value 29, must be in [30, 600]"},
		{PARAMS("\"svg_period\":601"),
		 "params.svg_period invalid value 601, must be in [30, 600]"},
		{PARAMS("\"svg_period\":99999999999"),
		 "params.svg_period invalid value 99999999999, must be in [30, 600]"},
		{PARAMS("\"svg_period\":\"60\""), "params.svg_period invalid data type"},
		{PARAMS("\"multi_instance\":2"),
		 "params.multi_instance invalid value 2, must be in [0, 1]"},
		{PARAMS("\"frequency\":0"),
		 "params.frequency invalid value 0, must be in [1, 1000]"},
		{PARAMS("\"perf_sample_period\":20,\"frequency\":99"),
		 "params.frequency and params.perf_sample_period exclude each other"},
		{PARAMS("\"java_symbol_refresh_interval\":4"),
		 "params.java_symbol_refresh_interval invalid value 4, must be in [5, 3600]"},
		{PARAMS("\"java_source\":\"x\""),
		 "params.java_source invalid value x, must be one of auto, native, agent, jfr"},
		{PARAMS("\"frame_detail\":\"x\""),
		 "params.frame_detail invalid value x, must be one of line, name, signature"},
		{PARAMS("\"frame_detail\":1"), "params.frame_detail invalid data type"},
		{PARAMS("\"mem_fault_bytes\":-1"),
		 "params.mem_fault_bytes invalid value -1, must be in [0, 4294967296]"},
		{PARAMS("\"mem_sample_bytes\":4294967297"),
		 "params.mem_sample_bytes invalid value 4294967297, must be in [0, "
		 "4294967296]"},
		{PARAMS("\"minblock\":-1"),
		 "params.minblock invalid value -1, must be in [0, 4294967294]"},
		{PARAMS("\"minblock\":4294967295"),
		 "params.minblock invalid value 4294967295, must be in [0, 4294967294]"},
		{PARAMS("\"maxblock\":0"),
		 "params.maxblock invalid value 0, must be in [1, 9223372036854775807]"},
		{PARAMS("\"maxblock\":1e19"),
		 "params.maxblock invalid value 1e+19, must be in [1, 9223372036854775807]"},
		{PARAMS("\"offcpu_depth\":15"),
		 "params.offcpu_depth invalid value 15, must be in [16, 1000]"},
		{PARAMS("\"offcpu_split\":2"),
		 "params.offcpu_split invalid value 2, must be in [0, 1]"},
		{PARAMS("\"offcpu_state\":\"x\""),
		 "params.offcpu_state invalid value x, must be one of sd, d, all"},
		{PARAMS("\"offcpu_state\":\"\""),
		 "params.offcpu_state invalid value , must be one of sd, d, all"},
		{PARAMS("\"offcpu_state\":1"), "params.offcpu_state invalid data type"},
		{"{\"cmd\":{\"probe\":[\"cache\"]}}", "unsupported probe range: cache."},
		{"{\"cmd\":{\"probe\":[]}}", "invalid probe ranges: at least one must be set"},
		{"{\"cmd\":{\"probe\":[1]}}", "Invalid probe range: must be string."},
		{"{\"cmd\":{\"probe\":[\"oncpu\"]}}", "the snooper for flamegraph cannot be empty"},
		{"{\"snoopers\":{}}", "the snooper for flamegraph cannot be empty"},
		{"{}", "Bad request"},
		{"[]", "Bad request"},
		{"1", "Bad request"},
		{"null", "Bad request"},
		{"\"x\"", "Bad request"},
		{"", "invalid json format"},
		{"{", "invalid json format"},
		{"nonsense", "invalid json format"},
		{"{\"cmd\":[]}", "Bad request"},
		{"{\"params\":[]}", NULL},
		{"{\"snoopers\":[]}", "Bad request"},
		{"{\"cmd\":{\"probe\":{\"a\":1}}}", NULL},
		{BODY(",\"params\":[]"), "Bad request"},
		{BODY(",\"params\":null"), "Bad request"},
		{BODY(",\"state\":1"), "invalid state: must be string"},
		{BODY(",\"state\":\"x\""), "invalid state x: must be running or stopped"},
		{BODY(",\"state\":\"running\""), "invalid probe ranges: at least one must be set"},
		{BODY(",\"blacklist\":{}"), "blacklist is not supported: use snoopers"},
		{SNOOPERS("\"proc_id\":[-5000000000]"), NULL},
		{SNOOPERS("\"proc_id\":[0]"), NULL},
		{SNOOPERS("\"proc_id\":[1.5]"), NULL},
		{SNOOPERS("\"proc_id\":[1e999]"), NULL},
		{SNOOPERS("\"proc_id\":[4194305]"), NULL},
		{SNOOPERS("\"proc_id\":[\"1\"]"), NULL},
		{SNOOPERS("\"proc_id\":1"), NULL},
		{SNOOPERS("\"proc_id\":{\"a\":1}"), NULL},
		{SNOOPERS("\"proc_name\":{\"comm\":\"x\"}"), NULL},
		{SNOOPERS("\"proc_name\":[1]"), NULL},
		{SNOOPERS("\"proc_name\":[{}]"), NULL},
		{SNOOPERS("\"proc_name\":[{\"comm\":\"x\",\"cmdline\":1}]"), NULL},
		{SNOOPERS("\"proc_name\":[{\"comm\":\"x\",\"debugging_dir\":\"a\"}]"), NULL},
		{SNOOPERS("\"proc_name\":[{\"comm\":\"x\",\"probe\":[]}]"), NULL},
		{SNOOPERS("\"proc_name\":[{\"comm\":\"x\",\"probe\":\"oncpu\"}]"), NULL},
		{SNOOPERS("\"pod_id\":[\"a\"],\"proc_id\":[1]"),
		 "Error occurs when parsing snooper pod_id: must be a pod's UID (with or without "
		 "hyphens), or the first 12 or more digits of podman's pod id, hexadecimal"},
		{SNOOPERS("\"pod_id\":[1]"), NULL},
		{SNOOPERS("\"pod_id\":1"),
		 "Error occurs when parsing snooper pod_id: must be an array"},
		{SNOOPERS("\"container_id\":[\"0123456789a\"]"),
		 "Error occurs when parsing snooper container_id: must be the first 12 to 64 "
		 "digits "
		 "of a container's id, hexadecimal"},
		{SNOOPERS("\"container_id\":\"0123456789ab\""), NULL},
		{SNOOPERS("\"container_name\":[\"/(/\"]"), NULL},
		{SNOOPERS("\"container_name\":[null]"), NULL},
		{SNOOPERS("\"cgroup\":[\"a/b\"]"), NULL},
		{SNOOPERS("\"pod\":[\"a\"]"), NULL},
		{SNOOPERS("\"pod\":{\"namespace\":\"a\"}"), NULL},
		{SNOOPERS("\"pod\":{\"name\":\"a\",\"namespace\":1}"), NULL},
		{SNOOPERS("\"image\":[\"\"]"), NULL},
		{COMM("("), NULL},
		{COMM("x{255}{255}{255}"), NULL},
		{COMM("(((x{1,100}){1,100}){1,100})"), NULL},
		{PARAMS("\"svg_dir\":\"relative\""),
		 "params.svg_dir must be an absolute path without \"..\""},
		{PARAMS("\"svg_dir\":\"/proc/self/../1\""),
		 "params.svg_dir must be an absolute path without \"..\""},
		{PARAMS("\"output_dir\":\"/etc\""),
		 "params.output_dir must be below one of output_roots: /proc/self"},
		{PARAMS("\"flame_dir\":\"/proc/self/a\\nb\""),
		 "params.flame_dir contains unsafe characters"},
		{PARAMS("\"flame_dir\":7"), "params.flame_dir invalid data type"},
		{PARAMS("\"svg_dir\":\"\""),
		 "params.svg_dir must be an absolute path without \"..\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_refused(NULL, cases[i][0], cases[i][1]);
}

static void waits_have_limits_up_to_the_largest_number(void **state)
{
	static const struct {
		const char *body;
		int64_t us;
	} cases[] = {
		{PARAMS("\"maxblock\":1"), 1},
		{PARAMS("\"maxblock\":9007199254740992"), INT64_C(1) << 53},
		{PARAMS("\"maxblock\":9223372036854775807"), INT64_MAX},
		{PARAMS("\"maxblock\":9.2233720368547758e18"), INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_outcome_ struct outcome outcome;

		request_text(&outcome, NULL, cases[i].body);
		assert_int_equal(outcome.result, 0);
		assert_int_equal(*param_value(&outcome.spec.params, "maxblock"), cases[i].us);
	}
}

static void the_states_of_waits_are_chosen_by_name(void **state)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {{"sd", "sd"}, {"D", "d"}, {"all", "all"}};
	struct params wanted;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_outcome_ struct outcome outcome;
		char body[256];

		snprintf(body, sizeof(body), PARAMS("\"offcpu_state\":\"%s\""), cases[i].name);
		request_text(&outcome, NULL, body);
		assert_int_equal(outcome.result, 0);
		params_default(flamegraph_params(), &wanted);
		param_choose(&wanted, "offcpu_state", cases[i].shown);
		assert_true(params_equal(flamegraph_params(), PARAM_OF_FILES, &wanted,
					 &outcome.spec.params));
	}
}

static void detail_says_what_is_to_be_seen_of_stacks(void **state)
{
	static const struct {
		const char *params;
		bool thread_frame, native_stack;
		enum frame_detail frames;
	} cases[] = {
		{"{}", true, false, FRAME_DETAIL_LINE},
		{"{\"thread_frame\":0}", false, false, FRAME_DETAIL_LINE},
		{"{\"native_stack\":1}", true, true, FRAME_DETAIL_LINE},
		{"{\"frame_detail\":\"NAME\"}", true, false, FRAME_DETAIL_NAME},
		{"{\"frame_detail\":\"line\"}", true, false, FRAME_DETAIL_LINE},
		{"{\"frame_detail\":\"signature\"}", true, false, FRAME_DETAIL_SIGNATURE},
	};
	struct stack_detail detail;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_outcome_ struct outcome outcome;
		char body[256];

		snprintf(body, sizeof(body), BODY(",\"params\":%s"), cases[i].params);
		request_text(&outcome, NULL, body);
		assert_int_equal(outcome.result, 0);
		params_detail(&outcome.spec.params, &detail);
		assert_int_equal(detail.thread_frame, cases[i].thread_frame);
		assert_int_equal(detail.native_stack, cases[i].native_stack);
		assert_int_equal(detail.frames, cases[i].frames);
	}
}

static void the_first_put_stands_on_the_defaults(void **state)
{
	_cleanup_outcome_ struct outcome outcome;
	const struct name_snooper *names;

	(void)state;
	request_text(&outcome, NULL,
		     "{\"cmd\":{\"probe\":[\"OnCPU\",\"mem\"]},\"snoopers\":{"
		     "\"proc_name\":[{\"comm\":\"^redis\",\"cmdline\":\"c\","
		     "\"debugging_dir\":\"/d\",\"probe\":[\"oncpu\"]}]},"
		     "\"state\":\"RUNNING\",\"unknown\":[1]}");
	assert_int_equal(outcome.result, 0);
	const struct params *params = &outcome.spec.params;
	assert_int_equal(outcome.spec.probes, 1 << PROBE_ONCPU | 1 << PROBE_MEM);
	assert_true(outcome.spec.running);
	assert_int_equal(params->svg_period_s, 180);
	assert_int_equal(params->perf_sample_period_ms, 10);
	assert_int_equal(params->frequency_hz, 0);
	assert_int_equal(params->thread_frame, 1);
	assert_int_equal(params->frame_detail, FRAME_DETAIL_LINE);
	assert_int_equal(params->icicle, 0);
	assert_string_equal(params->svg_dir, "/var/log/stackprobe/stacktrace");
	assert_int_equal(snoopers_names(outcome.spec.snoopers, &names), 1);
	assert_string_equal(names[0].comm, "^redis");
	assert_string_equal(names[0].cmdline, "c");
	assert_string_equal(names[0].debugging_dir, "/d");
	assert_int_equal(names[0].probes, 1 << PROBE_ONCPU);
}

static void later_puts_replace_cmd_and_snoopers_and_merge_params(void **state)
{
	_cleanup_outcome_ struct outcome first, second, third;
	const struct id_snooper *ids;
	const struct name_snooper *names;

	(void)state;
	request_text(&first, NULL,
		     "{\"cmd\":{\"probe\":[\"oncpu\"]},\"state\":\"running\","
		     "\"snoopers\":{\"proc_id\":[1,2,1]},\"params\":{\"svg_period\":60,"
		     "\"frequency\":99,\"svg_dir\":\"/proc/self/fdinfo\"}}");
	assert_int_equal(first.result, 0);
	request_text(&second, &first.spec, "{\"params\":{\"multi_instance\":1}}");
	assert_int_equal(second.result, 0);
	assert_int_equal(second.spec.params.svg_period_s, 60);
	assert_int_equal(second.spec.params.frequency_hz, 99);
	assert_int_equal(second.spec.params.multi_instance, 1);
	assert_string_equal(second.spec.params.svg_dir, "/proc/self/fdinfo");
	assert_true(second.spec.running);
	assert_int_equal(second.spec.probes, 1 << PROBE_ONCPU);
	assert_true(snoopers_equal(first.spec.snoopers, second.spec.snoopers));
	assert_int_equal(first.spec.params.multi_instance, 0);
	request_text(&third, &second.spec,
		     "{\"snoopers\":{\"proc_name\":[{\"comm\":\"a\"}]},\"state\":\"stopped\","
		     "\"cmd\":{\"probe\":[\"mem\"]},\"params\":{\"perf_sample_period\":20}}");
	assert_int_equal(third.result, 0);
	assert_int_equal(snoopers_ids(third.spec.snoopers, &ids), 0);
	assert_int_equal(snoopers_names(third.spec.snoopers, &names), 1);
	assert_false(third.spec.running);
	assert_int_equal(third.spec.probes, 1 << PROBE_MEM);
	assert_int_equal(third.spec.params.frequency_hz, 0); /* the one set last counts */
	assert_int_equal(third.spec.params.perf_sample_period_ms, 20);
}

static void a_trigger_is_read_and_what_is_wrong_with_one_is_said(void **state)
{
	_cleanup_outcome_ struct outcome right, wrong, none;

	(void)state;
	request_text(&right, NULL, PARAMS("\"trigger\":\"cpu some 300000 2000000 /a b\""));
	assert_int_equal(right.result, 0);
	assert_string_equal(right.spec.params.trigger, "cpu some 300000 2000000 /a b");
	assert_int_equal(right.notes.count, 0);
	request_text(&wrong, &right.spec, PARAMS("\"trigger\":\"cpu some 300000 1\""));
	assert_int_equal(wrong.result, -EINVAL);
	assert_string_equal(wrong.why.text,
			    "params.trigger invalid value: word 4, 1, must be the window in "
			    "microseconds, from 500000 to 10000000");
	assert_string_equal(wrong.notes.detail,
			    "params.trigger cpu some 300000 1: word 4, 1, must be the window in "
			    "microseconds, from 500000 to 10000000. It is RESOURCE some|full "
			    "STALL_US WINDOW_US [CGROUP], such as cpu some 300000 2000000");
	assert_refused(NULL, PARAMS("\"trigger\":7"), "params.trigger invalid data type");
	request_text(&none, &right.spec, PARAMS("\"trigger\":\"\""));
	assert_int_equal(none.result, 0);
	assert_string_equal(none.spec.params.trigger, "");
}

static void a_trigger_that_can_not_fire_is_warned_of(void **state)
{
	_cleanup_outcome_ struct outcome outcome;

	(void)state;
	request_text(&outcome, NULL, PARAMS("\"trigger\":\"cpu full 1 500000\""));
	assert_int_equal(outcome.result, 0);
	assert_int_equal(outcome.notes.count, 1);
	assert_string_equal(outcome.notes.warnings[0],
			    "params.trigger never fires: \"full\" of the whole host's cpu is "
			    "always 0; name a cgroup, or say some");
}

static void on_an_error_nothing_has_changed(void **state)
{
	_cleanup_outcome_ struct outcome before, kept;

	(void)state;
	request_text(&before, NULL, BODY(""));
	assert_int_equal(before.result, 0);
	struct spec copy = before.spec;
	assert_refused(
		&before.spec,
		"{\"cmd\":{\"probe\":[\"oncpu\"]},\"snoopers\":{\"proc_id\":[1]},"
		"\"params\":{\"svg_period\":60,\"multi_instance\":1},\"state\":\"nonsense\"}",
		NULL);
	assert_memory_equal(&before.spec, &copy, sizeof(copy));
	request_text(&kept, &before.spec, "{\"state\":\"stopped\"}");
	assert_true(snoopers_equal(kept.spec.snoopers, before.spec.snoopers));
}

static void ranges_hold_at_their_ends(void **state)
{
	(void)state;
	assert_accepted(NULL, PARAMS("\"svg_period\":30"));
	assert_accepted(NULL, PARAMS("\"svg_period\":600"));
	assert_accepted(NULL, PARAMS("\"svg_period\":0"));
	assert_accepted(NULL, PARAMS("\"perf_sample_period\":10"));
	assert_accepted(NULL, PARAMS("\"perf_sample_period\":1000"));
	assert_refused(NULL, PARAMS("\"perf_sample_period\":9"), NULL);
	assert_refused(NULL, PARAMS("\"perf_sample_period\":1001"), NULL);
	assert_accepted(NULL, PARAMS("\"frequency\":1"));
	assert_accepted(NULL, PARAMS("\"frequency\":1000"));
	assert_refused(NULL, PARAMS("\"frequency\":1001"), NULL);
	assert_refused(NULL, PARAMS("\"svg_period\":-1"), NULL);
	assert_refused(NULL, PARAMS("\"svg_period\":1e400"), NULL);
	assert_refused(NULL, PARAMS("\"svg_period\":-1e400"), NULL);
	assert_accepted(NULL, SNOOPERS("\"proc_id\":[1,4194304]"));
	assert_accepted(NULL, SNOOPERS("\"proc_id\":[1],\"pod_id\":[],\"container_id\":[]"));
	assert_accepted(NULL, PARAMS("\"pyroscope_server\":\"\",\"native_stack\":1"));
}

static void a_key_given_twice_counts_by_its_last_value(void **state)
{
	_cleanup_outcome_ struct outcome outcome;

	(void)state;
	request_text(&outcome, NULL, PARAMS("\"svg_period\":7,\"svg_period\":60"));
	assert_int_equal(outcome.result, 0);
	assert_int_equal(outcome.spec.params.svg_period_s, 60);
}

static void svg_dir_and_output_dir_are_one(void **state)
{
	_cleanup_outcome_ struct outcome outcome;

	(void)state;
	request_text(&outcome, NULL, PARAMS("\"output_dir\":\"/proc/self/task\""));
	assert_int_equal(outcome.result, 0);
	assert_string_equal(outcome.spec.params.svg_dir, "/proc/self/task");
}

/* gala-gopher saves one that was never set so. */
static void an_empty_output_dir_says_nothing(void **state)
{
	static const char *const bodies[] = {
		PARAMS("\"output_dir\":\"\",\"svg_dir\":\"/proc/self/task\""),
		PARAMS("\"svg_dir\":\"/proc/self/task\",\"output_dir\":\"\""),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		_cleanup_outcome_ struct outcome outcome;

		request_text(&outcome, NULL, bodies[i]);
		assert_int_equal(outcome.result, 0);
		assert_string_equal(outcome.spec.params.svg_dir, "/proc/self/task");
	}
}

/* A list of `count` times `item`. */
static char *body_with(const char *before, const char *item, size_t count, const char *after)
{
	size_t each = strlen(item), at = strlen(before);
	char *body = malloc(at + count * (each + 1) + strlen(after) + 1);

	assert_non_null(body);
	memcpy(body, before, at);
	for (size_t i = 0; i < count; i++) {
		if (i)
			body[at++] = ',';
		memcpy(body + at, item, each);
		at += each;
	}
	strcpy(body + at, after);
	return body;
}

static void lists_are_bounded(void **state)
{
	(void)state;
	_cleanup_free_ char *names =
		body_with("{\"snoopers\":{\"proc_name\":[", "{\"comm\":\"x\"}", 100, "]}}");
	_cleanup_free_ char *more =
		body_with("{\"snoopers\":{\"proc_name\":[", "{\"comm\":\"x\"}", 101, "]}}");
	_cleanup_free_ char *pids = body_with("{\"snoopers\":{\"proc_id\":[", "9", 16385, "]}}");
	assert_accepted(NULL, names);
	assert_refused(NULL, more,
		       "Error occurs when parsing snooper proc_name: more than 100 "
		       "entries");
	assert_refused(NULL, pids,
		       "Error occurs when parsing snooper proc_id: more than 16384 "
		       "processes");
}

static void texts_are_bounded(void **state)
{
	static char text[5001];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	_cleanup_free_ char *comm =
		body_with("{\"snoopers\":{\"proc_name\":[{\"comm\":\"", text, 1, "\"}]}}");
	_cleanup_free_ char *cmdline = body_with(
		"{\"snoopers\":{\"proc_name\":[{\"comm\":\"\",\"cmdline\":\"", text, 1, "\"}]}}");
	_cleanup_free_ char *server =
		body_with("{\"snoopers\":{\"proc_id\":[1]},\"params\":{\"pyroscope_server\":\"",
			  text, 1, "\"}}");
	assert_refused(NULL, comm,
		       "Error occurs when parsing snooper proc_name: comm has more "
		       "than 255 bytes");
	assert_refused(NULL, cmdline, NULL);
	assert_refused(NULL, server,
		       "params.pyroscope_server value is too long, len must be less "
		       "than 256");
	text[255] = '\0';
	_cleanup_free_ char *longest =
		body_with("{\"snoopers\":{\"proc_name\":[{\"comm\":\"", text, 1, "\"}]}}");
	assert_accepted(NULL, longest);
}

static void messages_that_quote_long_names_stay_utf8(void **state)
{
	(void)state;
	for (size_t shift = 0; shift < 4; shift++) {
		char name[400];
		size_t len = shift;

		memset(name, 'a', shift);
		while (len < 360) {
			memcpy(name + len, "\xf0\x9f\x94\xa5", 4);
			len += 4;
		}
		name[len] = '\0';
		_cleanup_free_ char *probe = body_with("{\"cmd\":{\"probe\":[\"", name, 1, "\"]}}");
		_cleanup_free_ char *running =
			body_with("{\"snoopers\":{\"proc_id\":[1]},\"state\":\"", name, 1, "\"}");
		assert_refused(NULL, probe, NULL);
		assert_refused(NULL, running, NULL);
	}
}

static void jfr_has_its_condition(void **state)
{
	static const char condition[] =
		"params.java_source jfr needs multi_instance 1 and native_stack 0";
	static const char jfr[] = PARAMS("\"java_source\":\"JFR\",\"multi_instance\":1");
	_cleanup_outcome_ struct outcome outcome;

	(void)state;
	has_jfr = true;
	assert_refused(NULL, PARAMS("\"java_source\":\"jfr\""), condition);
	request_text(&outcome, NULL, jfr);
	assert_int_equal(outcome.result, 0);
	assert_int_equal(outcome.spec.params.java_source, JAVA_JFR);
	/* As they would all be. */
	assert_refused(&outcome.spec, "{\"params\":{\"native_stack\":1}}", condition);
	assert_refused(&outcome.spec, "{\"params\":{\"multi_instance\":0}}", condition);
	assert_accepted(&outcome.spec,
			"{\"params\":{\"native_stack\":1,\"java_source\":\"agent\"}}");
	has_jfr = false;
	assert_refused(NULL, jfr,
		       "params.java_source jfr is not available: this program was built without a "
		       "JDK");
	assert_accepted(NULL, PARAMS("\"java_source\":\"auto\",\"multi_instance\":1"));
}

/* What lies there may hang: that is looked at elsewhere, off the loop. */
static void folders_are_told_and_not_looked_at(void **state)
{
	static char body[] = PARAMS("\"svg_dir\":\"/proc/self/cwd\",\"svg_period\":60,"
				    "\"flame_dir\":\"/proc/self/none\"");
	struct bounds bounds = {{(const char *const[]){REQUEST_ROOT}, 1}, NULL, false};
	struct request_folders folders = {0};
	struct spec spec;
	char data[sizeof(body)];
	struct why why;

	(void)state;
	memcpy(data, body, sizeof(body));
	assert_int_equal(request_parse(data, sizeof(body) - 1, &flamegraph_rules, NULL, &bounds,
				       &spec, &folders, NULL, &why),
			 0);
	assert_int_equal(folders.count, 2);
	assert_string_equal(folders.params[0]->name, "svg_dir");
	assert_string_equal(param_text(folders.params[1], &spec.params), "/proc/self/none");
	spec_done(&spec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folders_are_told_and_not_looked_at),
		cmocka_unit_test(messages_are_those_of_the_contract),
		cmocka_unit_test(waits_have_limits_up_to_the_largest_number),
		cmocka_unit_test(the_states_of_waits_are_chosen_by_name),
		cmocka_unit_test(detail_says_what_is_to_be_seen_of_stacks),
		cmocka_unit_test(jfr_has_its_condition),
		cmocka_unit_test(the_first_put_stands_on_the_defaults),
		cmocka_unit_test(later_puts_replace_cmd_and_snoopers_and_merge_params),
		cmocka_unit_test(a_trigger_is_read_and_what_is_wrong_with_one_is_said),
		cmocka_unit_test(a_trigger_that_can_not_fire_is_warned_of),
		cmocka_unit_test(on_an_error_nothing_has_changed),
		cmocka_unit_test(ranges_hold_at_their_ends),
		cmocka_unit_test(a_key_given_twice_counts_by_its_last_value),
		cmocka_unit_test(svg_dir_and_output_dir_are_one),
		cmocka_unit_test(an_empty_output_dir_says_nothing),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(messages_that_quote_long_names_stay_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
