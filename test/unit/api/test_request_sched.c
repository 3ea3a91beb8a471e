// SPDX-License-Identifier: GPL-2.0-or-later
/* Bodies of PUT /sched: what is its own beside /flamegraph's. */
#include "unit/lib/unit.h"

#include "api/resource/sched_resource.h"
#include "bpf/shared/scheduler.h"

struct parsed {
	int result;
	struct spec spec;
	struct why why;
};

static void parsed_done(struct parsed *parsed)
{
	if (parsed->result == 0)
		spec_done(&parsed->spec);
}
#define _cleanup_parsed_ _cleanup_(parsed_done)

static void parse(struct parsed *parsed, const struct spec *before, const char *body)
{
	struct bounds bounds = {{(const char *const[]){"/proc/self"}, 1}, NULL, false};
	size_t bytes = strlen(body);
	_cleanup_free_ char *data = malloc(bytes + 1);

	assert_non_null(data);
	memcpy(data, body, bytes);
	parsed->result = request_parse(data, bytes, &sched_rules, before, &bounds, &parsed->spec,
				       NULL, NULL, &parsed->why);
}

static void assert_says(const char *body, const char *message)
{
	_cleanup_parsed_ struct parsed parsed;

	parse(&parsed, NULL, body);
	if (parsed.result == 0)
		fail_msg("accepted: %s", body);
	assert_string_equal(parsed.why.text, message);
}

static void without_snoopers_it_is_accepted(void **state)
{
	_cleanup_parsed_ struct parsed parsed, empty;

	(void)state;
	parse(&parsed, NULL,
	      "{\"cmd\":{\"probe\":[\"RUNQLAT\",\"runqlen\"]},\"state\":\"running\"}");
	assert_int_equal(parsed.result, 0);
	assert_int_equal(parsed.spec.probes, 1u << SCHED_RUNQLAT | 1u << SCHED_RUNQLEN);
	assert_true(parsed.spec.running && snoopers_empty(parsed.spec.snoopers));
	const struct sched_params *params = &parsed.spec.params.sched;
	assert_int_equal(params->min_us, 10000);
	assert_int_equal(params->latency_thr_ms, SCHED_THR_UNSET);
	assert_int_equal(params->group_by, GROUP_NONE);
	assert_int_equal(params->report_period_s, 60);
	parse(&empty, NULL, "{\"cmd\":{\"probe\":[\"runqlat\"]},\"snoopers\":{}}");
	assert_int_equal(empty.result, 0);
}

static void the_threshold_that_was_set_last_counts(void **state)
{
	_cleanup_parsed_ struct parsed first, second, third;

	(void)state;
	parse(&first, NULL, "{\"params\":{\"latency_thr\":3}}");
	assert_int_equal(first.result, 0);
	assert_int_equal(first.spec.params.sched.latency_thr_ms, 3);
	parse(&second, &first.spec, "{\"params\":{\"min_us\":0}}");
	assert_int_equal(second.spec.params.sched.latency_thr_ms, SCHED_THR_UNSET);
	assert_int_equal(second.spec.params.sched.min_us, 0);
	parse(&third, &second.spec, "{\"params\":{\"latency_thr\":0}}"); /* no default: each wait */
	assert_int_equal(third.spec.params.sched.latency_thr_ms, 0);
}

static void each_group_has_its_name(void **state)
{
	static const char *const names[] = {"none", "pid", "tid", "pidns", "cgroup", "cpu"};

	(void)state;
	for (int i = 0; i < 6; i++) {
		_cleanup_parsed_ struct parsed parsed;
		char body[64];

		snprintf(body, sizeof(body), "{\"params\":{\"group_by\":\"%s\"}}", names[i]);
		parse(&parsed, NULL, body);
		assert_int_equal(parsed.result, 0);
		assert_int_equal(parsed.spec.params.sched.group_by, i);
	}
}

static void messages_say_what_is_wrong(void **state)
{
	static const char *const cases[][2] = {
		{"{\"params\":{\"min_us\":1,\"latency_thr\":1}}",
		 "params.latency_thr and params.min_us exclude each other"},
		{"{\"params\":{\"min_us\":-1}}",
		 "params.min_us invalid value -1, must be in [0, 4294967295]"},
		{"{\"params\":{\"min_us\":4294967296}}",
		 "params.min_us invalid value 4294967296, must be in [0, 4294967295]"},
		{"{\"params\":{\"latency_thr\":-1}}",
		 "params.latency_thr invalid value -1, must be in [0, 4294967]"},
		{"{\"params\":{\"min_us\":\"1\"}}", "params.min_us invalid data type"},
		{"{\"params\":{\"group_by\":\"uid\"}}",
		 "params.group_by invalid value uid, must be one of none, pid, tid, pidns, cgroup, "
		 "cpu"},
		{"{\"params\":{\"group_by\":1}}", "params.group_by invalid data type"},
		{"{\"params\":{\"report_period\":4}}",
		 "params.report_period invalid value 4, must be in [5, 600]"},
		{"{\"params\":{\"report_period\":601}}",
		 "params.report_period invalid value 601, must be in [5, 600]"},
		{"{\"cmd\":{\"probe\":[\"oncpu\"]}}", "unsupported probe range: oncpu."},
		{"{\"cmd\":{\"probe\":[]}}", "invalid probe ranges: at least one must be set"},
		{"{\"state\":\"running\"}", "invalid probe ranges: at least one must be set"},
		{"{\"snoopers\":{\"proc_name\":[{\"comm\":\"x\",\"probe\":[\"runqlat\"]}]}}",
		 "Error occurs when parsing snooper proc_name: all probes of this feature have the "
		 "same processes, an entry can't have probes of its own"},
		{"{\"snoopers\":{\"container_name\":[\"a/b\"]}}",
		 "Error occurs when parsing snooper container_name: must be a container's name "
		 "without '/', or a valid regular expression, no too big a one, between slashes"},
		{"{}", "Bad request"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_says(cases[i][0], cases[i][1]);
}

static void params_of_another_feature_are_ignored_as_unknown_ones_are(void **state)
{
	_cleanup_parsed_ struct parsed parsed;

	(void)state;
	parse(&parsed, NULL, "{\"params\":{\"svg_period\":1,\"nothing\":2}}");
	assert_int_equal(parsed.result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_snoopers_it_is_accepted),
		cmocka_unit_test(the_threshold_that_was_set_last_counts),
		cmocka_unit_test(each_group_has_its_name),
		cmocka_unit_test(messages_say_what_is_wrong),
		cmocka_unit_test(params_of_another_feature_are_ignored_as_unknown_ones_are),
	};

	return cmocka_run_group_tests_name("request_sched", tests, NULL, NULL);
}
