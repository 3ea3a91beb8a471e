// SPDX-License-Identifier: GPL-2.0-or-later
/* The feature /sched over a scripted tracer: what is turned on, what begins at zero, what is told.
 */
#include "unit/engine/engine_scene.h"

#include <sys/mman.h>
#include <unistd.h>

#include "sched/sched_state.h"

#define OF(probe) (1u << SCHED_##probe)

static const struct sched_params defaults = {
	.min_us = 1000, .latency_thr_ms = SCHED_THR_UNSET, .report_period_s = 3600};

static struct {
	struct sched *sched;
	struct spec spec;
	struct why why;
} test;

static int begin(void **state)
{
	struct params params = {.sched = defaults};
	int r = scene_begin(state);
	struct scene *scene = *state;
	struct sched_setup setup = {scene->core.core.loop, scene->engine, defaults};

	memset(&test, 0, sizeof(test));
	assert_int_equal(sched_new(&test.sched, &setup), 0);
	assert_int_equal(spec_init(&test.spec, &params), 0);
	test.spec.running = true;
	return r;
}

static int end(void **state)
{
	sched_cancel_waits(test.sched);
	sched_free(test.sched);
	spec_done(&test.spec);
	return scene_end(state);
}

#define SCHED_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static int apply(uint32_t probes)
{
	test.spec.probes = probes;
	test.why.text[0] = '\0';
	return sched_apply(test.sched, &test.spec, &test.why);
}

static void assert_state(enum sched_probe probe, const char *expected, const char *reason)
{
	const char *why;

	assert_string_equal(sched_state(test.sched, probe, &why), expected);
	assert_string_equal(why, reason);
}

/* The kernel's side has counted so many delays below one microsecond, of one group. */
static void counted(uint64_t events)
{
	scripted->hists_rows[0] = (struct hist_row){.hist = {.slots = {events}}};
	scripted->hists_count = 1;
}

/* Returns how many a probe's data has; a negative errno: there is none. */
static int64_t read_count(enum sched_probe probe)
{
	struct sched_data fresh;
	const struct sched_data *data;
	struct hist sum;
	int r = sched_read(test.sched, probe, &fresh, &data);

	if (r == 0)
		sched_data_sum(data, &sum);
	sched_data_done(&fresh);
	return r < 0 ? r : (int64_t)hist_count(&sum);
}

/* ---- on and off ---- */

static void nothing_runs_before_the_first_spec(void **unused)
{
	(void)unused;
	assert_null(sched_spec(test.sched));
	assert_state(SCHED_RUNQLAT, "stopped", "");
	assert_int_equal(read_count(SCHED_RUNQLAT), -ENOENT);
	assert_int_equal(scripted->starts, 0);
}

static void probes_run_that_the_spec_names(void **unused)
{
	(void)unused;
	assert_int_equal(apply(OF(RUNQLAT) | OF(CPUDIST)), 0);
	assert_true(scripted->hists);
	assert_int_equal(scripted->hists_settings.probes, OF(RUNQLAT) | OF(CPUDIST));
	assert_true(scripted->hists_settings.everybody); /* nobody is chosen */
	assert_int_equal(scripted->hists_settings.slow_ns, NS_PER_MS);
	assert_state(SCHED_RUNQLAT, "running", "");
	assert_state(SCHED_RUNQLEN, "stopped", "");
	assert_int_equal(sched_spec(test.sched)->probes, OF(RUNQLAT) | OF(CPUDIST));
}

static void one_that_is_stopped_unloads_all(void **unused)
{
	(void)unused;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	test.spec.running = false;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_false(scripted->started);
	assert_state(SCHED_RUNQLAT, "stopped", "");
}

static void a_chosen_process_is_followed(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(snoopers_add_id(test.spec.snoopers, scene->process.pid), 0);
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_false(scripted->hists_settings.everybody);
	scene_sampled(scene, &scene->process, WANTED_SCHED);
	assert_int_equal(scripted_probes(scene->other.pid), 0);
}

/* Not even all processes are looked at once more. */
static void the_same_choice_again_disturbs_nothing(void **state)
{
	struct scene *scene = *state;
	struct params params = {.sched = defaults};
	struct spec same;

	assert_int_equal(snoopers_add_id(test.spec.snoopers, scene->process.pid), 0);
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	unsigned selections = scripted->selections;
	assert_int_equal(spec_init(&same, &params), 0);
	assert_int_equal(snoopers_add_id(same.snoopers, scene->process.pid), 0);
	same.probes = OF(RUNQLAT);
	same.running = true;
	counted(5);
	assert_int_equal(sched_apply(test.sched, &same, &test.why), 0);
	spec_done(&same);
	assert_int_equal(scripted->selections, selections);
	assert_int_equal(read_count(SCHED_RUNQLAT), 5);
}

