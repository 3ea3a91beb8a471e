// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns of the configured session: it is told something while a window is being read. Whatever the
 * order, each stack is in one period's files, and it ends in the state that it was told last.
 */
#include "unit/session/session_scene.h"

/* Samples 7 and 2 in its first period, and makes the next window hang where it is named. */
static void begin_and_hold(struct scene *scene)
{
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	scene_hold(scene);
}

/* Asserts that there are so many files of the first period and later ones, with that sum. */
static void assert_files(struct scene *scene, size_t files, uint64_t sum)
{
	run_until(scene, stats_of(scene).files_written == files);
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), files);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), sum);
	assert_int_equal(stats_of(scene).unwritten, 0);
}

/* Stops, and asserts what the files have then. */
static void assert_files_at_stop(struct scene *scene, size_t files, uint64_t sum)
{
	apply_stop(scene);
	run_until(scene, has_stopped(scene));
	assert_files(scene, files, sum);
}

static void other_params_end_the_period_and_begin_another(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS); /* until the window was read */
	assert_int_equal(long_timers_count(PERIOD_S), 0);
	run_until(scene, scripted->period_ns == 50 * NS_PER_MS);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	assert_int_equal(scripted->starts, 1);
	sample_worker(scene, PROBE_ONCPU, 1);
	assert_files(scene, 1, 7);
	assert_files_at_stop(scene, 2, 8);
}

static void a_period_has_its_files_in_the_folder_of_its_own_params(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	snprintf(scene->spec.params.flame_dir, sizeof(scene->spec.params.flame_dir), "%s/second",
		 scene->folder.path);
	apply(scene);
	assert_files(scene, 1, 7);
	sample_worker(scene, PROBE_ONCPU, 1);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 2);
	assert_int_equal(folded_sum(files_text(scene, "second/oncpu/2*/*.folded")), 1);
}

static void params_that_change_back_before_the_window_was_read_end_the_period_once(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	scene->spec.params.perf_sample_period_ms = 10;
	apply(scene);
	scene_release(scene);
	assert_files(scene, 1, 9);
	assert_int_equal(scripted->period_ns, 10 * NS_PER_MS);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	sample_worker(scene, PROBE_ONCPU, 1);
	assert_files_at_stop(scene, 2, 10);
}

static void the_last_of_several_changes_counts(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	for (int ms = 20; ms <= 80; ms += 20) {
		scene->spec.params.perf_sample_period_ms = ms;
		apply(scene);
	}
	scene_release(scene);
	run_until(scene, scripted->period_ns == 80 * NS_PER_MS);
	assert_files(scene, 1, 9);
	sample_worker(scene, PROBE_ONCPU, 1);
	assert_files_at_stop(scene, 2, 10);
}

static void a_start_while_it_stops_goes_on_with_a_new_period(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	apply_stop(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "stopped");
	scene->spec.running = true;
	apply(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	scene_release(scene);
	assert_files(scene, 1, 9);
	assert_int_equal(scripted->starts, 1); /* it never stopped */
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	sample_worker(scene, PROBE_ONCPU, 1);
	assert_files_at_stop(scene, 2, 10);
}

static void a_start_with_other_params_while_it_stops_changes_them(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	apply_stop(scene);
	scene->spec.running = true;
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	scene_release(scene);
	run_until(scene, scripted->period_ns == 50 * NS_PER_MS);
	assert_files(scene, 1, 9);
	assert_int_equal(scripted->starts, 1);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void a_stop_while_params_change_stops(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	apply_stop(scene);
	scene_release(scene);
	run_until(scene, has_stopped(scene));
	assert_files(scene, 1, 9);
	assert_int_equal(long_timers_count(PERIOD_S), 0);
}

static void a_stop_while_a_period_ends_writes_the_stacks_once(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	end_period();
	run_until(scene, scripted->counts_count == 0); /* the window is being read */
	apply_stop(scene);
	scene_release(scene);
	run_until(scene, has_stopped(scene));
	assert_files(scene, 1, 9);
}

static void a_change_while_a_period_ends_writes_the_stacks_once(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	end_period();
	run_until(scene, scripted->counts_count == 0);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	scene_release(scene);
	run_until(scene, scripted->period_ns == 50 * NS_PER_MS);
	assert_files(scene, 1, 9);
	assert_files_at_stop(scene, 1, 9);
}

static void a_period_that_ends_while_a_window_is_read_gets_the_next_window_too(void **state)
{
	struct scene *scene = *state;
	bool drained = false;

	begin_and_hold(scene);
	engine_drain(scene->core->engine, scripted_set, &drained);
	run_until(scene, scripted->counts_count == 0);
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	scene_turn(scene);
	scene_release(scene);
	assert_files(scene, 1, 10);
	assert_true(drained);
}

static void a_probe_that_comes_back_before_its_window_was_read_goes_on(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_OFFCPU, 7000);
	scene_hold(scene);
	scene->spec.probes = ONCPU;
	apply(scene);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "stopped");
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	scene_release(scene);
	scene_drain(scene);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "running");
	assert_true(scripted->offcpu);
	assert_int_equal(stats_of(scene).files_written, 0); /* its period goes on */
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("offcpu"))), 7);
}

