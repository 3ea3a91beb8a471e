// SPDX-License-Identifier: GPL-2.0-or-later
/* The end of the configured session, and what fails at its start. */
#include "unit/session/session_scene.h"

/* Applies the spec, which must be refused. Returns the error; `why` gets the sentence. */
static int refused(struct scene *scene, struct why *why)
{
	why->text[0] = '\0';
	int r = session_apply(scene->session, &scene->spec, why);

	assert_true(r < 0);
	return r;
}

static void closing_writes_all_profiles_first(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_close(scene);
	assert_false(scene->closed);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
	assert_true(has_stopped(scene));
}

static void closing_what_never_ran_is_quick(void **state)
{
	struct scene *scene = *state;

	scene_close(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 0);
}

static void closing_while_it_stops_waits_for_the_files(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	apply_stop(scene);
	scene_close(scene);
	scene_turn(scene);
	assert_false(scene->closed);
	scene_release(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 1);
}

static void closing_while_params_change_stops(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	scene_close(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 1);
	assert_true(has_stopped(scene));
	assert_int_equal(long_timers_count(PERIOD_S), 0);
}

static void closing_while_a_period_ends_writes_its_files_once(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	end_period();
	run_until(scene, scripted->counts_count == 0);
	scene_close(scene);
	scene_release(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
}

static void nothing_is_applied_while_it_closes(void **state)
{
	struct scene *scene = *state;
	struct why why = {0};

	begin_sampling(scene, ONCPU);
	scene_close(scene);
	assert_int_equal(refused(scene, &why), -ESHUTDOWN);
	assert_string_equal(why.text, "the daemon is stopping");
	run_until(scene, scene->closed);
}

static void an_end_that_takes_too_long_is_given_up(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	scene_close(scene);
	session_abandon(scene->session);
	assert_false(scene->closed);
}

static void files_that_take_too_long_at_the_end_are_given_up(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_close(scene);
	run_until(scene, has_stopped(scene));
	scene_hold(scene);
	session_abandon(scene->session);
	assert_int_equal(stats_of(scene).unwritten, 0); /* nobody knows */
}

static void a_tracer_that_cannot_start_refuses_the_spec(void **state)
{
	struct scene *scene = *state;
	struct why why = {0};

	scripted_fail(SCRIPTED_START, -EPERM);
	assert_int_equal(refused(scene, &why), -EPERM);
	assert_string_equal(why.text, "scripted error -1");
	assert_null(session_spec(scene->session));
	const char *reason;
	assert_string_equal(session_state(scene->session, PROBE_ONCPU, &reason), "failed");
	assert_string_equal(reason, "scripted error -1");
	scripted_fail(SCRIPTED_START, 0);
	begin_sampling(scene, ONCPU);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "stopped");
}

static void a_probe_that_cannot_run_is_unsupported_and_the_others_run(void **state)
{
	struct scene *scene = *state;
	const char *why;

	log_set_level(LOG_ERROR + 1);
	scripted_fail(SCRIPTED_OFFCPU, -EOPNOTSUPP);
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
	assert_string_equal(session_state(scene->session, PROBE_OFFCPU, &why), "unsupported");
	assert_string_equal(why, "scripted error -95");
}

static void a_probe_that_fails_for_a_passing_reason_has_failed(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	scripted_fail(SCRIPTED_OFFCPU, -ENOMEM);
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "failed");
}

static void a_probe_that_is_told_again_is_tried_again(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	scripted_fail(SCRIPTED_OFFCPU, -ENOMEM);
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	scripted_fail(SCRIPTED_OFFCPU, 0);
	apply(scene);
	assert_true(scripted->offcpu);
	run_until(scene, is_state(scene, PROBE_OFFCPU, "running"));
}

static void if_no_probe_can_run_the_spec_is_refused(void **state)
{
	struct scene *scene = *state;
	struct why why = {0};

	scripted_fail(SCRIPTED_SAMPLE, -EACCES);
	assert_int_equal(refused(scene, &why), -EACCES);
	assert_false(scripted->started);
	assert_int_equal(long_timers_count(PERIOD_S), 0);
}