static void the_threshold_in_milliseconds_goes_first(void **unused)
{
	(void)unused;
	test.spec.params.sched.latency_thr_ms = 7;
	test.spec.params.sched.group_by = GROUP_PID;
	assert_int_equal(apply(OF(RUNQSLOWER) | OF(RUNQLAT) | OF(RUNQLEN)), 0);
	assert_int_equal(scripted->hists_settings.slow_ns, 7 * NS_PER_MS);
	assert_int_equal(scripted->hists_settings.group_by[SCHED_RUNQLAT], GROUP_PID);
	assert_int_equal(scripted->hists_settings.group_by[SCHED_RUNQLEN], GROUP_NONE);
}

/* ---- what can't run ---- */

static void a_refused_spec_changes_nothing(void **unused)
{
	(void)unused;
	scripted_fail(SCRIPTED_HISTS, -EPERM);
	assert_int_equal(apply(OF(RUNQLAT)), -EPERM);
	assert_string_equal(test.why.text, "scripted error -1");
	assert_null(sched_spec(test.sched));
	assert_false(scripted->started);
	scripted_fail(SCRIPTED_HISTS, 0);
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_state(SCHED_RUNQLAT, "running", "");
}

static void what_ran_before_a_refusal_ends_if_it_cannot_go_on(void **unused)
{
	(void)unused;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	scripted_fail(SCRIPTED_HISTS, -EIO);
	assert_int_equal(apply(OF(RUNQLAT) | OF(CPUDIST)), -EIO);
	assert_int_equal(sched_spec(test.sched)->probes, OF(RUNQLAT));
	assert_false(scripted->started);
	assert_state(SCHED_RUNQLAT, "unsupported", "scripted error -5");
}

static void without_a_tracer_there_is_none(void **unused)
{
	(void)unused;
	scripted_fail(SCRIPTED_START, -EACCES);
	assert_int_equal(apply(OF(RUNQLAT)), -EACCES);
	assert_string_equal(test.why.text, "scripted error -13");
}

/* ---- what was counted ---- */

static void what_a_probe_counted_is_read_until_it_begins_again(void **unused)
{
	(void)unused;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	counted(5);
	assert_int_equal(read_count(SCHED_RUNQLAT), 5);
	assert_int_equal(apply(OF(CPUDIST)), 0);
	counted(9);
	assert_int_equal(read_count(SCHED_RUNQLAT), 5); /* as at its end */
	assert_int_equal(read_count(SCHED_CPUDIST), 9);
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_int_equal(read_count(SCHED_RUNQLAT), 9);
	assert_int_equal(read_count(SCHED_RUNQLEN), -ENOENT);
}

/* ---- measurements of some seconds ---- */

struct measured {
	bool done;
	int error;
	uint64_t count;
};

static void measure_done(void *arg, int error, const struct sched_data *data)
{
	struct measured *measured = arg;
	struct hist sum = {0};

	if (error == 0)
		sched_data_sum(data, &sum);
	*measured = (struct measured){true, error, hist_count(&sum)};
}

static int measure(struct measured *measured, enum sched_probe probe, unsigned seconds)
{
	struct sched_wait *wait;

	*measured = (struct measured){0};
	test.why.text[0] = '\0';
	return sched_wait(test.sched,
			  &(struct sched_asking){.probe = probe,
						 .seconds = seconds,
						 .times = 1,
						 .done = measure_done,
						 .arg = measured},
			  &wait, &test.why);
}

static void a_measurement_turns_its_probe_on_and_off(void **state)
{
	struct scene *scene = *state;
	struct measured measured;

	assert_int_equal(measure(&measured, SCHED_RUNQLAT, 0), 0);
	assert_int_equal(scripted->hists_settings.probes, OF(RUNQLAT));
	assert_state(SCHED_RUNQLAT, "stopped", ""); /* no PUT asked for it */
	assert_int_equal(read_count(SCHED_RUNQLAT), -ENOENT);
	scripted_core_until(&scene->core, scripted_is_set, &measured.done);
	assert_int_equal(measured.error, 0);
	assert_false(scripted->started);
}

static void a_measurement_has_what_is_new(void **state)
{
	struct scene *scene = *state;
	struct measured measured;

	assert_int_equal(apply(OF(RUNQLAT)), 0);
	counted(5);
	assert_int_equal(measure(&measured, SCHED_RUNQLAT, 0), 0);
	counted(8);
	scripted_core_until(&scene->core, scripted_is_set, &measured.done);
	assert_int_equal(measured.count, 3);
	assert_int_equal(read_count(SCHED_RUNQLAT), 8); /* which the spec's go on with */
	assert_state(SCHED_RUNQLAT, "running", "");
}

