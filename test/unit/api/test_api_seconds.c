// SPDX-License-Identifier: GPL-2.0-or-later
/* GET with seconds=N: sessions on demand, and /debug/pprof. The clock is the test's. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

struct session {
	struct scripted_api *api;
	struct http_client client;
	char *request;
	uint64_t window;     /* its stacks are those of later windows */
	uint64_t sampled_ns; /* when the worker was sampled; 0: not yet */
};

/* Asks for the worker's next seconds; `path` has its query up to "pid=". */
static void session_begin(struct session *session, struct scripted_api *api, const char *path)
{
	char whole[128];

	snprintf(whole, sizeof(whole), "%s%d", path, (int)api->process.pid);
	session->api = api;
	session->window = tracer_window(scripted);
	session->sampled_ns = 0;
	session->request = api_request("GET", whole, "Connection: close\r\n", NULL);
	http_open_at(&session->client, api->socket);
	http_send(&session->client, session->request);
}

static void session_end(struct session *session)
{
	http_close(&session->client);
	free(session->request);
}
#define _cleanup_session_ _cleanup_(session_end)

/* Whether it collects, and its time counts: engine/arming looks every millisecond, so before this
 * does two of them later. */
static bool session_runs(void *arg)
{
	struct session *session = arg;

	http_turn(&session->client);
	if (ondemands_count(session->api->services.ondemands) != 1 ||
	    !api_is_sampled(session->api) || tracer_window(scripted) <= session->window)
		return false;
	if (!session->sampled_ns)
		session->sampled_ns = loop_now_ns();
	return loop_now_ns() > session->sampled_ns + 2 * NS_PER_MS;
}

static bool none_runs(void *arg)
{
	const struct scripted_api *api = arg;

	return ondemands_count(api->services.ondemands) == 0;
}

static void sample(const struct scripted_api *api, uint64_t weight)
{
	const struct stack_count count = {.weight = weight, .samples = weight, .events = weight};

	api_stack(&api->process, PROBE_ONCPU, &count, TRUNCATED_NOT, (uintptr_t)session_begin,
		  (uintptr_t)session_end);
}

/* Lets 20 s be over, and takes the answer. */
static void session_answer(struct session *session, struct reply *reply)
{
	clock_pass(20);
	api_answer(session->api, &session->client, reply);
}

static void a_session_has_the_next_seconds_of_a_process_that_nobody_chose(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_session_ struct session session;
	struct reply reply;

	session_begin(&session, api, "/flamegraph/oncpu.folded?seconds=20&pid=");
	scripted_core_until(&api->core, session_runs, &session);
	assert_has(api_get(api, "/metrics")->body, "\nstackprobe_ondemand_sessions 1\n");
	sample(api, 5);
	session_answer(&session, &reply);
	assert_int_equal(reply.status, 200);
	assert_has(reply.body, "worker;thread;session_end;session_begin 5\n");
	assert_false(scripted->started);
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
}

static void a_client_that_goes_ends_its_session(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_session_ struct session session;

	session_begin(&session, api, "/flamegraph/oncpu.svg?seconds=600&pid=");
	scripted_core_until(&api->core, session_runs, &session);
	http_close(&session.client);
	scripted_core_until(&api->core, none_runs, api);
	assert_false(scripted->started);
}

static bool eight_run(void *arg)
{
	struct session *sessions = arg;

	for (int i = 0; i < ONDEMAND_MAX; i++)
		http_turn(&sessions[i].client);
	return ondemands_count(sessions[0].api->services.ondemands) == ONDEMAND_MAX;
}

static void a_ninth_session_is_one_too_many(void **state)
{
	struct scripted_api *api = *state;
	struct session sessions[ONDEMAND_MAX];
	char path[80];

	for (int i = 0; i < ONDEMAND_MAX; i++)
		session_begin(&sessions[i], api, "/flamegraph/oncpu.svg?seconds=600&pid=");
	snprintf(path, sizeof(path), "/flamegraph/oncpu.svg?seconds=1&pid=%d",
		 (int)api->process.pid);
	scripted_core_until(&api->core, eight_run, sessions);
	assert_get_fails(api, path, 429, "8 sessions on demand run already");
	for (int i = 0; i < ONDEMAND_MAX; i++)
		session_end(&sessions[i]);
	scripted_core_until(&api->core, none_runs, api);
}

