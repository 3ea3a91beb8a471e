// SPDX-License-Identifier: GPL-2.0-or-later
/* PUTs that name folders, and PUTs that come meanwhile (api/resource/puts.h). The check of a folder
 * waits as long as the test wants, and the clock is the test's. */
#include "unit/lib/clock_ahead.h"
#include "unit/lib/scripted_api.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/resource/feature_table.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* locked: checks wait */
static atomic_int checks;				 /* begun */

int __real_store_check_folder(const char *root, const char *below, struct why *why);
int __wrap_store_check_folder(const char *root, const char *below, struct why *why);

int __wrap_store_check_folder(const char *root, const char *below, struct why *why)
{
	checks++;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return __real_store_check_folder(root, below, why);
}

static int begin(void **state)
{
	checks = 0;
	return api_begin_worker(state);
}

/* A body whose pictures go to a folder below out/. */
static const char *body_in(struct scripted_api *api, const char *folder)
{
	char more[256];

	snprintf(more, sizeof(more), ",\"params\":{\"svg_dir\":\"%s/%s\"}", api->out, folder);
	return api_body(api, "\"oncpu\"", more);
}

static bool is_checked(void *arg)
{
	(void)arg;
	return checks > 0;
}

static void folders_below_the_roots_are_taken_and_not_made(void **state)
{
	struct scripted_api *api = *state;
	char path[128];

	api_put(api, "/flamegraph", body_in(api, "new/below"));
	snprintf(path, sizeof(path), "\"%s/new/below\"", api->out);
	assert_json_at(api_get(api, "/flamegraph")->body, "params.svg_dir", path);
	assert_false(folder_has(&api->folder, "out/new"));
	assert_int_equal(checks, 1);
}

static void a_folder_that_is_not_ours_alone_is_refused(void **state)
{
	struct scripted_api *api = *state;

	assert_int_equal(mkdirat(api->folder.fd, "out/open", 0777), 0);
	assert_int_equal(fchmodat(api->folder.fd, "out/open", 0777, 0), 0);
	const struct reply *reply = api_ask(api, "PUT", "/flamegraph", body_in(api, "open"));
	assert_int_equal(reply->status, 400);
	assert_has(reply->body, "params.svg_dir can't be used: ");
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	assert_false(folder_has(&api->folder, "state.json"));
}

static void a_folder_elsewhere_is_refused_without_a_look(void **state)
{
	struct scripted_api *api = *state;
	char message[256];

	snprintf(message, sizeof(message), "params.flame_dir must be below one of output_roots: %s",
		 api->out);
	assert_failed(
		api_ask(api, "PUT", "/flamegraph",
			api_body(api, "\"oncpu\"", ",\"params\":{\"flame_dir\":\"/etc/here\"}")),
		400, message);
	assert_int_equal(checks, 0);
}

static void puts_that_come_meanwhile_are_taken_in_their_order(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking first, second, third;

	pthread_mutex_lock(&gate);
	api_begin_ask(&first, api, "PUT", "/flamegraph", body_in(api, "first"));
	scripted_core_until(&api->core, is_checked, NULL);
	api_begin_ask(&second, api, "PUT", "/flamegraph",
		      "{\"params\":{\"icicle\":1,\"max_overhead\":7}}");
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n"); /* GET waits for none */
	api_begin_ask(&third, api, "PUT", "/flamegraph",
		      "{\"params\":{\"max_overhead\":8},\"state\":\"nonsense\"}");
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	pthread_mutex_unlock(&gate);
	assert_int_equal(asking_status(&first, api), 200);
	assert_int_equal(asking_status(&second, api), 200); /* it chose no process: the first did */
	assert_int_equal(asking_status(&third, api), 400);
	const char *body = api_get(api, "/flamegraph")->body;
	assert_json_at(body, "params.icicle", "1");
	assert_json_at(body, "params.max_overhead", "7");
	assert_true(folder_has(&api->folder, "state.json"));
}