static void a_measurement_whose_groups_change_is_stale(void **state)
{
	struct scene *scene = *state;
	struct measured measured;

	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_int_equal(measure(&measured, SCHED_RUNQLAT, 0), 0);
	test.spec.params.sched.group_by = GROUP_PID;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	scripted_core_until(&scene->core, scripted_is_set, &measured.done);
	assert_int_equal(measured.error, -ESTALE);
}

static void so_many_measure_at_once(void **unused)
{
	struct measured measured[SCHED_WAITS_MAX], more;

	(void)unused;
	for (int i = 0; i < SCHED_WAITS_MAX; i++)
		assert_int_equal(measure(&measured[i], SCHED_RUNQLAT, 3600), 0);
	assert_int_equal(measure(&more, SCHED_RUNQLAT, 3600), -EBUSY);
	assert_string_equal(test.why.text, "8 measurements of some seconds run already");
	sched_cancel_waits(test.sched);
	for (int i = 0; i < SCHED_WAITS_MAX; i++)
		assert_int_equal(measured[i].error, -ECANCELED);
	assert_false(scripted->started);
}

static void what_cannot_run_cannot_be_measured(void **unused)
{
	struct measured measured;

	(void)unused;
	scripted_fail(SCRIPTED_HISTS, -ENOSYS);
	assert_true(measure(&measured, SCHED_CPUDIST, 0) < 0);
	assert_string_equal(test.why.text, "scripted error -38");
	assert_false(measured.done);
	assert_false(scripted->started);
}

/* Measurements one after the other: what each had. */
struct series {
	bool done;
	unsigned count;
	uint64_t counts[3];
	int error;
	uint64_t next; /* what the kernel's side has counted at the next end */
};

static void series_done(void *arg, int error, const struct sched_data *data)
{
	struct series *series = arg;
	struct hist sum = {0};

	series->error = error;
	series->done = error < 0 || series->count == 2;
	if (error == 0) {
		sched_data_sum(data, &sum);
		series->counts[series->count++] = hist_count(&sum);
		counted(series->next += 10);
	}
}

static void measurements_follow_each_other(void **state)
{
	struct scene *scene = *state;
	struct series series = {.next = 8};
	struct sched_asking asking = {
		.probe = SCHED_RUNQLAT, .times = 3, .done = series_done, .arg = &series};
	struct sched_wait *wait;

	counted(5);
	assert_int_equal(sched_wait(test.sched, &asking, &wait, &test.why), 0);
	counted(8);
	scripted_core_until(&scene->core, scripted_is_set, &series.done);
	assert_int_equal(series.error, 0);
	assert_int_equal(series.count, 3);
	assert_int_equal(series.counts[0], 3);
	assert_int_equal(series.counts[1], 10);
	assert_int_equal(series.counts[2], 10);
	assert_false(scripted->started);
}

static void scaled_done(void *arg, int error, const struct sched_data *data)
{
	struct measured *measured = arg;

	*measured = (struct measured){.done = true, .error = error};
	for (size_t i = 0; error == 0 && i < data->count; i++) {
		const struct cell_key *key = &data->cells[i].key;

		assert_true(i == 0 || key->group > key[-1].group || key->cell > 0);
		measured->count += scale_from(&data->scale, key->cell) * data->cells[i].cell.count;
	}
}

static void a_measurement_has_a_scale_of_its_own(void **state)
{
	struct scene *scene = *state;
	struct measured measured = {0}, more = {0};
	struct sched_asking asking = {.probe = SCHED_OFFCPUDIST,
				      .times = 1,
				      .scale = {.unit_us = 1000, .step = 5},
				      .done = scaled_done,
				      .arg = &measured};
	struct sched_wait *wait;

	assert_int_equal(sched_wait(test.sched, &asking, &wait, &test.why), 0);
	assert_int_equal(scripted->scaled_count, 1);
	assert_int_equal(scripted->scales[0].probe, SCHED_OFFCPUDIST);
	assert_int_equal(scripted->scales[0].unit_ns, 5 * NS_PER_MS);
	assert_int_equal(scripted->scales[0].powers, 0);
	scripted->cells[0] = (struct hist_cell){{.cell = 4}, {.count = 2}};
	scripted->cells[1] = (struct hist_cell){{.cell = 1}, {.count = 1}};
	scripted->cells_count = 2;
	scripted_core_until(&scene->core, scripted_is_set, &measured.done);
	assert_int_equal(measured.error, 0);
	assert_int_equal(measured.count, 2 * 20 + 5);
	assert_false(scripted->started);

	asking.seconds = 3600;
	asking.scale = (struct sched_scale){.unit_us = 1000};
	asking.arg = &more;
	for (int i = 0; i < SCALED_MAX; i++)
		assert_int_equal(sched_wait(test.sched, &asking, &wait, &test.why), 0);
	assert_int_equal(scripted->scales[1].unit_ns, NS_PER_MS);
	assert_int_equal(scripted->scales[1].powers, 1);
	assert_int_equal(sched_wait(test.sched, &asking, &wait, &test.why), -EBUSY);
	assert_string_equal(test.why.text, "4 measurements with a unit or step run already");
	sched_cancel_waits(test.sched);
	assert_int_equal(more.error, -ECANCELED);
	assert_int_equal(scripted->scaled_count, 0);
}