static void a_session_needs_a_process(void **state)
{
	struct scripted_api *api = *state;

	assert_get_fails(api, "/flamegraph/oncpu.svg?seconds=1", 400,
			 "no process is selected: give pid=N, or PUT snoopers first");
	assert_get_fails(api, "/flamegraph/oncpu.svg?seconds=1&pid=4194304", 404,
			 "no process has the pid 4194304");
}

static void what_cannot_be_loaded_is_a_503_with_the_reason(void **state)
{
	struct scripted_api *api = *state;
	char path[80];

	scripted_fail(SCRIPTED_SAMPLE, -EPERM);
	snprintf(path, sizeof(path), "/flamegraph/oncpu.svg?seconds=1&pid=%d",
		 (int)api->process.pid);
	assert_get_fails(api, path, 503, "scripted error -1");
	assert_false(scripted->started);
}

static void without_a_pid_it_has_those_that_the_put_chose(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_session_ struct session session;
	struct reply reply;

	api_choose(api, "\"oncpu\"", ",\"params\":{\"thread_frame\":0}");
	session_begin(&session, api, "/flamegraph/oncpu.folded?seconds=20&x=");
	scripted_core_until(&api->core, session_runs, &session);
	sample(api, 3);
	session_answer(&session, &reply);
	assert_has(reply.body, "worker;session_end;session_begin 3\n"); /* by its params */
	assert_true(scripted->started);
}

static void debug_pprof_has_the_names_that_go_programs_use(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_session_ struct session session;
	struct reply reply;

	session_begin(&session, api, "/debug/pprof/profile?seconds=20&pid=");
	scripted_core_until(&api->core, session_runs, &session);
	sample(api, 5);
	session_answer(&session, &reply);
	assert_int_equal(reply.status, 200);
	assert_has(reply.head, "\r\nContent-Type: application/octet-stream\r\n");
	assert_memory_equal(reply.body, "\x1f\x8b", 2);
}

static void debug_pprof_lists_its_pages(void **state)
{
	static const char *const names[] = {"profile", "offcpu", "heap", "allocs"};
	struct scripted_api *api = *state;
	char link[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(link, sizeof(link), "<li><a href=\"/debug/pprof/%s\">%s</a>: ", names[i],
			 names[i]);
		const struct reply *reply = api_get(api, i ? "/debug/pprof/" : "/debug/pprof");
		assert_int_equal(reply->status, 200);
		assert_has(reply->head, "\r\nContent-Type: text/html; charset=utf-8\r\n");
		assert_has(reply->body, link);
	}
	assert_get_fails(api, "/debug/pprof/goroutine", 404, "url not found");
	assert_get_fails(api, "/debug/pprofile", 404, "url not found");
	assert_get_fails(api, "/debug/pprof/profile?seconds=0", 400,
			 "seconds must be a number from 1 to 600");
	/* 30 s are asked for, of nobody. */
	assert_get_fails(api, "/debug/pprof/offcpu", 400,
			 "no process is selected: give pid=N, or PUT snoopers first");
}

static void who_waits_when_the_daemon_ends_is_told(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_session_ struct session session;
	struct reply reply;

	session_begin(&session, api, "/flamegraph/oncpu.svg?seconds=600&pid=");
	scripted_core_until(&api->core, session_runs, &session);
	api_stop(api);
	http_turn(&session.client);
	http_reply(&session.client, &reply);
	assert_failed(&reply, 503, "the profile can't be made: Operation canceled");
	api_start(api);
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, api_begin_worker, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(a_session_has_the_next_seconds_of_a_process_that_nobody_chose),
		WORKER(a_client_that_goes_ends_its_session),
		WORKER(a_ninth_session_is_one_too_many),
		WORKER(a_session_needs_a_process),
		WORKER(what_cannot_be_loaded_is_a_503_with_the_reason),
		WORKER(without_a_pid_it_has_those_that_the_put_chose),
		WORKER(debug_pprof_has_the_names_that_go_programs_use),
		WORKER(debug_pprof_lists_its_pages),
		WORKER(who_waits_when_the_daemon_ends_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
