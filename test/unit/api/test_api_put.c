// SPDX-License-Identifier: GPL-2.0-or-later
/* PUT of /flamegraph: what the kernel's side is told, and what the answers say. */
#include "unit/lib/scripted_api.h"

static void put(struct scripted_api *api, const char *body)
{
	api_put(api, "/flamegraph", body);
}

static const struct reply *get(struct scripted_api *api)
{
	return api_get(api, "/flamegraph");
}

static void before_the_first_put_there_is_no_configuration(void **state)
{
	struct scripted_api *api = *state;
	const struct reply *reply = get(api);

	assert_int_equal(reply->status, 200);
	assert_string_equal(reply->body, "{}\n");
	assert_false(folder_has(&api->folder, "state.json"));
}

static void a_put_is_answered_when_its_process_is_sampled(void **state)
{
	struct scripted_api *api = *state;

	uint64_t began_ns = loop_now_ns();
	put(api, api_body(api, "\"oncpu\"", ""));
	/* Or after a second, as it may happen on a busy machine. */
	assert_true(api_is_sampled(api) || loop_now_ns() > began_ns + NS_PER_S);
	scripted_core_until(&api->core, api_is_sampled, api);
	assert_int_equal(scripted_probes(api->process.pid), 1u << PROBE_ONCPU);
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS);
	assert_int_equal(scripted->budget_percent, 3);
	assert_false(scripted->offcpu || scripted->faults || scripted->calls);
	const struct reply *reply = get(api);
	assert_json_at(reply->body, "state", "\"running\"");
	assert_json_at(reply->body, "status.probes.oncpu.state", "\"running\"");
	assert_json_at(reply->body, "status.processes.0.comm", "\"worker\"");
}

static void each_probe_is_told_its_params(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\",\"offcpu\",\"mem\",\"mem_glibc\"",
		   ",\"params\":{\"frequency\":100,\"minblock\":7,\"maxblock\":9,"
		   "\"offcpu_state\":\"d\",\"offcpu_split\":1,\"offcpu_depth\":16,"
		   "\"aggregate_by_cpu\":1,\"max_overhead\":50,"
		   "\"mem_fault_bytes\":4096,\"mem_sample_bytes\":8192,"
		   "\"mem_realloc_age\":\"first\"}");
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS);
	assert_int_equal(scripted->budget_percent, 50);
	assert_true(scripted->offcpu && scripted->faults && scripted->calls);
	assert_int_equal(scripted->offcpu_settings.minblock_ns, 7000);
	assert_int_equal(scripted->offcpu_settings.maxblock_ns, 9000);
	assert_int_equal(scripted->offcpu_settings.states, 1u << WAIT_DISK);
	assert_int_equal(scripted->offcpu_settings.depth, 16);
	assert_true(scripted->offcpu_settings.split);
	assert_int_equal(scripted->fault_bytes, 4096);
	assert_int_equal(scripted->sample_bytes, 8192);
	assert_true(scripted->keeps_age);
	assert_true(scripted->by_cpu != 0);
}

static void a_put_is_read_on_top_of_the_one_before(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", ",\"params\":{\"icicle\":1}");
	put(api, "json={\"params\":{\"perf_sample_period\":20}}");
	const struct reply *reply = get(api);
	assert_json_at(reply->body, "params.icicle", "1");
	assert_json_at(reply->body, "params.perf_sample_period", "20");
	assert_json_at(reply->body, "cmd.probe", "[\"oncpu\"]");
	assert_json_at(reply->body, "state", "\"running\"");
	scripted_core_drain(&api->core);
	assert_int_equal(scripted->period_ns, 20 * NS_PER_MS);
	assert_int_equal(scripted->starts, 1);
}

static bool is_stopped(void *arg)
{
	(void)arg;
	return !scripted->started;
}