static void a_refused_exchange_of_probes_leaves_the_one_that_runs(void **state)
{
	struct scene *scene = *state;
	struct why why = {0};

	begin_sampling(scene, ONCPU);
	scripted_fail(SCRIPTED_OFFCPU, -EACCES);
	scene->spec.probes = OFFCPU;
	assert_int_equal(refused(scene, &why), -EACCES);
	assert_string_equal(why.text, "scripted error -13");
	assert_int_equal(session_spec(scene->session)->probes, ONCPU);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void a_refused_spec_leaves_the_processes_and_settings_of_the_one_before(void **state)
{
	struct scene *scene = *state;
	struct why why;

	begin_sampling(scene, ONCPU);
	snoopers_unref(scene->spec.snoopers);
	assert_int_equal(snoopers_new(&scene->spec.snoopers), 0);
	assert_int_equal(snoopers_add_id(scene->spec.snoopers, scene->other.pid), 0);
	scripted_fail(SCRIPTED_OFFCPU, -EACCES);
	scene->spec.probes = OFFCPU;
	assert_int_equal(refused(scene, &why), -EACCES);
	run_until(scene, is_sampled(&scene->worker, ONCPU));
	assert_true(is_sampled(&scene->other, ONCPU));
}

static void a_refused_start_leaves_the_rate_for_sessions_on_demand(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = {
		.probe = PROBE_ONCPU,
		.seconds = ONDEMAND_S,
		.pid = scene->worker.pid,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};
	struct ondemand *ondemand;
	struct why why;

	apply_stop(scene);
	scene->spec.running = true;
	scene->spec.params.perf_sample_period_ms = 50;
	scripted_fail(SCRIPTED_START, -EPERM);
	assert_int_equal(refused(scene, &why), -EPERM);
	assert_false(session_spec(scene->session)->running);
	scripted_fail(SCRIPTED_START, 0);
	assert_int_equal(ondemand_start(scene->ondemands, &request, &ondemand, &why), 0);
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS);
	ondemand_cancel(ondemand);
}

static void a_failure_is_over_when_nothing_is_wanted_any_more(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	scripted_fail(SCRIPTED_SAMPLE, -EINVAL);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	run_until(scene, is_state(scene, PROBE_ONCPU, "failed"));
	apply_stop(scene);
	run_until(scene, is_state(scene, PROBE_ONCPU, "stopped"));
	scripted_fail(SCRIPTED_START, -EPERM);
	struct why why = {0};
	scene->spec.running = true;
	assert_int_equal(refused(scene, &why), -EPERM);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "failed");
	apply_stop(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "stopped");
}

static void a_rate_that_cannot_be_set_while_it_runs_is_a_failure(void **state)
{
	struct scene *scene = *state;
	const char *why;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	scripted_fail(SCRIPTED_SAMPLE, -EINVAL);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	run_until(scene, is_state(scene, PROBE_ONCPU, "failed"));
	session_state(scene->session, PROBE_ONCPU, &why);
	assert_string_equal(why, "scripted error -22");
	scripted_fail(SCRIPTED_SAMPLE, 0);
	scene->spec.params.perf_sample_period_ms = 20;
	apply(scene);
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
	assert_int_equal(scripted->period_ns, 20 * NS_PER_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(closing_writes_all_profiles_first),
		SCENE_TEST(closing_what_never_ran_is_quick),
		SCENE_TEST(closing_while_it_stops_waits_for_the_files),
		SCENE_TEST(closing_while_params_change_stops),
		SCENE_TEST(closing_while_a_period_ends_writes_its_files_once),
		SCENE_TEST(nothing_is_applied_while_it_closes),
		SCENE_TEST(an_end_that_takes_too_long_is_given_up),
		SCENE_TEST(files_that_take_too_long_at_the_end_are_given_up),
		SCENE_TEST(a_tracer_that_cannot_start_refuses_the_spec),
		SCENE_TEST(a_probe_that_cannot_run_is_unsupported_and_the_others_run),
		SCENE_TEST(a_probe_that_fails_for_a_passing_reason_has_failed),
		SCENE_TEST(a_probe_that_is_told_again_is_tried_again),
		SCENE_TEST(if_no_probe_can_run_the_spec_is_refused),
		SCENE_TEST(a_refused_exchange_of_probes_leaves_the_one_that_runs),
		SCENE_TEST(a_refused_spec_leaves_the_processes_and_settings_of_the_one_before),
		SCENE_TEST(a_refused_start_leaves_the_rate_for_sessions_on_demand),
		SCENE_TEST(a_failure_is_over_when_nothing_is_wanted_any_more),
		SCENE_TEST(a_rate_that_cannot_be_set_while_it_runs_is_a_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