/* A PUT without a client. */
struct bare_put {
	char body[1024];
	struct answer answer;
	bool is_ready;
};

static void bare_put_begin(struct bare_put *put, struct scripted_api *api, const char *folder)
{
	*put = (struct bare_put){.answer = {.body = BUF_INIT(4096)}};
	snprintf(put->body, sizeof(put->body), "%s", body_in(api, folder));
	puts_take(api->services.puts, &api->services, put->body, strlen(put->body), &put->answer,
		  scripted_set, &put->is_ready);
}

static void what_is_withdrawn_is_not_applied(void **state)
{
	struct scripted_api *api = *state;
	struct bare_put puts[4];
	char path[128];

	pthread_mutex_lock(&gate);
	for (int i = 0; i < 4; i++) {
		const char *const folders[] = {"first", "second", "third", "fourth"};

		bare_put_begin(&puts[i], api, folders[i]);
		assert_int_equal(puts[i].answer.status + puts[i].answer.later, 0);
	}
	services_forget(&api->services, &puts[0].is_ready); /* its folder is being checked */
	services_forget(&api->services, &puts[1].is_ready);
	services_forget(&api->services, &puts[3].is_ready);
	pthread_mutex_unlock(&gate);
	scripted_core_until(&api->core, scripted_is_set, &puts[2].is_ready);
	assert_int_equal(puts[2].answer.status ? puts[2].answer.status : puts[2].answer.later, 200);
	snprintf(path, sizeof(path), "\"%s/third\"", api->out);
	assert_json_at(api_get(api, "/flamegraph")->body, "params.svg_dir", path);
	assert_int_equal(checks, 2);
	for (int i = 0; i < 4; i++) {
		assert_true(puts[i].is_ready == (i == 2));
		buf_done(&puts[i].answer.body);
	}
}

static void a_folder_that_does_not_answer_is_a_503_and_nothing_has_changed(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking put;
	struct reply reply;

	pthread_mutex_lock(&gate);
	api_begin_ask(&put, api, "PUT", "/flamegraph", body_in(api, "hangs"));
	scripted_core_until(&api->core, is_checked, NULL);
	clock_pass(4);
	api_answer(api, &put.client, &reply);
	assert_failed(&reply, 503,
		      "params.svg_dir can't be used: no answer in time from the file system");
	assert_string_equal(api_get(api, "/flamegraph")->body, "{}\n");
	pthread_mutex_unlock(&gate);
}

static void the_end_of_the_daemon_answers_those_that_wait(void **state)
{
	struct scripted_api *api = *state;
	_cleanup_asking_ struct asking first, second;
	struct reply reply;

	pthread_mutex_lock(&gate);
	api_begin_ask(&first, api, "PUT", "/flamegraph", body_in(api, "first"));
	scripted_core_until(&api->core, is_checked, NULL);
	api_begin_ask(&second, api, "PUT", "/flamegraph", body_in(api, "second"));
	assert_int_equal(api_get(api, "/healthz")->status, 200);
	pthread_mutex_unlock(&gate);
	api_stop(api);
	http_turn(&second.client);
	http_reply(&second.client, &reply);
	assert_failed(&reply, 503, "the daemon is stopping");
	api_start(api);
}

#define WORKER(test) cmocka_unit_test_setup_teardown(test, begin, api_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORKER(folders_below_the_roots_are_taken_and_not_made),
		WORKER(a_folder_that_is_not_ours_alone_is_refused),
		WORKER(a_folder_elsewhere_is_refused_without_a_look),
		WORKER(puts_that_come_meanwhile_are_taken_in_their_order),
		WORKER(what_is_withdrawn_is_not_applied),
		WORKER(a_folder_that_does_not_answer_is_a_503_and_nothing_has_changed),
		WORKER(the_end_of_the_daemon_answers_those_that_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