static void stopping_unloads_all_and_keeps_the_configuration(void **state)
{
	struct scripted_api *api = *state;

	api_choose(api, "\"oncpu\"", "");
	put(api, "{\"state\":\"stopped\"}");
	scripted_core_until(&api->core, is_stopped, NULL);
	const struct reply *reply = get(api);
	assert_json_at(reply->body, "state", "\"stopped\"");
	assert_json_at(reply->body, "cmd.probe", "[\"oncpu\"]");
	assert_json_at(reply->body, "status.probes.oncpu.state", "\"stopped\"");
	put(api, "{\"state\":\"running\"}");
	scripted_core_until(&api->core, api_is_sampled, api);
	assert_true(scripted->started);
	assert_int_equal(scripted_probes(api->process.pid), 1u << PROBE_ONCPU);
}

static void a_body_that_is_refused_changes_nothing(void **state)
{
	struct scripted_api *api = *state;
	static const char *const bodies[] = {
		"{\"cmd\":{\"probe\":[\"nothing\"]}}",
		"{\"params\":{\"svg_period\":1}}",
		"{",
		"",
	};

	api_choose(api, "\"oncpu\"", "");
	_cleanup_free_ char *before = json_at(get(api)->body, "params");
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		const struct reply *reply = api_ask(api, "PUT", "/flamegraph", bodies[i]);

		assert_int_equal(reply->status, 400);
		assert_json_at(reply->body, "result", "\"failed\"");
	}
	assert_json_at(get(api)->body, "params", before);
	assert_json_at(get(api)->body, "cmd.probe", "[\"oncpu\"]");
	assert_true(scripted->started);
}

static void what_no_probe_can_do_is_a_503_with_the_reason(void **state)
{
	struct scripted_api *api = *state;

	scripted_fail(SCRIPTED_SAMPLE, -EPERM);
	assert_failed(api_ask(api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", "")), 503,
		      "scripted error -1");
	assert_string_equal(get(api)->body, "{}\n");
	assert_false(folder_has(&api->folder, "state.json"));
	assert_false(scripted->started);
	scripted_fail(SCRIPTED_SAMPLE, 0);
	scripted_fail(SCRIPTED_START, -EACCES);
	assert_failed(api_ask(api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", "")), 503,
		      "scripted error -13");
	scripted_fail(SCRIPTED_START, 0);
	put(api, api->body);
}

static void a_probe_that_cannot_run_beside_one_that_can_is_unsupported(void **state)
{
	struct scripted_api *api = *state;

	scripted_fail(SCRIPTED_OFFCPU, -EPERM);
	api_choose(api, "\"oncpu\",\"offcpu\"", "");
	const struct reply *reply = get(api);
	assert_json_at(reply->body, "status.probes.oncpu.state", "\"running\"");
	assert_json_at(reply->body, "status.probes.offcpu.state", "\"unsupported\"");
	assert_json_at(reply->body, "status.probes.offcpu.reason", "\"scripted error -1\"");
	assert_false(scripted->offcpu);
}

static void jfr_is_refused_where_it_does_not_fit(void **state)
{
	struct scripted_api *api = *state;
	const struct reply *reply =
		api_ask(api, "PUT", "/flamegraph",
			api_body(api, "\"oncpu\"", ",\"params\":{\"java_source\":\"jfr\"}"));

	assert_int_equal(reply->status, 400);
	assert_has(reply->body, "params.java_source jfr ");
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(before_the_first_put_there_is_no_configuration),
		WORKER(a_put_is_answered_when_its_process_is_sampled),
		WORKER(each_probe_is_told_its_params),
		WORKER(a_put_is_read_on_top_of_the_one_before),
		WORKER(stopping_unloads_all_and_keeps_the_configuration),
		WORKER(a_body_that_is_refused_changes_nothing),
		WORKER(what_no_probe_can_do_is_a_503_with_the_reason),
		WORKER(a_probe_that_cannot_run_beside_one_that_can_is_unsupported),
		WORKER(jfr_is_refused_where_it_does_not_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
