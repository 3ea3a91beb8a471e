// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session with a trigger: it waits for pressure, samples for a period, and waits again. The
 * pressure is made up.
 *
 * The linker turns our objects' calls into those below (UNITFLAGS).
 */
#include "unit/session/session_scene.h"

#include "pressure/pressure.h"

#define TRIGGER "cpu some 300000 2000000"
#define OTHER	"io full 1 500000 /some/cgroup"

int __wrap_pressure_open(struct pressure **ret, struct loop *loop, const struct pressure_wish *wish,
			 struct why *why);
void __wrap_pressure_close(struct pressure *pressure);
bool __wrap_pressure_is_kernels(const struct pressure *pressure, const char **why);

/* What is waited for: one at a time. */
static struct {
	struct pressure_wish wish;
	unsigned opened, open;
	int error;
	const char *not_kernel;
} waited;

int __wrap_pressure_open(struct pressure **ret, struct loop *loop, const struct pressure_wish *wish,
			 struct why *why)
{
	(void)loop;
	why_set(why, "there is none");
	waited.opened++;
	if (waited.error)
		return waited.error;
	assert_int_equal(waited.open, 0);
	waited.open = 1;
	waited.wish = *wish;
	*ret = (struct pressure *)(void *)&waited;
	return 0;
}

void __wrap_pressure_close(struct pressure *pressure)
{
	if (pressure)
		waited.open = 0;
}

bool __wrap_pressure_is_kernels(const struct pressure *pressure, const char **why)
{
	(void)pressure;
	*why = waited.not_kernel ? waited.not_kernel : "";
	return !waited.not_kernel;
}

static void rise(void)
{
	assert_int_equal(waited.open, 1);
	waited.wish.risen(waited.wish.arg);
}

static int trigger_begin(void **state)
{
	memset(&waited, 0, sizeof(waited));
	scripted_loads_wait = false;
	return scene_begin(state);
}

static void set_trigger(struct scene *scene, const char *text)
{
	snprintf(scene->spec.params.trigger, sizeof(scene->spec.params.trigger), "%s", text);
}

static void begin_waiting(struct scene *scene)
{
	set_trigger(scene, TRIGGER);
	apply(scene);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "waiting");
}

static void begin_fired(struct scene *scene)
{
	begin_waiting(scene);
	rise();
	run_until(scene, is_sampled(&scene->worker, ONCPU) && is_sampled(&scene->other, ONCPU));
	sample_worker(scene, PROBE_ONCPU, 7);
}

static struct trigger_status trigger_of(const struct scene *scene)
{
	struct trigger_status status;

	session_trigger(scene->session, &status);
	return status;
}

static bool waits(const struct scene *scene)
{
	return !scripted->started && waited.open && is_state(scene, PROBE_ONCPU, "waiting");
}

static void it_waits_and_nothing_is_sampled(void **state)
{
	struct scene *scene = *state;

	assert_string_equal(trigger_of(scene).state, "off");
	begin_waiting(scene);
	assert_true(waits(scene));
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "stopped");
	assert_int_equal(scripted->starts, 0);
	assert_int_equal(long_timers_count(PERIOD_S), 0);
	assert_int_equal(waited.wish.text.stall_us, 300000);
	struct trigger_status status = trigger_of(scene);
	assert_string_equal(status.state, "waiting");
	assert_string_equal(status.how, "kernel");
	assert_string_equal(status.reason, "");
	assert_has(status.waits_for, "cpu for 300 ms within 2000 ms");
}

static void where_the_kernel_does_not_tell_it_says_why(void **state)
{
	struct scene *scene = *state;

	waited.not_kernel = "it may not";
	begin_waiting(scene);
	assert_string_equal(trigger_of(scene).how, "each second");
	assert_string_equal(trigger_of(scene).reason, "it may not");
}

static void it_samples_a_period_and_waits_again(void **state)
{
	struct scene *scene = *state;

	for (unsigned i = 1; i <= 2; i++) {
		begin_fired(scene);
		assert_int_equal(waited.open, 0);
		run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
		assert_string_equal(trigger_of(scene).state, "sampling");
		assert_int_equal(long_timers_count(PERIOD_S), 1);
		end_period();
		run_until(scene, waits(scene));
		run_until(scene, stats_of(scene).files_written == i);
		assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7 * i);
		assert_int_equal(stats_of(scene).trigger.fired, i);
		assert_true(stats_of(scene).trigger.last_fired > 0);
		assert_int_equal(long_timers_count(PERIOD_S), 0);
	}
	assert_int_equal(scripted->starts, 2);
	assert_int_equal(scripted->stops, 2);
}

static void its_objects_are_loaded_beside_the_loop_when_it_fires(void **state)
{
	struct scene *scene = *state;

	scripted_loads_wait = true;
	begin_waiting(scene);
	assert_int_equal(scripted_loading(), 0);
	rise();
	assert_int_equal(scripted_loading(), 1);
	assert_false(scripted->started);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "arming");
	scripted_loaded();
	run_until(scene, is_sampled(&scene->worker, ONCPU));
}

