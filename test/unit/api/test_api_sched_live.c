// SPDX-License-Identifier: GPL-2.0-or-later
/* /sched as it happens: the next seconds alone, and events that are followed. The clock is the
 * test's. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

/* A request whose answer comes later. */
struct visit {
	struct http_client client;
	char *request;
	const char *wanted; /* text that the answer will have */
	unsigned reads;	    /* of histograms, when a measurement has begun */
};

static void visit_begin(struct visit *visit, struct scripted_api *api, const char *path)
{
	visit->request = api_request("GET", path, "Connection: close\r\n", NULL);
	http_open_at(&visit->client, api->socket);
	http_send(&visit->client, visit->request);
}

static void visit_end(struct visit *visit)
{
	http_close(&visit->client);
	free(visit->request);
}
#define _cleanup_visit_ _cleanup_(visit_end)

static bool visit_has(void *arg)
{
	struct visit *visit = arg;

	http_turn(&visit->client);
	return strstr(visit->client.got.data, visit->wanted) != NULL;
}

/* Waits until the answer so far has a text. */
static void wait_for(struct scripted_api *api, struct visit *visit, const char *wanted)
{
	visit->wanted = wanted;
	scripted_core_until(&api->core, visit_has, visit);
}

static bool has_begun(void *arg)
{
	struct visit *visit = arg;

	http_turn(&visit->client);
	return scripted->hists_reads == visit->reads;
}

/* Begins a measurement, and waits until what is counted already was read. */
static void measure(struct visit *visit, struct scripted_api *api, const char *path)
{
	visit->reads = scripted->hists_reads + 1;
	visit_begin(visit, api, path);
	scripted_core_until(&api->core, has_begun, visit);
}

static bool is_over(void *arg)
{
	(void)arg;
	return !scripted->started;
}

static void count(uint64_t times)
{
	scripted->hists_rows[0] = (struct hist_row){.hist = {.slots = {[2] = times}}};
	scripted->hists_count = 1;
}

static void the_next_seconds_are_counted_while_the_probe_is_off(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;
	struct reply reply;

	measure(&visit, api, "/sched/runqlat.json?seconds=20");
	assert_int_equal(scripted->hists_settings.probes, 1u << SCHED_RUNQLAT);
	count(5);
	clock_pass(20);
	api_answer(api, &visit.client, &reply);
	assert_int_equal(reply.status, 200);
	assert_json_at(reply.body, "histograms.0.count", "5");
	assert_false(scripted->started);
	assert_string_equal(api_get(api, "/sched")->body, "{}\n");
}

static void what_was_counted_before_is_left_out(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;
	struct reply reply;

	api_put(api, "/sched", "{\"cmd\":{\"probe\":[\"runqlat\"]},\"state\":\"running\"}");
	count(5);
	measure(&visit, api, "/sched/cpudist.json?seconds=20");
	count(7);
	clock_pass(20);
	api_answer(api, &visit.client, &reply);
	assert_json_at(reply.body, "histograms.0.count", "2");
	assert_int_equal(scripted->hists_settings.probes, 1u << SCHED_RUNQLAT);
}

static void a_change_of_groups_meanwhile_is_told(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;
	struct reply reply;

	measure(&visit, api, "/sched/runqlat.txt?seconds=20");
	api_put(api, "/sched",
		"{\"cmd\":{\"probe\":[\"runqlat\"]},\"params\":{\"group_by\":\"pid\"},"
		"\"state\":\"running\"}");
	clock_pass(20);
	api_answer(api, &visit.client, &reply);
	assert_failed(&reply, 503,
		      "its counts can't be had: it began anew meanwhile, for a PUT changed what it "
		      "counts");
}

static void a_client_that_goes_ends_its_measurement(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;

	measure(&visit, api, "/sched/runqlat.txt?seconds=600");
	http_close(&visit.client);
	scripted_core_until(&api->core, is_over, NULL);
}

static void what_cannot_be_measured_is_a_503_with_the_reason(void **state)
{
	struct scripted_api *api = *state;

	scripted_fail(SCRIPTED_HISTS, -EPERM);
	assert_get_fails(api, "/sched/runqlat.txt?seconds=1", 503, "scripted error -1");
	assert_false(scripted->started);
}