/* ---- slow waits ---- */

static void woken(void *arg)
{
	unsigned *calls = arg;

	(*calls)++;
}

/* A task of the process waited so long. */
static void wait_slowly(const struct process *process, uint64_t delay_ns)
{
	struct slow_event event = {.probe = SCHED_RUNQSLOWER,
				   .time_ns = loop_now_ns(),
				   .delay_ns = delay_ns,
				   .tgid = (uint32_t)process->pid,
				   .tid = (uint32_t)process->pid,
				   .comm = "worker"};

	scripted->events.slow(scripted->events.arg, &event, NULL);
}

static void a_follower_gets_events_from_then_on(void **state)
{
	struct scene *scene = *state;
	struct sched_follower *follower;
	struct slow_entry entry;
	uint64_t missed;
	unsigned calls = 0;

	assert_int_equal(sched_follow(test.sched, SCHED_RUNQSLOWER, woken, &calls, &follower),
			 -ENOENT);
	assert_int_equal(snoopers_add_id(test.spec.snoopers, scene->process.pid), 0);
	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	wait_slowly(&scene->process, 1);
	assert_int_equal(sched_follow(test.sched, SCHED_RUNQSLOWER, woken, &calls, &follower), 0);
	assert_int_equal(sched_follower_next(follower, &entry, &missed), 0);
	wait_slowly(&scene->process, 2);
	wait_slowly(&scene->other, 3);
	assert_int_equal(calls, 2);
	assert_int_equal(sched_follower_next(follower, &entry, &missed), 1);
	assert_int_equal(entry.delay_ns, 2);
	assert_int_equal(entry.target_id, engine_target(scene->engine, scene->process.pid)->id);
	assert_int_equal(sched_follower_next(follower, &entry, &missed), 1);
	assert_int_equal(entry.target_id, 0); /* it wasn't chosen */
	assert_int_equal(missed, 0);

	test.spec.running = false;
	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	assert_int_equal(calls, 3);
	assert_int_equal(sched_follower_next(follower, &entry, &missed), -ENOENT);
	sched_unfollow(follower);
}

static void a_slow_follower_misses_the_oldest(void **state)
{
	struct scene *scene = *state;
	struct sched_follower *follower, *others[SCHED_FOLLOWERS_MAX];
	struct slow_entry entry;
	uint64_t missed;
	unsigned calls = 0;

	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	assert_int_equal(sched_follow(test.sched, SCHED_RUNQSLOWER, woken, &calls, &follower), 0);
	for (int i = 1; i < SCHED_FOLLOWERS_MAX; i++)
		assert_int_equal(
			sched_follow(test.sched, SCHED_RUNQSLOWER, woken, &calls, &others[i]), 0);
	assert_int_equal(sched_follow(test.sched, SCHED_RUNQSLOWER, woken, &calls, &others[0]),
			 -EBUSY);
	for (uint64_t i = 0; i < SLOW_LOG_EVENTS + 3; i++)
		wait_slowly(&scene->process, i);
	assert_int_equal(sched_follower_next(follower, &entry, &missed), 1);
	assert_int_equal(missed, 3);
	assert_int_equal(entry.delay_ns, 3);
	sched_unfollow(follower);
	for (int i = 1; i < SCHED_FOLLOWERS_MAX; i++)
		sched_unfollow(others[i]);
}

