// SPDX-License-Identifier: GPL-2.0-or-later
/* How the configured session starts, stops and changes, and what it says of its probes. */
#include "unit/session/session_scene.h"

static void nothing_runs_before_it_is_told(void **state)
{
	struct scene *scene = *state;

	assert_null(session_spec(scene->session));
	assert_string_equal(state_of(scene, PROBE_ONCPU), "stopped");
	assert_false(scripted->started);
}

static void a_spec_that_runs_samples_its_processes_for_its_probes(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	assert_int_equal(session_spec(scene->session)->probes, ONCPU | OFFCPU);
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS);
	assert_true(scripted->offcpu);
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "running");
	assert_string_equal(state_of(scene, PROBE_MEM), "stopped");
}

static void it_is_arming_until_its_processes_are_known(void **state)
{
	struct scene *scene = *state;

	apply(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "arming");
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
}

static void a_spec_that_does_not_run_only_is_kept(void **state)
{
	struct scene *scene = *state;

	apply_stop(scene);
	assert_non_null(session_spec(scene->session));
	assert_false(session_spec(scene->session)->running);
	assert_true(has_stopped(scene));
}

static void a_spec_without_probes_stops(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	scene->spec.probes = 0;
	apply(scene);
	run_until(scene, has_stopped(scene));
}

static void stopping_unloads_all_when_the_window_was_read(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	apply_stop(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "stopped");
	assert_true(scripted->started); /* its window isn't read yet */
	run_until(scene, has_stopped(scene));
	assert_int_equal(scripted->stops, 1);
	assert_int_equal(long_timers_count(PERIOD_S), 0);
}

static void it_starts_again_after_a_stop(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	apply_stop(scene);
	run_until(scene, has_stopped(scene));
	scene->spec.running = true;
	begin_sampling(scene, ONCPU);
	assert_int_equal(scripted->starts, 2);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void the_same_spec_again_disturbs_nothing(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	unsigned selections = scripted->selections;
	uint64_t window = scripted->window;
	struct spec again = {0};

	spec_copy(&again, &scene->spec);
	snoopers_unref(again.snoopers);
	assert_int_equal(snoopers_new(&again.snoopers), 0);
	assert_int_equal(snoopers_add_id(again.snoopers, scene->worker.pid), 0);
	assert_int_equal(snoopers_add_id(again.snoopers, scene->other.pid), 0);
	spec_done(&scene->spec);
	scene->spec = again;
	apply(scene);
	assert_int_equal(scripted->selections, selections);
	assert_int_equal(scripted->window, window);
}

static void another_choice_of_processes_takes_effect_at_once(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	snoopers_unref(scene->spec.snoopers);
	assert_int_equal(snoopers_new(&scene->spec.snoopers), 0);
	assert_int_equal(snoopers_add_id(scene->spec.snoopers, scene->other.pid), 0);
	apply(scene);
	run_until(scene, !is_sampled(&scene->worker, ONCPU));
	assert_true(is_sampled(&scene->other, ONCPU));
	assert_int_equal(files_count(scene, "svg"), 0); /* the period goes on */
}

static void a_probe_that_is_added_runs_beside_the_others(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 3);
	begin_sampling(scene, ONCPU | OFFCPU);
	assert_true(scripted->offcpu);
	assert_int_equal(scripted->starts, 1);
	scene_drain(scene);
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), 0); /* its period goes on */
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void a_probe_that_leaves_gets_its_files_and_the_others_go_on(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 3);
	sample_worker(scene, PROBE_OFFCPU, 5000);
	scene->spec.probes = ONCPU;
	apply(scene);
	run_until(scene, files_count(scene, FOLDED_OF("offcpu")) == 1);
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), 0);
	assert_false(scripted->offcpu);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "stopped");
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(nothing_runs_before_it_is_told),
		SCENE_TEST(a_spec_that_runs_samples_its_processes_for_its_probes),
		SCENE_TEST(it_is_arming_until_its_processes_are_known),
		SCENE_TEST(a_spec_that_does_not_run_only_is_kept),
		SCENE_TEST(a_spec_without_probes_stops),
		SCENE_TEST(stopping_unloads_all_when_the_window_was_read),
		SCENE_TEST(it_starts_again_after_a_stop),
		SCENE_TEST(the_same_spec_again_disturbs_nothing),
		SCENE_TEST(another_choice_of_processes_takes_effect_at_once),
		SCENE_TEST(a_probe_that_is_added_runs_beside_the_others),
		SCENE_TEST(a_probe_that_leaves_gets_its_files_and_the_others_go_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