/* The kernel's side reports a task that waited too long. */
static void wait_long(uint32_t tid)
{
	struct slow_event event = {
		.probe = SCHED_RUNQSLOWER,
		.time_ns = loop_now_ns(),
		.delay_ns = 12030000,
		.tgid = tid,
		.tid = tid,
		.cpu = 1,
		.slices_count = 1,
		.comm = "redis",
	};
	const struct slice slice = {.ended_ns = event.time_ns,
				    .ran_ns = 7973000,
				    .tid = 7775,
				    .tgid = 7775,
				    .comm = "clang"};

	scripted->events.slow(scripted->events.arg, &event, &slice);
}

static void events_are_followed_until_the_probe_stops(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;

	assert_get_fails(api, "/sched/runqslower.txt?follow=1", 404,
			 "runqslower doesn't run: PUT it with state running first");
	api_put(api, "/sched", "{\"cmd\":{\"probe\":[\"runqslower\"]},\"state\":\"running\"}");
	visit_begin(&visit, api, "/sched/runqslower.txt?follow=1");
	wait_for(api, &visit, "MOST(us)\n");
	wait_long(4711);
	wait_for(api, &visit,
		 " redis            4711           12030 clang            7775     1    ");
	wait_long(4712);
	wait_for(api, &visit, " redis            4712 ");
	assert_json_at(api_get(api, "/sched/runqslower.json")->body, "events.1.tid", "4712");
	assert_has(api_get(api, "/sched/runqslower.txt")->body, " redis            4711 ");
	api_put(api, "/sched", "{\"state\":\"stopped\"}");
	struct reply reply;
	api_answer(api, &visit.client, &reply);
	assert_int_equal(reply.status, 200);
	assert_true(visit.client.ended);
}

static void a_follower_that_was_slow_is_told_what_it_missed(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_visit_ struct visit visit;

	api_put(api, "/sched", "{\"cmd\":{\"probe\":[\"runqslower\"]},\"state\":\"running\"}");
	visit_begin(&visit, api, "/sched/runqslower.txt?follow=1");
	wait_for(api, &visit, "MOST(us)\n");
	for (uint32_t i = 0; i < SLOW_LOG_EVENTS + 20; i++)
		wait_long(10000 + i);
	wait_for(api, &visit, "# 20 are missing here: they came faster than they were read\n");
	wait_for(api, &visit, " redis            11019 ");
	assert_null(strstr(visit.client.got.data, " 10019 "));
	assert_json_at(api_get(api, "/sched/runqslower.json")->body, "missed", "20");
	assert_has(api_get(api, "/sched/runqslower.txt")->body,
		   "# 20 before these are no longer kept\n");
}

static void a_ninth_follower_is_one_too_many(void **state)
{
	struct scripted_api *api = *state;
	struct visit visits[SCHED_FOLLOWERS_MAX];

	api_put(api, "/sched", "{\"cmd\":{\"probe\":[\"runqslower\"]},\"state\":\"running\"}");
	for (int i = 0; i < SCHED_FOLLOWERS_MAX; i++) {
		visit_begin(&visits[i], api, "/sched/runqslower.txt?follow=1");
		wait_for(api, &visits[i], "MOST(us)\n");
	}
	assert_get_fails(api, "/sched/runqslower.txt?follow=1", 429, "8 clients follow already");
	for (int i = 0; i < SCHED_FOLLOWERS_MAX; i++)
		visit_end(&visits[i]);
}

static void a_ninth_measurement_is_one_too_many(void **state)
{
	struct scripted_api *api = *state;
	struct visit visits[SCHED_WAITS_MAX];

	for (int i = 0; i < SCHED_WAITS_MAX; i++)
		measure(&visits[i], api, "/sched/runqlat.txt?seconds=600");
	assert_get_fails(api, "/sched/runqlat.txt?seconds=1", 429,
			 "8 measurements of some seconds run already");
	for (int i = 0; i < SCHED_WAITS_MAX; i++)
		visit_end(&visits[i]);
}

#define NOBODY(test) cmocka_unit_test_setup_teardown(test, api_begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NOBODY(the_next_seconds_are_counted_while_the_probe_is_off),
		NOBODY(what_was_counted_before_is_left_out),
		NOBODY(a_change_of_groups_meanwhile_is_told),
		NOBODY(a_client_that_goes_ends_its_measurement),
		NOBODY(what_cannot_be_measured_is_a_503_with_the_reason),
		NOBODY(events_are_followed_until_the_probe_stops),
		NOBODY(a_follower_that_was_slow_is_told_what_it_missed),
		NOBODY(a_ninth_follower_is_one_too_many),
		NOBODY(a_ninth_measurement_is_one_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
