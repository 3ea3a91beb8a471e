// SPDX-License-Identifier: GPL-2.0-or-later
/* /sched: what a PUT turns on, GET's status, and histograms as text and JSON. */
#include "unit/lib/scripted_api.h"

static void put(struct scripted_api *api, const char *body)
{
	api_put(api, "/sched", body);
}

static const struct reply *get(struct scripted_api *api)
{
	return api_get(api, "/sched");
}

/* All histograms have a group with three counts of 2 to 3 us. */
static void count_three(uint64_t group)
{
	scripted->hists_rows[0] = (struct hist_row){
		.group = group, .hist = {.slots = {[2] = 3}, .sum_ns = 7500, .comm = "redis"}};
	scripted->hists_count = 1;
	scripted->lengths = (struct lengths){.slots = {[0] = 6, [2] = 2}};
}

static void before_the_first_put_nothing_is_there(void **state)
{
	struct scripted_api *api = *state;

	assert_string_equal(get(api)->body, "{}\n");
	assert_get_fails(api, "/sched/runqlat.txt", 404,
			 "it has not run yet: PUT a configuration with state running first, or "
			 "ask with seconds=N");
}

static void without_snoopers_all_processes_are_meant(void **state)
{
	struct scripted_api *api = *state;

	put(api, api_all_sched(api));
	assert_true(scripted->hists && scripted->hists_settings.everybody);
	assert_int_equal(scripted->hists_settings.probes, (1u << SCHED_COUNT) - 1);
	assert_int_equal(scripted->hists_settings.slow_ns, 10 * NS_PER_MS);
	assert_int_equal(scripted->hists_settings.group_by[SCHED_RUNQLAT], GROUP_NONE);
	assert_int_equal(scripted->period_ns, 0); /* nobody wants stacks */
}

static void snoopers_and_params_are_told(void **state)
{
	struct scripted_api *api = *state;

	put(api,
	    api_body(api, "\"runqlat\"", ",\"params\":{\"group_by\":\"pid\",\"latency_thr\":3}"));
	assert_false(scripted->hists_settings.everybody);
	assert_int_equal(scripted->hists_settings.probes, 1u << SCHED_RUNQLAT);
	assert_int_equal(scripted->hists_settings.group_by[SCHED_RUNQLAT], GROUP_PID);
	assert_int_equal(scripted->hists_settings.slow_ns, 3 * NS_PER_MS);
	scripted_core_until(&api->core, api_is_sampled, api);
	assert_int_equal(scripted_probes(api->process.pid), WANTED_SCHED);
}

static void get_has_what_a_put_takes_and_how_much_was_counted(void **state)
{
	struct scripted_api *api = *state;

	put(api, api_all_sched(api));
	count_three(0);
	scripted->sum.hists_refused = 4;
	scripted->sum.slow_lost = 5;
	scripted->sum.lost[LOSERS_SCHED][LOST_RECORDS_FULL] = 6;
	const char *body = get(api)->body;
	assert_json_at(body, "params",
		       "{\"min_us\":10000,\"group_by\":\"none\",\"report_period\":60}");
	assert_json_at(body, "state", "\"running\"");
	assert_json_at(body, "status.probes.runqlat.state", "\"running\"");
	assert_json_at(body, "status.probes.runqlat.reason", "\"\"");
	assert_json_at(body, "status.probes.runqlat.count", "3");
	assert_json_at(body, "status.probes.runqlen.count", "8");
	assert_json_at(body, "status.probes.runqslower.count", "0");
	assert_json_at(body, "status.lost",
		       "{\"records_full\":6,\"groups_full\":4,\"slow_ring_full\":5}");
}

static void text_and_json_have_the_same_counts(void **state)
{
	struct scripted_api *api = *state;

	put(api, "{\"cmd\":{\"probe\":[\"runqlat\",\"runqlen\"]},\"state\":\"running\","
		 "\"params\":{\"group_by\":\"pid\"}}");
	count_three(4711);
	const struct reply *reply = api_get(api, "/sched/runqlat.txt");
	assert_int_equal(reply->status, 200);
	assert_has(reply->head, "\r\nContent-Type: text/plain; charset=utf-8\r\n");
	assert_has(reply->body, "# runqlat, ");
	assert_has(reply->body, "\npid = 4711 redis\n");
	assert_has(reply->body, "         2 -> 3          : 3        |");
	reply = api_get(api, "/sched/RUNQLAT.JSON");
	assert_has(reply->head, "\r\nContent-Type: application/json\r\n");
	assert_json_at(reply->body, "histograms.0.group", "4711");
	assert_json_at(reply->body, "histograms.0.comm", "\"redis\"");
	assert_json_at(reply->body, "histograms.0.count", "3");
	assert_json_at(reply->body, "histograms.0.sum_us", "7");
	reply = api_get(api, "/sched/runqlen.json");
	assert_json_at(reply->body, "all.count", "8");
	assert_json_at(reply->body, "all.occupancy", "0.25");
	assert_has(api_get(api, "/sched/runqlen.txt")->body, "occupancy: 25.00 %\n");
}

