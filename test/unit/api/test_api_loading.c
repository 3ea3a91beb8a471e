// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests that wait until BPF objects are loaded, and those that are answered meanwhile. */
#include "unit/lib/scripted_api.h"

static int begin(void **state)
{
	scripted_loads_wait = true;
	return api_begin_worker(state);
}

static int end(void **state)
{
	scripted_loads_wait = false;
	return api_end(state);
}

static bool is_loading(void *arg)
{
	const unsigned *count = arg;

	return scripted_loading() == *count;
}

static void wait_for_loads(struct scripted_api *api, unsigned count)
{
	scripted_core_until(&api->core, is_loading, &count);
}

static void others_are_answered_while_a_put_loads(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking put;

	api_begin_ask(&put, api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", ""));
	wait_for_loads(api, 1);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	assert_int_equal(scripted->starts, 0);
	assert_false(http_is_answered(&put.client));
	scripted_loaded();
	assert_int_equal(asking_status(&put, api), 200);
	assert_json_at(api_get(api, "/flamegraph")->body, "state", "\"running\"");
	assert_int_equal(scripted->starts, 1);
	assert_true(folder_has(&api->folder, "state.json"));
}

static void a_put_after_it_is_read_on_top_of_it(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking first, second;

	api_begin_ask(&first, api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", ""));
	wait_for_loads(api, 1);
	api_begin_ask(&second, api, "PUT", "/flamegraph", "{\"params\":{\"icicle\":1}}");
	assert_int_equal(api_get(api, "/healthz")->status, 200); /* it has arrived */
	assert_int_equal(scripted_loading(), 1);
	scripted_loaded();
	assert_int_equal(asking_status(&first, api), 200);
	assert_int_equal(asking_status(&second, api), 200);
	const char *body = api_get(api, "/flamegraph")->body;
	assert_json_at(body, "cmd.probe", "[\"oncpu\"]");
	assert_json_at(body, "params.icicle", "1");
}

static void a_start_that_fails_then_is_refused_as_ever(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking put;
	struct reply reply;

	api_begin_ask(&put, api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", ""));
	wait_for_loads(api, 1);
	scripted_fail(SCRIPTED_START, -EPERM);
	scripted_loaded();
	api_answer(api, &put.client, &reply);
	assert_int_equal(reply.status, 503);
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	assert_false(folder_has(&api->folder, "state.json"));
}

static void a_put_that_stops_loads_nothing(void **state)
{
	struct scripted_api *api = *state;

	api_put(api, "/flamegraph",
		api_body(api, "\"oncpu\"", ",\"state\":\"stopped\"") /* the last key counts */);
	assert_int_equal(scripted_loading(), 0);
}

static void a_get_of_seconds_loads_first(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking get;
	char path[64];

	snprintf(path, sizeof(path), "/flamegraph/oncpu.folded?seconds=1&pid=%d",
		 (int)api->process.pid);
	api_begin_ask(&get, api, "GET", path, NULL);
	wait_for_loads(api, 1);
	assert_int_equal(scripted->starts, 0);
	scripted_loaded();
	assert_int_equal(asking_status(&get, api), 200);
	assert_int_equal(scripted->starts, 1);
}

static void a_get_that_is_nonsense_loads_nothing(void **state)
{
	struct scripted_api *api = *state;

	assert_int_equal(api_get(api, "/flamegraph/oncpu.svg?seconds=601")->status, 400);
	assert_int_equal(api_get(api, "/flamegraph/nothing.svg?seconds=1")->status, 404);
	assert_int_equal(api_get(api, "/sched/runqlat.txt?seconds=0")->status, 400);
	assert_int_equal(scripted_loading(), 0);
}

static void sched_loads_first(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking put;

	api_begin_ask(&put, api, "PUT", "/sched", api_all_sched(api));
	wait_for_loads(api, 1);
	assert_string_equal(api_get(api, "/sched")->body, "{}\n");
	scripted_loaded();
	assert_int_equal(asking_status(&put, api), 200);
	assert_json_at(api_get(api, "/sched")->body, "state", "\"running\"");
}

static void at_the_start_pages_alone_are_answered(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking get;

	api->services.starting = 1u << PROBE_ONCPU;
	api_begin_ask(&get, api, "GET", "/flamegraph", NULL);
	wait_for_loads(api, 1);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	assert_int_equal(api_get(api, "/metrics")->status, 200);
	assert_false(http_is_answered(&get.client));
	api->services.starting = 0;
	scripted_loaded();
	assert_int_equal(asking_status(&get, api), 200);
}

static void who_waits_at_the_end_is_answered(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking put, sched;

	api_begin_ask(&put, api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", ""));
	api_begin_ask(&sched, api, "PUT", "/sched", api_all_sched(api));
	wait_for_loads(api, 2);
	api_restart(api);
	assert_int_equal(scripted_loading(), 0);
	assert_true(http_is_answered(&put.client));
	assert_true(http_is_answered(&sched.client));
}

static void a_client_that_goes_is_forgotten(void **state)
{
	struct scripted_api *api = *state;
	struct asking put;

	api_begin_ask(&put, api, "PUT", "/flamegraph", api_body(api, "\"oncpu\"", ""));
	wait_for_loads(api, 1);
	asking_end(&put);
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	scripted_loaded();
	api_put(api, "/flamegraph", "{\"params\":{\"icicle\":1},\"state\":\"stopped\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(others_are_answered_while_a_put_loads, begin, end),
		cmocka_unit_test_setup_teardown(a_put_after_it_is_read_on_top_of_it, begin, end),
		cmocka_unit_test_setup_teardown(a_start_that_fails_then_is_refused_as_ever, begin,
						end),
		cmocka_unit_test_setup_teardown(a_put_that_stops_loads_nothing, begin, end),
		cmocka_unit_test_setup_teardown(a_get_of_seconds_loads_first, begin, end),
		cmocka_unit_test_setup_teardown(a_get_that_is_nonsense_loads_nothing, begin, end),
		cmocka_unit_test_setup_teardown(sched_loads_first, begin, end),
		cmocka_unit_test_setup_teardown(at_the_start_pages_alone_are_answered, begin, end),
		cmocka_unit_test_setup_teardown(who_waits_at_the_end_is_answered, begin, end),
		cmocka_unit_test_setup_teardown(a_client_that_goes_is_forgotten, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
