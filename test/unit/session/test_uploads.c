// SPDX-License-Identifier: GPL-2.0-or-later
/* Uploads of windows: what is handed to the sender, and what is lost and told. */
#include "unit/output/profile_maker.h"
#include "unit/session/uploaded.h"

#include "base/log.h"
#include "session/uploads.h"

#define SERVER "http://127.0.0.1:1"

struct scene {
	struct loop *loop;
	struct worker *bulk, *foreign;
	struct upload_options options;
	struct params params;
	struct uploads *uploads;
	bool closed;
};

static struct uploads_setup setup_of(struct scene *scene)
{
	return (struct uploads_setup){
		.loop = scene->loop,
		.bulk = scene->bulk,
		.foreign = scene->foreign,
		.options = &scene->options,
		.host = "testhost",
	};
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct why why = {0};

	assert_non_null(scene);
	log_set_level(LOG_ERROR);
	uploaded_forget();
	assert_int_equal(upload_options_init(&scene->options), 0);
	free(scene->options.spool_dir);
	scene->options.spool_dir = strdup("");
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->bulk, scene->loop, "bulk", 8 * NS_PER_S), 0);
	assert_int_equal(worker_new(&scene->foreign, scene->loop, "foreign", 8 * NS_PER_S), 0);
	struct uploads_setup setup = setup_of(scene);
	assert_int_equal(uploads_new(&scene->uploads, &setup, &why), 0);
	strcpy(scene->params.pyroscope_server, SERVER);
	scene->params.pyroscope_api = PYROSCOPE_INGEST;
	*state = scene;
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;

	worker_stop(scene->bulk);
	worker_stop(scene->foreign);
	loop_flush(scene->loop);
	uploads_free(scene->uploads);
	worker_free(scene->bulk);
	worker_free(scene->foreign);
	loop_free(scene->loop);
	upload_options_done(&scene->options);
	uploaded_forget();
	free(scene);
	return 0;
}

static void stop_loop(void *arg)
{
	loop_stop(arg);
}

static void note_closed(void *arg)
{
	struct scene *scene = arg;

	scene->closed = true;
	loop_stop(scene->loop);
}

/* Runs the loop until all that was added is handed over. */
static void hand_over(struct scene *scene)
{
	struct loop_timer late = {.expired = stop_loop, .arg = scene->loop};

	uploads_close(scene->uploads, note_closed, scene);
	loop_timer_set(scene->loop, &late, loop_now_ns() + 20 * NS_PER_S);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &late);
	assert_true(scene->closed);
}

static struct upload_status status_of(const struct scene *scene)
{
	struct upload_status status;

	uploads_status(scene->uploads, &status);
	return status;
}

/* Uploads a window of two processes, one of them in a pod's container. */
static void upload_window(struct scene *scene)
{
	_cleanup_profile_ struct profile *profile = new_profile();
	struct container *container = new_container(ID_ONE, "", "web", "pod-1");
	struct record_who plain = who_in(7, "plain", 1, NULL, 0);
	struct record_who inside = who_in(8, "inside", 2, container, 3);

	profile->from = 100 * (int64_t)NS_PER_S;
	profile->until = 130 * (int64_t)NS_PER_S;
	add_stack(profile, &plain, "wait", 5000);
	add_stack(profile, &inside, "wait", 9000);
	uploads_add(scene->uploads, profile, &scene->params);
	container_unref(container);
}

/* Returns the upload whose target has that text. */
static const struct uploaded *find_uploaded(const char *part)
{
	for (size_t i = 0; i < uploaded_count; i++) {
		if (strstr(uploaded[i].target, part))
			return &uploaded[i];
	}
	fail_msg("not uploaded: %s", part);
	return NULL;
}

static void it_is_off_until_a_server_is_told(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(status_of(scene).state, UPLOAD_OFF);
	assert_string_equal(status_of(scene).reason, "nothing was told yet");
	assert_false(uploads_has_server(scene->uploads));
	uploads_apply(scene->uploads, &scene->params);
	assert_int_equal(status_of(scene).state, UPLOAD_RUNNING);
	assert_string_equal(status_of(scene).reason, "");
	assert_string_equal(status_of(scene).server, SERVER);
	assert_int_equal(status_of(scene).api, PYROSCOPE_INGEST);
	assert_true(uploads_has_server(scene->uploads));
}

static void a_server_that_is_taken_away_turns_it_off(void **state)
{
	struct scene *scene = *state;

	uploads_apply(scene->uploads, &scene->params);
	scene->params.pyroscope_server[0] = '\0';
	uploads_apply(scene->uploads, &scene->params);
	assert_int_equal(status_of(scene).state, UPLOAD_OFF);
	assert_string_equal(status_of(scene).server, "");
}

static void a_window_of_all_is_one_text(void **state)
{
	struct scene *scene = *state;

	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	hand_over(scene);
	assert_int_equal(uploaded_count, 1);
	assert_has(uploaded[0].target, "/ingest?name=gala-gopher-offcpu");
	assert_has(uploaded[0].target, "%7Bhost%3Dtesthost%2Cprobe%3Doffcpu%7D&from=100&until=130");
	assert_null(strstr(uploaded[0].target, "pid"));
	assert_true(uploaded_has(&uploaded[0], "[7]plain;wait"));
	assert_true(uploaded_has(&uploaded[0], "[8]inside;wait"));
	assert_int_equal(uploaded[0].until_ns, 130 * (int64_t)NS_PER_S);
}