static void what_was_counted_stays_readable_when_it_is_stopped(void **state)
{
	struct scripted_api *api = *state;

	put(api, "{\"cmd\":{\"probe\":[\"cpudist\"]},\"state\":\"running\"}");
	count_three(0);
	put(api, "{\"state\":\"stopped\"}");
	assert_false(scripted->started);
	scripted->hists_count = 0;
	assert_json_at(api_get(api, "/sched/cpudist.json")->body, "histograms.0.count", "3");
	assert_json_at(get(api)->body, "status.probes.cpudist.state", "\"stopped\"");
	assert_json_at(get(api)->body, "status.probes.cpudist.count", "3");
	put(api, "{\"state\":\"running\"}"); /* from zero again */
	assert_json_at(api_get(api, "/sched/cpudist.json")->body, "histograms", "[]");
}

static void what_no_probe_can_do_is_a_503_and_changes_nothing(void **state)
{
	struct scripted_api *api = *state;

	scripted_fail(SCRIPTED_HISTS, -EPERM);
	assert_failed(api_ask(api, "PUT", "/sched", api_all_sched(api)), 503, "scripted error -1");
	assert_false(scripted->started);
	assert_string_equal(get(api)->body, "{}\n");
	assert_false(folder_has(&api->folder, "state.json"));
	scripted_fail(SCRIPTED_HISTS, 0);
	put(api, api_all_sched(api));
	assert_true(folder_has(&api->folder, "state.json"));
}

static void a_body_that_is_refused_says_why(void **state)
{
	static const struct {
		const char *body, *part;
	} bodies[] = {
		{"{\"params\":{\"min_us\":1,\"latency_thr\":1}}", "min_us"},
		{"{\"params\":{\"group_by\":\"user\"}}", "group_by"},
		{"{\"cmd\":{\"probe\":[\"oncpu\"]}}", "oncpu"},
	};
	struct scripted_api *api = *state;

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		const struct reply *reply = api_ask(api, "PUT", "/sched", bodies[i].body);

		assert_int_equal(reply->status, 400);
		assert_has(reply->body, bodies[i].part);
	}
	assert_string_equal(get(api)->body, "{}\n");
}

static void a_query_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *path, *message;
	} queries[] = {
		{"runqlat.txt?seconds=0", "seconds must be a number from 1 to 600"},
		{"runqlat.txt?seconds=601", "seconds must be a number from 1 to 600"},
		{"runqslower.txt?follow=2", "follow must be 0 or 1"},
		{"runqslower.txt?follow=yes", "follow must be 0 or 1"},
		{"runqlat.txt?follow=1",
		 "only runqslower.txt and offcpuslower.txt can be followed"},
		{"runqslower.json?follow=1",
		 "only runqslower.txt and offcpuslower.txt can be followed"},
		{"runqslower.txt?follow=1&seconds=1", "seconds and follow exclude each other"},
		{"runqlat.txt?seconds=1&unit=ns", "unit must be us or ms"},
		{"runqlat.txt?seconds=1&step=1000001", "step must be a number from 1 to 1000000"},
		{"runqlen.txt?seconds=1&step=1", "unit and step are for histograms"},
		{"runqlat.txt?step=1", "unit and step need seconds or every: what was counted "
				       "before has powers of two of us"},
		{"runqlat.txt?every=601", "every must be a number from 1 to 600"},
		{"runqlat.txt?count=1", "count needs every"},
		{"runqlat.txt?every=1&count=0", "count must be a number from 1 to 4294967295"},
		{"runqslower.txt?every=1&follow=1", "every, seconds and follow exclude each other"},
		{"runqlat.txt?pid=1",
		 "pid is no parameter of /sched: PUT snoopers, or group_by pid"},
	};
	static const char *const nothing[] = {"runqlat", "runqlat.svg", "oncpu.txt",
					      "a_probe_whose_name_is_long_enough.txt"};
	struct scripted_api *api = *state;
	char path[96];

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		snprintf(path, sizeof(path), "/sched/%s", queries[i].path);
		assert_get_fails(api, path, 400, queries[i].message);
	}
	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
		snprintf(path, sizeof(path), "/sched/%s", nothing[i]);
		assert_get_fails(api, path, 404, "url not found");
	}
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)
#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NOBODY(before_the_first_put_nothing_is_there),
		NOBODY(without_snoopers_all_processes_are_meant),
		WORKER(snoopers_and_params_are_told),
		NOBODY(get_has_what_a_put_takes_and_how_much_was_counted),
		NOBODY(text_and_json_have_the_same_counts),
		NOBODY(what_was_counted_stays_readable_when_it_is_stopped),
		NOBODY(what_no_probe_can_do_is_a_503_and_changes_nothing),
		NOBODY(a_body_that_is_refused_says_why),
		NOBODY(a_query_that_makes_no_sense_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
