// SPDX-License-Identifier: GPL-2.0-or-later
/* Windows for uploads: when they end, and that periods' files have all of them. */
#include "unit/session/session_scene.h"
#include "unit/session/uploaded.h"

#define SERVER "http://127.0.0.1:1"

static int begin(void **state)
{
	uploaded_forget();
	return scene_begin(state);
}

static int end(void **state)
{
	int r = scene_end(state);

	uploaded_forget();
	return r;
}

#define WINDOW_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

static void set_server(struct scene *scene, const char *server)
{
	struct params *params = &scene->spec.params;

	snprintf(params->pyroscope_server, sizeof(params->pyroscope_server), "%s", server);
}

/* Uploads as folded text, which a test can read. */
static void begin_uploading(struct scene *scene, uint32_t probes)
{
	set_server(scene, SERVER);
	scene->spec.params.pyroscope_api = PYROSCOPE_INGEST;
	begin_sampling(scene, probes);
}

static uint64_t uploaded_sum(size_t i)
{
	_cleanup_free_ char *text = strndup(uploaded[i].bytes.data, uploaded[i].bytes.len);

	assert_non_null(text);
	return folded_sum(text);
}

static void end_window(void)
{
	long_timers_expire(WINDOW_S);
}

static struct upload_status status_of(const struct scene *scene)
{
	struct upload_status status;

	session_uploads_status(scene->session, &status);
	return status;
}

static void without_a_server_there_are_no_windows(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	assert_int_equal(long_timers_count(WINDOW_S), 0);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(uploaded_count, 0);
	assert_int_equal(status_of(scene).state, UPLOAD_OFF);
}

static void a_window_that_ends_is_sent_and_the_period_goes_on(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_window();
	run_until(scene, uploaded_count == 1);
	assert_int_equal(uploaded_sum(0), 7);
	assert_has(uploaded[0].target, "/ingest?name=gala-gopher-oncpu");
	assert_string_equal(uploaded[0].content_type, "text/plain");
	assert_has(uploaded[0].what, "oncpu ");
	assert_int_equal(stats_of(scene).files_written, 0);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	assert_int_equal(long_timers_count(WINDOW_S), 1);
	assert_int_equal(status_of(scene).state, UPLOAD_RUNNING);
	assert_string_equal(status_of(scene).server, SERVER);
}

static void a_periods_files_have_all_its_windows(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU);
	for (unsigned i = 0; i < 3; i++) {
		sample_worker(scene, PROBE_ONCPU, 10);
		end_window();
		run_until(scene, uploaded_count == i + 1);
	}
	sample_worker(scene, PROBE_ONCPU, 5);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	run_until(scene, uploaded_count == 4);
	assert_int_equal(uploaded_sum(2), 10);
	assert_int_equal(uploaded_sum(3), 5);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 35);
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 2);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 36);
}

static void a_fetch_has_the_periods_windows_and_what_came_since(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	const struct session_question question = {
		.probe = PROBE_ONCPU,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};

	begin_uploading(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 1000);
	end_period();
	run_until(scene, uploaded_count == 1);
	sample_worker(scene, PROBE_ONCPU, 100);
	end_window();
	run_until(scene, uploaded_count == 2);
	sample_worker(scene, PROBE_ONCPU, 10);
	assert_int_equal(session_fetch(scene->session, &question), 0);
	run_until(scene, answer.calls);
	assert_int_equal(folded_sum(answer.text), 1110);
}

static void a_stop_sends_the_last_window(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_worker(scene, PROBE_OFFCPU, 3000);
	apply_stop(scene);
	run_until(scene, has_stopped(scene));
	run_until(scene, uploaded_count == 2);
	assert_int_equal(uploaded_sum(0), 7);
	assert_int_equal(uploaded_sum(1), 3);
	assert_int_equal(long_timers_count(WINDOW_S), 0);
}

static void what_was_sampled_before_there_was_a_server_is_not_sent(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	begin_uploading(scene, ONCPU);
	assert_int_equal(long_timers_count(WINDOW_S), 1);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	run_until(scene, scripted->counts_count == 0);
	scene_drain(scene);
	sample_worker(scene, PROBE_ONCPU, 2);
	end_window();
	run_until(scene, uploaded_count == 1);
	assert_int_equal(uploaded_sum(0), 2);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 9); /* one period */
}

static void when_the_server_is_taken_away_nothing_more_is_sent(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_window();
	run_until(scene, uploaded_count == 1);
	sample_worker(scene, PROBE_ONCPU, 2);
	set_server(scene, "");
	apply(scene);
	assert_int_equal(long_timers_count(WINDOW_S), 0);
	assert_int_equal(status_of(scene).state, UPLOAD_OFF);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(uploaded_count, 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 9);
}

static void a_window_that_ends_when_the_server_goes_is_not_sent(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	end_window();
	run_until(scene, scripted->counts_count == 0);
	set_server(scene, "");
	apply(scene);
	scene_release(scene);
	scene_drain(scene);
	assert_int_equal(uploaded_count, 0);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
}

/* Uploads by push, which sends empty windows as well. */
static void begin_pushing(struct scene *scene)
{
	set_server(scene, SERVER);
	begin_sampling(scene, ONCPU);
}