static void slow_waits_are_listed_with_those_of_before(void **state)
{
	struct scene *scene = *state;
	struct sched_data fresh;
	const struct sched_data *data;

	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	wait_slowly(&scene->process, 1);
	wait_slowly(&scene->process, 2);
	assert_int_equal(sched_read(test.sched, SCHED_RUNQSLOWER, &fresh, &data), 0);
	assert_int_equal(data->count, 2);
	assert_int_equal(data->events[1].delay_ns, 2);
	assert_int_equal(data->slow_ns, NS_PER_MS);
	sched_data_done(&fresh);

	test.spec.running = false;
	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	wait_slowly(&scene->process, 3); /* nobody counts it */
	assert_int_equal(sched_read(test.sched, SCHED_RUNQSLOWER, &fresh, &data), 0);
	assert_int_equal(data->count, 2);
	sched_data_done(&fresh);

	test.spec.running = true; /* from zero */
	assert_int_equal(apply(OF(RUNQSLOWER)), 0);
	assert_int_equal(sched_read(test.sched, SCHED_RUNQSLOWER, &fresh, &data), 0);
	assert_int_equal(data->count, 0);
	sched_data_done(&fresh);
}

/* ---- reports ---- */

/* Returns what sched_report() writes into the log. */
static const char *report(void)
{
	static char text[4096];
	int log = memfd_create("log", 0), before = dup(STDERR_FILENO);

	assert_true(log >= 0 && before >= 0);
	dup2(log, STDERR_FILENO);
	sched_report(test.sched);
	dup2(before, STDERR_FILENO);
	ssize_t len = pread(log, text, sizeof(text) - 1, 0);
	assert_true(len > 0);
	text[len] = '\0';
	close(log);
	close(before);
	return text;
}

static void a_report_tells_of_each_probe_what_is_new(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(apply(OF(RUNQLAT) | OF(RUNQLEN) | OF(RUNQSLOWER) | OF(CPUDIST)), 0);
	counted(5);
	scripted->lengths = (struct lengths){.slots = {3, 1}};
	wait_slowly(&scene->process, 7 * NS_PER_MS);
	assert_string_equal(report(),
			    "info sched, the last 3600 s; runqlat: 5 waits for a CPU, half below "
			    "1 us, 99 % below 1 us; runqlen: a task waited in 25.0 % of the looks; "
			    "runqslower: 1 longer than 1000 us; cpudist: 5 times on a CPU, half "
			    "below 1 us, 99 % below 1 us\n");
	counted(8);
	scripted->lengths.slots[0] += 6;
	assert_has(report(), "; runqlat: 3 waits for a CPU, half below");
	assert_has(report(), "; runqlat: 0 waits for a CPU; runqlen: no look; runqslower: 0 longer "
			     "than 1000 us; cpudist: 0 times on a CPU\n");
}

static void a_report_begins_at_zero_with_its_probe(void **unused)
{
	static struct measured measured;

	(void)unused;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	counted(50);
	assert_has(report(), "; runqlat: 50 waits");
	test.spec.running = false;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	assert_int_equal(measure(&measured, SCHED_RUNQLAT, 3600), 0); /* turns it on again */
	test.spec.running = true;
	assert_int_equal(apply(OF(RUNQLAT)), 0);
	counted(60);
	assert_has(report(), "; runqlat: 60 waits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHED_TEST(nothing_runs_before_the_first_spec),
		SCHED_TEST(probes_run_that_the_spec_names),
		SCHED_TEST(one_that_is_stopped_unloads_all),
		SCHED_TEST(a_chosen_process_is_followed),
		SCHED_TEST(the_same_choice_again_disturbs_nothing),
		SCHED_TEST(the_threshold_in_milliseconds_goes_first),
		SCHED_TEST(a_refused_spec_changes_nothing),
		SCHED_TEST(what_ran_before_a_refusal_ends_if_it_cannot_go_on),
		SCHED_TEST(without_a_tracer_there_is_none),
		SCHED_TEST(what_a_probe_counted_is_read_until_it_begins_again),
		SCHED_TEST(a_measurement_turns_its_probe_on_and_off),
		SCHED_TEST(a_measurement_has_what_is_new),
		SCHED_TEST(a_measurement_whose_groups_change_is_stale),
		SCHED_TEST(so_many_measure_at_once),
		SCHED_TEST(what_cannot_run_cannot_be_measured),
		SCHED_TEST(a_follower_gets_events_from_then_on),
		SCHED_TEST(measurements_follow_each_other),
		SCHED_TEST(a_measurement_has_a_scale_of_its_own),
		SCHED_TEST(a_slow_follower_misses_the_oldest),
		SCHED_TEST(slow_waits_are_listed_with_those_of_before),
		SCHED_TEST(a_report_tells_of_each_probe_what_is_new),
		SCHED_TEST(a_report_begins_at_zero_with_its_probe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