static void a_stop_while_they_are_loaded_counts(void **state)
{
	struct scene *scene = *state;

	scripted_loads_wait = true;
	begin_waiting(scene);
	rise();
	apply_stop(scene);
	scripted_loaded();
	assert_true(has_stopped(scene));
	assert_int_equal(scripted->starts, 0);
	assert_string_equal(trigger_of(scene).state, "off");
}

static void a_stop_disarms_it(void **state)
{
	struct scene *scene = *state;

	begin_waiting(scene);
	apply_stop(scene);
	assert_int_equal(waited.open, 0);
	assert_true(has_stopped(scene));
}

static void a_stop_while_it_samples_writes_files_and_disarms_it(void **state)
{
	struct scene *scene = *state;

	begin_fired(scene);
	apply_stop(scene);
	run_until(scene, has_stopped(scene));
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(waited.open, 0);
	assert_int_equal(waited.opened, 1);
}

static void a_trigger_that_is_taken_away_begins_the_sampling(void **state)
{
	struct scene *scene = *state;

	begin_waiting(scene);
	set_trigger(scene, "");
	begin_sampling(scene, ONCPU);
	assert_int_equal(waited.open, 0);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_true(scripted->started);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void a_trigger_ends_what_sampled_without_one(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	begin_waiting(scene);
	run_until(scene, waits(scene));
	run_until(scene, stats_of(scene).files_written == 1);
}

static void another_trigger_is_waited_for_instead(void **state)
{
	struct scene *scene = *state;

	begin_waiting(scene);
	set_trigger(scene, OTHER);
	apply(scene);
	assert_true(waits(scene));
	assert_int_equal(waited.opened, 2);
	assert_string_equal(waited.wish.text.cgroup, "/some/cgroup");
	rise();
	run_until(scene, is_sampled(&scene->worker, ONCPU));
	set_trigger(scene, TRIGGER); /* not this one fired */
	apply(scene);
	run_until(scene, waits(scene));
	assert_string_equal(waited.wish.text.cgroup, "");
}

static void other_params_and_the_same_put_disturb_no_waiting(void **state)
{
	struct scene *scene = *state;

	begin_waiting(scene);
	apply(scene);
	scene->spec.params.perf_sample_period_ms = 50;
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	assert_int_equal(waited.opened, 1);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "waiting");
	rise();
	run_until(scene, is_sampled(&scene->worker, ONCPU | OFFCPU));
	assert_int_equal(scripted->period_ns, 50 * NS_PER_MS);
}

static void other_params_while_it_samples_begin_another_period(void **state)
{
	struct scene *scene = *state;

	begin_fired(scene);
	scene->spec.params.perf_sample_period_ms = 50;
	apply(scene);
	run_until(scene, scripted->period_ns == 50 * NS_PER_MS);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_string_equal(trigger_of(scene).state, "sampling");
	end_period();
	run_until(scene, waits(scene));
	assert_int_equal(stats_of(scene).trigger.fired, 1);
}

static void a_probe_is_added_and_another_leaves_while_it_samples(void **state)
{
	struct scene *scene = *state;

	begin_fired(scene);
	scene->spec.probes = ONCPU | OFFCPU;
	apply(scene);
	run_until(scene, is_sampled(&scene->worker, ONCPU | OFFCPU));
	scene->spec.probes = OFFCPU;
	apply(scene);
	end_period(); /* while the window is being read */
	run_until(scene, !scripted->started && waited.open);
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "waiting");
	run_until(scene, stats_of(scene).files_written == 1);
}

static void where_there_is_no_pressure_its_probes_are_unsupported(void **state)
{
	struct scene *scene = *state;
	const char *why;

	waited.error = -EOPNOTSUPP;
	set_trigger(scene, TRIGGER);
	apply(scene);
	assert_string_equal(session_state(scene->session, PROBE_ONCPU, &why), "unsupported");
	assert_string_equal(why, "there is none");
	assert_string_equal(trigger_of(scene).state, "unsupported");
	assert_string_equal(trigger_of(scene).reason, "there is none");
}

static void a_cgroup_that_is_missing_is_looked_for_again(void **state)
{
	struct scene *scene = *state;
	const char *why;

	waited.error = -ENOENT;
	set_trigger(scene, OTHER);
	apply(scene);
	assert_string_equal(session_state(scene->session, PROBE_ONCPU, &why), "failed");
	assert_string_equal(why, "there is none");
	waited.error = 0;
	run_until(scene, waits(scene)); /* without a PUT */
	assert_string_equal(trigger_of(scene).reason, "");
}