static void with_multi_instance_each_process_has_its_labels(void **state)
{
	struct scene *scene = *state;

	scene->params.multi_instance = 1;
	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	hand_over(scene);
	assert_int_equal(uploaded_count, 2);
	const struct uploaded *plain = find_uploaded("%2Cpid%3D7%2Ccomm%3Dplain%2Cprobe");
	const struct uploaded *inside = find_uploaded("%2Cpid%3D8%2Ccomm%3Dinside%2Ccontainer%3D"
						      "web%2Cpod%3Dpod-1");
	find_uploaded("%2Ccontainer_pid%3D3%2Cprobe");
	assert_true(uploaded_has(plain, "wait 5000\n"));
	assert_true(uploaded_has(inside, "wait 9000\n"));
	assert_false(uploaded_has(plain, "inside"));
}

static void a_push_has_the_services_name_and_a_pprof(void **state)
{
	struct scene *scene = *state;

	scene->params.pyroscope_api = PYROSCOPE_PUSH;
	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	hand_over(scene);
	assert_int_equal(uploaded_count, 1);
	assert_string_equal(uploaded[0].target, "/push.v1.PusherService/Push");
	assert_string_equal(uploaded[0].content_type, "application/proto");
	assert_true(uploaded_has(&uploaded[0], "off_cpu"));
	assert_true(uploaded_has(&uploaded[0], scene->options.service_name));
	assert_true(uploaded_has(&uploaded[0], "testhost"));
	assert_true(uploaded_has(&uploaded[0], "\x1f\x8b")); /* gzip */
}

static void the_api_is_the_one_when_the_window_ended(void **state)
{
	struct scene *scene = *state;

	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	scene->params.pyroscope_api = PYROSCOPE_PUSH;
	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	hand_over(scene);
	assert_int_equal(uploaded_count, 2);
	assert_string_equal(uploaded[0].content_type, "text/plain");
	assert_string_equal(uploaded[1].content_type, "application/proto");
}

static void a_stack_that_is_too_large_for_any_server_is_counted(void **state)
{
	struct scene *scene = *state;
	_cleanup_profile_ struct profile *profile = new_profile();
	struct record_who who = who_in(7, "plain", 1, NULL, 0);
	_cleanup_free_ char *name = malloc(70000);

	memset(name, 'x', 69999);
	name[69999] = '\0';
	log_set_level(LOG_ERROR + 1);
	uploads_apply(scene->uploads, &scene->params);
	add_stack(profile, &who, "wait", 5000);
	add_stack(profile, &who, name, 9000);
	uploads_add(scene->uploads, profile, &scene->params);
	hand_over(scene);
	assert_int_equal(uploaded_count, 1);
	assert_true(uploaded_has(&uploaded[0], "[7]plain;wait 5000\n"));
	assert_int_equal(status_of(scene).sent.lost[SENDER_TOO_LARGE], 1);
}

static void closing_waits_for_the_windows_that_are_rendered(void **state)
{
	struct scene *scene = *state;

	uploads_apply(scene->uploads, &scene->params);
	for (int i = 0; i < 10; i++)
		upload_window(scene);
	uploads_hurry(scene->uploads);
	upload_window(scene);
	assert_int_equal(uploaded_count, 0);
	hand_over(scene);
	assert_int_equal(uploaded_count, 11);
}

static void what_is_given_up_is_counted(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	upload_window(scene);
	uploads_abandon(scene->uploads);
	assert_int_equal(status_of(scene).sent.lost[SENDER_UNWRITABLE], 2);
	hand_over(scene);
}

static void other_options_leave_the_windows_length(void **state)
{
	struct scene *scene = *state;
	struct upload_options other;
	struct why why = {0};

	uploads_apply(scene->uploads, &scene->params);
	unsigned before = uploads_period_s(scene->uploads);
	assert_int_equal(upload_options_init(&other), 0);
	other.period_s = before == 60 ? 30 : 60;
	free(other.service_name);
	other.service_name = strdup("another");
	assert_int_equal(uploads_set_options(scene->uploads, &other, &why), 0);
	upload_options_done(&other);
	assert_int_equal(uploads_period_s(scene->uploads), before);
	scene->params.pyroscope_api = PYROSCOPE_PUSH;
	uploads_apply(scene->uploads, &scene->params);
	upload_window(scene);
	hand_over(scene);
	assert_true(uploaded_has(&uploaded[0], "another"));
}

static void options_that_cannot_be_read_make_none(void **state)
{
	struct scene *scene = *state;
	struct uploads_setup setup = setup_of(scene);
	struct uploads *uploads = NULL;
	struct why why = {0};

	scene->options.token_file = strdup("/nowhere/token");
	assert_int_equal(uploads_new(&uploads, &setup, &why), -ENOENT);
	assert_has(why.text, "/nowhere/token");
	assert_null(uploads);
	uploads_free(NULL);
}

#define UPLOAD_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UPLOAD_TEST(it_is_off_until_a_server_is_told),
		UPLOAD_TEST(a_server_that_is_taken_away_turns_it_off),
		UPLOAD_TEST(a_window_of_all_is_one_text),
		UPLOAD_TEST(with_multi_instance_each_process_has_its_labels),
		UPLOAD_TEST(a_push_has_the_services_name_and_a_pprof),
		UPLOAD_TEST(the_api_is_the_one_when_the_window_ended),
		UPLOAD_TEST(a_stack_that_is_too_large_for_any_server_is_counted),
		UPLOAD_TEST(closing_waits_for_the_windows_that_are_rendered),
		UPLOAD_TEST(what_is_given_up_is_counted),
		UPLOAD_TEST(other_options_leave_the_windows_length),
		UPLOAD_TEST(options_that_cannot_be_read_make_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
