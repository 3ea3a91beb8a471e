// SPDX-License-Identifier: GPL-2.0-or-later
/* Whose CPU times are shown, and which ended processes the kernel's side may forget. */
#include "unit/engine/engine_scene.h"

struct shown {
	size_t count;
	struct process_times last;
};

static void show(void *arg, const struct process_times *process)
{
	struct shown *shown = arg;

	shown->count++;
	shown->last = *process;
}

/* Returns what is shown now. They are read once a second at most: in a test, once. */
static struct shown times_now(struct scene *scene)
{
	struct shown shown = {0};

	engine_times(scene->engine, show, &shown);
	return shown;
}

/* The kernel's side knows a thread of the process. */
static void run(const struct process *process, uint64_t id, uint64_t run_ns)
{
	scripted->times[scripted->times_count++] = (struct thread_times){
		.start_ns = 5,
		.id = id,
		.tgid = (uint32_t)process->pid,
		.tid = (uint32_t)process->pid,
		.comm = "worker",
		.own = {.run_ns = run_ns},
	};
}

/* The kernel's side has the sums of a process that ended, and was waited for so long ago. */
static void gone(const struct process *process, uint64_t id, uint64_t run_ns, uint64_t ago_ns)
{
	scripted->gone[scripted->gone_count++] = (struct scripted_gone){
		.key = {.signal = 1, .tgid = (uint64_t)process->pid},
		.gone = {.start_ns = 5,
			 .id = id,
			 .reaped_ns = loop_now_ns() - ago_ns,
			 .times = {.run_ns = run_ns},
			 .comm = "worker"},
	};
}

static uint64_t id_of(const struct scene *scene, const struct process *process)
{
	return engine_target(scene->engine, process->pid)->id;
}

static void threads_of_a_process_are_summed_up(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	run(&scene->process, id_of(scene, &scene->process), 100);
	run(&scene->process, id_of(scene, &scene->process), 20);
	struct shown shown = times_now(scene);
	assert_int_equal(shown.count, 1);
	assert_int_equal(shown.last.pid, scene->process.pid);
	assert_int_equal(shown.last.times.run_ns, 120);
	assert_int_equal(shown.last.ended_ns, 0);
	assert_true(scene_stats(scene).times_state.is_on);
}

static void only_what_is_wanted_for_switches_is_shown(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	scene_subscribe(scene, &scene->other, ON(ONCPU));
	run(&scene->other, id_of(scene, &scene->other), 100);
	run(&scene->process, id_of(scene, &scene->process) + 1, 100); /* not known yet */
	assert_int_equal(times_now(scene).count, 0);
}

static void a_window_reads_them_before_the_ended_are_forgotten(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	run(&scene->process, id_of(scene, &scene->process), 100);
	scripted_core_drain(&scene->core);
	scripted->times_count = 0;
	assert_int_equal(times_now(scene).count, 1);
}

static void one_that_ended_is_shown_and_forgotten_in_the_kernel(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	gone(&scene->process, id_of(scene, &scene->process), 70, 2 * NS_PER_S);
	struct shown shown = times_now(scene);
	assert_int_equal(shown.count, 1);
	assert_int_equal(shown.last.times.run_ns, 70);
	assert_true(shown.last.ended_ns > 0);
	assert_int_equal(scripted->times_forgotten, 1);
}

static void one_that_is_not_complete_is_kept_in_the_kernel(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	gone(&scene->process, id_of(scene, &scene->process), 70, 0);
	scripted->gone[0].gone.reaped_ns = 0; /* a zombie */
	assert_int_equal(times_now(scene).count, 1);
	assert_int_equal(scripted->times_forgotten, 0);
}

static void one_that_nobody_knows_is_kept_a_while(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	gone(&scene->other, 999, 70, 0); /* its event may be on its way */
	assert_int_equal(times_now(scene).count, 0);
	assert_int_equal(scripted->times_forgotten, 0);
}

static void one_that_nobody_wanted_is_forgotten_in_the_end(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	gone(&scene->other, 999, 70, 60 * NS_PER_S);
	assert_int_equal(times_now(scene).count, 0);
	assert_int_equal(scripted->times_forgotten, 1);
}

static void without_the_schedulers_programs_there_are_none(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(ONCPU));
	run(&scene->process, id_of(scene, &scene->process), 100);
	assert_int_equal(times_now(scene).count, 0);
	assert_false(scene_stats(scene).times_state.is_on);
}

static void a_reading_that_fails_shows_nothing_new(void **state)
{
	struct scene *scene = *state;

	scene_subscribe(scene, &scene->process, ON(OFFCPU));
	scripted_fail(SCRIPTED_TIMES_READ, -EIO);
	assert_int_equal(times_now(scene).count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_of_a_process_are_summed_up),
		TEST(only_what_is_wanted_for_switches_is_shown),
		TEST(a_window_reads_them_before_the_ended_are_forgotten),
		TEST(one_that_ended_is_shown_and_forgotten_in_the_kernel),
		TEST(one_that_is_not_complete_is_kept_in_the_kernel),
		TEST(one_that_nobody_knows_is_kept_a_while),
		TEST(one_that_nobody_wanted_is_forgotten_in_the_end),
		TEST(without_the_schedulers_programs_there_are_none),
		TEST(a_reading_that_fails_shows_nothing_new),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