static void a_put_looks_for_it_at_once(void **state)
{
	struct scene *scene = *state;

	waited.error = -ENOENT;
	set_trigger(scene, OTHER);
	apply(scene);
	waited.error = 0;
	apply(scene);
	assert_true(waits(scene));
	apply_stop(scene);
	assert_int_equal(waited.open, 0);
}

static void a_cgroup_that_goes_while_it_waits_is_said(void **state)
{
	struct scene *scene = *state;
	const struct why why = {"it was removed"};
	const char *reason;

	set_trigger(scene, OTHER);
	apply(scene);
	waited.wish.ended(waited.wish.arg, -ENODEV, &why);
	assert_int_equal(waited.open, 0);
	assert_string_equal(session_state(scene->session, PROBE_ONCPU, &reason), "failed");
	assert_string_equal(reason, "it was removed");
}

static void a_start_that_fails_is_said_and_it_waits_again_later(void **state)
{
	struct scene *scene = *state;
	const char *why;

	begin_waiting(scene);
	log_set_level(LOG_ERROR + 1);
	scripted_fail(SCRIPTED_START, -EPERM);
	rise();
	assert_string_equal(session_state(scene->session, PROBE_ONCPU, &why), "failed");
	assert_has(why, "scripted error");
	assert_int_equal(waited.open, 0);
	scripted_fail(SCRIPTED_START, 0);
	end_period();
	run_until(scene, waits(scene));
	rise();
	run_until(scene, is_sampled(&scene->worker, ONCPU));
}

/* The PUT before is in force: its trigger has fired, and samples. */
static void a_put_that_fails_changes_nothing(void **state)
{
	struct scene *scene = *state;
	struct spec before = scene->spec;
	struct why why;

	begin_fired(scene);
	before = scene->spec;
	set_trigger(scene, "");
	scene->spec.probes = OFFCPU;
	scripted_fail(SCRIPTED_OFFCPU, -EPERM);
	assert_true(session_apply(scene->session, &scene->spec, &why) < 0);
	scripted_fail(SCRIPTED_OFFCPU, 0);
	scene->spec = before;
	assert_string_equal(session_spec(scene->session)->params.trigger, TRIGGER);
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
	assert_string_equal(trigger_of(scene).state, "sampling");
	end_period();
	run_until(scene, waits(scene));
}

static void what_a_put_begins_at_once_is_told(void **state)
{
	struct scene *scene = *state;

	set_trigger(scene, TRIGGER);
	assert_int_equal(session_begins(scene->session, &scene->spec), 0);
	begin_fired(scene);
	assert_int_equal(session_begins(scene->session, &scene->spec), ONCPU);
	set_trigger(scene, OTHER);
	assert_int_equal(session_begins(scene->session, &scene->spec), 0);
	set_trigger(scene, "");
	assert_int_equal(session_begins(scene->session, &scene->spec), ONCPU);
	scene->spec.running = false;
	assert_int_equal(session_begins(scene->session, &scene->spec), 0);
}

static void the_end_does_not_wait_for_it(void **state)
{
	struct scene *scene = *state;

	begin_waiting(scene);
	scene_close(scene);
	assert_int_equal(waited.open, 0);
	run_until(scene, scene->closed);
}

#define TRIGGER_TEST(test) cmocka_unit_test_setup_teardown(test, trigger_begin, scene_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TRIGGER_TEST(it_waits_and_nothing_is_sampled),
		TRIGGER_TEST(where_the_kernel_does_not_tell_it_says_why),
		TRIGGER_TEST(it_samples_a_period_and_waits_again),
		TRIGGER_TEST(its_objects_are_loaded_beside_the_loop_when_it_fires),
		TRIGGER_TEST(a_stop_while_they_are_loaded_counts),
		TRIGGER_TEST(a_stop_disarms_it),
		TRIGGER_TEST(a_stop_while_it_samples_writes_files_and_disarms_it),
		TRIGGER_TEST(a_trigger_that_is_taken_away_begins_the_sampling),
		TRIGGER_TEST(a_trigger_ends_what_sampled_without_one),
		TRIGGER_TEST(another_trigger_is_waited_for_instead),
		TRIGGER_TEST(other_params_and_the_same_put_disturb_no_waiting),
		TRIGGER_TEST(other_params_while_it_samples_begin_another_period),
		TRIGGER_TEST(a_probe_is_added_and_another_leaves_while_it_samples),
		TRIGGER_TEST(where_there_is_no_pressure_its_probes_are_unsupported),
		TRIGGER_TEST(a_cgroup_that_is_missing_is_looked_for_again),
		TRIGGER_TEST(a_put_looks_for_it_at_once),
		TRIGGER_TEST(a_cgroup_that_goes_while_it_waits_is_said),
		TRIGGER_TEST(a_start_that_fails_is_said_and_it_waits_again_later),
		TRIGGER_TEST(a_put_that_fails_changes_nothing),
		TRIGGER_TEST(what_a_put_begins_at_once_is_told),
		TRIGGER_TEST(the_end_does_not_wait_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