/* Ends the session, and asserts how many windows were sent until then. */
static void assert_uploaded_in_all(struct scene *scene, size_t count)
{
	scene_close(scene);
	run_until(scene, scene->closed);
	assert_int_equal(uploaded_count, count);
}

static void a_stop_while_a_window_ends_sends_it_once(void **state)
{
	struct scene *scene = *state;

	begin_pushing(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	end_window();
	run_until(scene, scripted->counts_count == 0);
	apply_stop(scene);
	scene_release(scene);
	run_until(scene, has_stopped(scene));
	run_until(scene, stats_of(scene).files_written == 1);
	assert_uploaded_in_all(scene, 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
}

static void a_window_and_a_period_that_end_with_the_same_reading_are_sent_once(void **state)
{
	struct scene *scene = *state;
	bool drained = false;

	begin_pushing(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	engine_drain(scene->core->engine, scripted_set, &drained);
	run_until(scene, scripted->counts_count == 0);
	end_window(); /* both get the next reading */
	end_period();
	scene_turn(scene);
	scene_release(scene);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
	run_until(scene, uploaded_count > 0);
	scene_drain(scene);
	assert_int_equal(uploaded_count, 1);
	assert_true(drained);
	assert_uploaded_in_all(scene, 2); /* and the one that the end cuts off */
}

static void each_process_is_sent_by_itself_with_multi_instance(void **state)
{
	struct scene *scene = *state;

	scene->spec.params.multi_instance = 1;
	begin_uploading(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_window();
	run_until(scene, uploaded_count == 2);
	assert_int_equal(uploaded_sum(0) + uploaded_sum(1), 9);
	assert_has(uploaded[0].target, "%2Cpid%3D");
	assert_has(uploaded[0].target, "%2Ccomm%3D");
}

static void an_empty_window_is_sent_by_push(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene, ONCPU);
	scene->spec.params.pyroscope_api = PYROSCOPE_PUSH;
	apply(scene);
	end_window();
	run_until(scene, uploaded_count == 1);
	assert_string_equal(uploaded[0].target, "/push.v1.PusherService/Push");
	assert_true(uploaded_has(&uploaded[0], "process_cpu"));
	assert_int_equal(status_of(scene).api, PYROSCOPE_PUSH);
}

static void other_options_may_take_the_server_away_and_give_it_back(void **state)
{
	struct scene *scene = *state;
	struct upload_options other;
	struct why why = {0};

	begin_uploading(scene, ONCPU);
	scene_upload_options(&other);
	other.allow[other.allow_count++] = strdup("http://elsewhere");
	assert_int_equal(session_set_upload(scene->session, &other, &why), 0);
	assert_int_equal(status_of(scene).state, UPLOAD_OFF);
	assert_true(status_of(scene).reason[0]);
	assert_int_equal(long_timers_count(WINDOW_S), 0);
	sample_worker(scene, PROBE_ONCPU, 7);
	assert_int_equal(session_set_upload(scene->session, &scene->upload, &why), 0);
	assert_int_equal(status_of(scene).state, UPLOAD_RUNNING);
	assert_int_equal(long_timers_count(WINDOW_S), 1);
	scene_drain(scene);
	scene_drain(scene);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	for (size_t i = 0; i < uploaded_count; i++)
		assert_int_equal(uploaded_sum(i), 0); /* it came before the server */
	upload_options_done(&other);
}

static void options_that_cannot_be_used_are_refused_and_the_old_ones_stay(void **state)
{
	struct scene *scene = *state;
	struct upload_options other;
	struct why why = {0};

	log_set_level(LOG_ERROR + 1);
	begin_uploading(scene, ONCPU);
	scene_upload_options(&other);
	other.token_file = strdup("/nowhere/token");
	assert_int_equal(session_set_upload(scene->session, &other, &why), -ENOENT);
	assert_has(why.text, "/nowhere/token");
	assert_int_equal(status_of(scene).state, UPLOAD_RUNNING);
	assert_string_equal(status_of(scene).server, SERVER);
	assert_int_equal(long_timers_count(WINDOW_S), 1);
	upload_options_done(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WINDOW_TEST(without_a_server_there_are_no_windows),
		WINDOW_TEST(a_window_that_ends_is_sent_and_the_period_goes_on),
		WINDOW_TEST(a_periods_files_have_all_its_windows),
		WINDOW_TEST(a_fetch_has_the_periods_windows_and_what_came_since),
		WINDOW_TEST(a_stop_sends_the_last_window),
		WINDOW_TEST(what_was_sampled_before_there_was_a_server_is_not_sent),
		WINDOW_TEST(when_the_server_is_taken_away_nothing_more_is_sent),
		WINDOW_TEST(a_window_that_ends_when_the_server_goes_is_not_sent),
		WINDOW_TEST(a_stop_while_a_window_ends_sends_it_once),
		WINDOW_TEST(a_window_and_a_period_that_end_with_the_same_reading_are_sent_once),
		WINDOW_TEST(each_process_is_sent_by_itself_with_multi_instance),
		WINDOW_TEST(an_empty_window_is_sent_by_push),
		WINDOW_TEST(other_options_may_take_the_server_away_and_give_it_back),
		WINDOW_TEST(options_that_cannot_be_used_are_refused_and_the_old_ones_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
