// SPDX-License-Identifier: GPL-2.0-or-later
/* Which processes become targets when a selection is made or changed. */
#include "unit/target/target_life.h"

/* A part of this program's command line, which its processes have, too. */
#define OURS	"test_target_select"
#define NOBODYS "no process has this"

static void a_process_that_is_named_by_pid_is_sampled_with_its_tables(void **state)
{
	struct target_value value = {0};

	(void)state;
	scene_follow_pid(scene.process.pid);
	assert_int_equal(scripted_probes(scene.process.pid), 0); /* it is armed first */
	assert_true(targets_are_arming(scene.targets));
	scene_until_sampled(&scene.process);
	assert_int_equal(tracer_target_get(scripted, scene.process.pid, &value), 0);
	assert_int_equal(value.probes, ONCPU);
	assert_true(value.spans_count > 0 && value.spans_number > 0);
	assert_false(targets_are_arming(scene.targets));
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
	assert_int_equal(scene_stats().alive, 1);
	assert_int_equal(scene_stats().unread, 0);
	assert_true(scene.maps_told > 0);
}

static void a_pid_without_a_process_selects_nobody(void **state)
{
	(void)state;
	scene_follow_pid(4194305); /* more than any */
	assert_int_equal(scene_stats().alive, 0);
	assert_false(scripted->follow);
}

static void only_names_make_the_kernel_report_new_programs(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	assert_false(scripted->follow);
	assert_int_equal(scripted->pending_probes, ONCPU);
	scene_follow_name(scene.comm, "");
	assert_true(scripted->follow);
	assert_false(scripted->by_group);
}

static void a_name_selects_whoever_has_it(void **state)
{
	struct process other;

	(void)state;
	process_begin(&other, scene.other);
	scene_follow_name(scene.comm, "");
	assert_true(scene_is_target(scene.process.pid));
	assert_false(scene_is_target(other.pid));
	assert_null(scene_current(other.pid));
	process_end(&other);
}

static void a_process_is_undecided_until_its_command_line_is_read(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, OURS);
	assert_false(scene_is_target(scene.process.pid));
	assert_int_equal(scene_getting(scene.process.pid, scene_id(scene.process.pid), PROBE_ONCPU),
			 0);
	scene_until_sampled(&scene.process);
	assert_true(scene_is_target(scene.process.pid));
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static bool has_ended(void *arg)
{
	const struct process *process = arg;

	return !scene_current(process->pid);
}

static void another_command_line_rejects_it(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, NOBODYS);
	uint64_t id = scene_id(scene.process.pid);

	assert_int_not_equal(id, 0);
	assert_non_null(scene_current(scene.process.pid));
	scene_until(has_ended, &scene.process);
	assert_int_equal(scene_id(scene.process.pid), 0);
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), 0);
	assert_int_equal(scene_stats().alive, 0);
}

static void an_answer_to_an_older_question_is_asked_for_again(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_name(scene.comm, NOBODYS);
	scene_await_held();
	scene_follow_name(scene.comm, OURS);
	scene_release();
	scene_until_sampled(&scene.process);
	assert_true(scene_readings(scene.process.pid) >= 2);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void a_command_line_that_was_read_decides_for_further_probes(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, OURS);
	scene_until_sampled(&scene.process);
	scene.selection.wanting[PROBE_OFFCPU] = SUBSCRIBER(0);
	scene_select();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU | OFFCPU);
	assert_true(scene_is_target(scene.process.pid));
}

static void a_target_that_a_new_selection_leaves_undecided_goes_on_as_before(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);

	scene_follow_name(scene.comm, NOBODYS);
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU);
	scene_until_dropped(&scene.process);
	/* What was sampled until now was wanted. */
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
	assert_null(scene_current(scene.process.pid));
}

static void a_deselected_target_ends_and_its_stacks_stay(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);

	scene_follow_name(scene.other, "");
	assert_int_equal(scene_id(scene.process.pid), 0);
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
	assert_int_equal(scene_stats().alive, 0);
	assert_int_equal(scene_stats().table.ended, 1);
}

static void a_deselected_target_that_is_chosen_again_is_another_one(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);

	scene_follow_name(scene.other, "");
	scene_skip(NS_PER_MS);
	scene_follow_pid(scene.process.pid);
	assert_int_equal(scripted_probes(scene.process.pid), 0);
	scene_until_sampled(&scene.process);
	assert_true(scene_id(scene.process.pid) > id);
}

static void fewer_probes_are_taken_at_once(void **state)
{
	(void)state;
	scene.selection.wanting[PROBE_OFFCPU] = SUBSCRIBER(0);
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU | OFFCPU);
	uint64_t id = scene_id(scene.process.pid);

	scene.selection.wanting[PROBE_OFFCPU] = 0;
	scene_select();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU);
	assert_int_equal(scene_id(scene.process.pid), id);
}

static void who_is_wanted_by_sched_alone_is_not_read(void **state)
{
	(void)state;
	scene.selection.wanting[PROBE_ONCPU] = 0;
	scene.selection.wanting[PROBE_COUNT] = SUBSCRIBER(0);
	scene_follow_pid(scene.process.pid);
	scene_settle();
	assert_int_equal(scene_readings(scene.process.pid), 0);
	assert_int_equal(scripted_probes(scene.process.pid), WANTED_SCHED);
	assert_int_equal(scripted->pending_probes, MAYBE_SCHED);
	assert_false(
		targets_will_want(scene.targets, scene_current(scene.process.pid), PROBE_ONCPU));
	assert_true(targets_want_times(scene.targets, scene_current(scene.process.pid)));
}

static void a_target_of_sched_is_armed_when_stacks_are_wanted_too(void **state)
{
	(void)state;
	scene.selection.wanting[PROBE_COUNT] = SUBSCRIBER(0);
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	scene.selection.wanting[PROBE_ONCPU] = 0;
	scene_select();
	assert_int_equal(scripted_probes(scene.process.pid), WANTED_SCHED);
	scene.selection.wanting[PROBE_ONCPU] = SUBSCRIBER(0);
	scene_select();
	assert_true(targets_are_arming(scene.targets));
	scene_until_sampled(&scene.process);
	assert_int_equal(scripted_probes(scene.process.pid), WANTED_SCHED | ONCPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_process_that_is_named_by_pid_is_sampled_with_its_tables),
		SCENE_TEST(a_pid_without_a_process_selects_nobody),
		SCENE_TEST(only_names_make_the_kernel_report_new_programs),
		SCENE_TEST(a_name_selects_whoever_has_it),
		SCENE_TEST(a_process_is_undecided_until_its_command_line_is_read),
		SCENE_TEST(another_command_line_rejects_it),
		SCENE_TEST(an_answer_to_an_older_question_is_asked_for_again),
		SCENE_TEST(a_command_line_that_was_read_decides_for_further_probes),
		SCENE_TEST(a_target_that_a_new_selection_leaves_undecided_goes_on_as_before),
		SCENE_TEST(a_deselected_target_ends_and_its_stacks_stay),
		SCENE_TEST(a_deselected_target_that_is_chosen_again_is_another_one),
		SCENE_TEST(fewer_probes_are_taken_at_once),
		SCENE_TEST(who_is_wanted_by_sched_alone_is_not_read),
		SCENE_TEST(a_target_of_sched_is_armed_when_stacks_are_wanted_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