static void a_probe_that_comes_while_params_change_runs_afterwards(void **state)
{
	struct scene *scene = *state;

	begin_and_hold(scene);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	assert_false(scripted->offcpu);
	scene_release(scene);
	run_until(scene, scripted->offcpu);
	assert_int_equal(scripted->period_ns, 50 * NS_PER_MS);
	assert_files(scene, 1, 9);
}

static void a_probe_may_leave_while_params_change(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_worker(scene, PROBE_OFFCPU, 3000);
	scene->spec.params.perf_sample_period_ms = 50;
	scene->spec.probes = ONCPU;
	apply(scene);
	run_until(scene, stats_of(scene).files_written == 2);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("offcpu"))), 3);
	assert_false(scripted->offcpu);
	assert_int_equal(scripted->period_ns, 50 * NS_PER_MS);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
}

static void a_stop_while_a_probe_leaves_stops_all(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_worker(scene, PROBE_OFFCPU, 3000);
	scene_hold(scene);
	scene->spec.probes = ONCPU;
	apply(scene);
	apply_stop(scene);
	scene_release(scene);
	run_until(scene, has_stopped(scene));
	run_until(scene, stats_of(scene).files_written == 2);
	assert_int_equal(long_timers_count(PERIOD_S), 0);
}

static void all_probes_may_be_exchanged_at_once(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	begin_sampling(scene, OFFCPU);
	run_until(scene, scripted->period_ns == 0);
	assert_files(scene, 1, 7);
	assert_int_equal(scripted->starts, 1);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "running");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(other_params_end_the_period_and_begin_another),
		SCENE_TEST(a_period_has_its_files_in_the_folder_of_its_own_params),
		SCENE_TEST(params_that_change_back_before_the_window_was_read_end_the_period_once),
		SCENE_TEST(the_last_of_several_changes_counts),
		SCENE_TEST(a_start_while_it_stops_goes_on_with_a_new_period),
		SCENE_TEST(a_start_with_other_params_while_it_stops_changes_them),
		SCENE_TEST(a_stop_while_params_change_stops),
		SCENE_TEST(a_stop_while_a_period_ends_writes_the_stacks_once),
		SCENE_TEST(a_change_while_a_period_ends_writes_the_stacks_once),
		SCENE_TEST(a_period_that_ends_while_a_window_is_read_gets_the_next_window_too),
		SCENE_TEST(a_probe_that_comes_back_before_its_window_was_read_goes_on),
		SCENE_TEST(a_probe_that_comes_while_params_change_runs_afterwards),
		SCENE_TEST(a_probe_may_leave_while_params_change),
		SCENE_TEST(a_stop_while_a_probe_leaves_stops_all),
		SCENE_TEST(all_probes_may_be_exchanged_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
