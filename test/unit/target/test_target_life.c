// SPDX-License-Identifier: GPL-2.0-or-later
/* Targets through fork, exec, rename and exit, with events that come late, twice or never. */
#include "unit/target/target_life.h"

static struct process other; /* of the same name, not known yet */

static int begin(void **state)
{
	scene_begin(state);
	return 0;
}

static int end(void **state)
{
	process_end(&other);
	return scene_end(state);
}

static bool was_rejected(pid_t pid, uint64_t id)
{
	return target_table_was_rejected(targets_table(scene.targets), (uint32_t)pid, id);
}

/* Follows the scene's process by its pid, until it is sampled. */
static void follow_it(void)
{
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
}

static void begin_other(void)
{
	process_begin(&other, scene.comm);
}

/* ---- fork ---- */

static void a_child_of_a_process_that_was_named_is_a_target_at_once(void **state)
{
	struct target_value parents = {0}, childs = {0};

	(void)state;
	follow_it();
	begin_other();
	uint64_t id = life_fork(&scene.process, &other, scene.comm);
	scene_read();
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	assert_int_equal(tracer_target_get(scripted, scene.process.pid, &parents), 0);
	assert_int_equal(tracer_target_get(scripted, other.pid, &childs), 0);
	assert_int_equal(childs.id, id);
	assert_int_equal(childs.probes, ONCPU);
	assert_int_equal(childs.spans_number, parents.spans_number); /* it shares them */
	assert_int_equal(scene_stats().alive, 2);
}

static void a_child_that_execs_is_another_program(void **state)
{
	(void)state;
	follow_it();
	begin_other();
	uint64_t forked = life_fork(&scene.process, &other, scene.comm);
	uint64_t execed = life_exec(&other, scene.comm);
	scene_read();
	assert_int_equal(scene_getting(other.pid, forked, PROBE_ONCPU), SUBSCRIBER(0));
	assert_true(was_rejected(other.pid, execed));
	assert_int_equal(scene_id(other.pid), 0);
	assert_null(scene_current(other.pid));
}

static void a_process_that_was_named_stays_a_target_when_it_execs(void **state)
{
	struct target_value value = {0};

	(void)state;
	follow_it();
	uint64_t before = scene_id(scene.process.pid);
	uint64_t execed = life_exec(&scene.process, scene.other);
	scene_read();
	assert_int_equal(tracer_target_get(scripted, scene.process.pid, &value), 0);
	assert_int_equal(value.id, execed);
	assert_int_equal(value.probes, ONCPU);
	assert_int_equal(value.spans_number, 0); /* its mappings are others */
	assert_int_equal(scene_getting(scene.process.pid, before, PROBE_ONCPU), SUBSCRIBER(0));
	assert_int_equal(scene_stats().alive, 1);
}

static void a_child_that_ended_before_its_fork_is_told_is_in_no_map(void **state)
{
	(void)state;
	follow_it();
	begin_other();
	uint64_t id = life_fork(&scene.process, &other, scene.comm);
	life_exit(&other);
	scene_read();
	assert_int_equal(scene_id(other.pid), 0);
	assert_null(scene_current(other.pid));
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
}

static void a_child_of_an_unknown_parent_is_judged_by_itself(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	struct life_event event = life_event_of(LIFE_FORK, &other);
	struct target_value value = {.id = event.id, .probes = ONCPU};

	event.parent = 4194305;
	event.old_id = event.id - 1;
	strcpy(event.comm, scene.comm);
	scripted_target(other.pid, &value);
	scripted_life(&event);
	scene_read();
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	scene_follow_pid(scene.process.pid);
	scripted_target(other.pid, &value);
	scripted_life(&event);
	scene_read();
	assert_null(scene_current(other.pid));
}

/* A part of this program's command line, which its processes have, too. */
#define OURS "test_target_life"

/* Ends the other process before anybody has looked at it. */
static void end_other_unseen(void)
{
	struct process ended = other;

	process_end(&ended);
	life_exit(&other);
	scene_read();
	scene_settle();
}

static const struct target *find_other(uint64_t id)
{
	return target_table_find(targets_table(scene.targets), (uint32_t)other.pid, id);
}

static void a_child_that_ended_before_its_command_line_was_read_goes_by_its_parents(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, OURS);
	scene_until_sampled(&scene.process);
	begin_other();
	uint64_t id = life_fork(&scene.process, &other, scene.comm);
	end_other_unseen();
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
	assert_int_equal(find_other(id)->state, TARGET_ENDED);
}

static void a_program_that_ended_before_its_command_line_was_read_is_unknown(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, OURS);
	scene_until_sampled(&scene.process);
	begin_other();
	life_fork(&scene.process, &other, scene.comm);
	uint64_t id = life_exec(&other, scene.comm);
	end_other_unseen();
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
	assert_non_null(find_other(id));
	assert_int_equal(find_other(id)->match.unread, ONCPU);
}

/* ---- exec, rename, and verdicts ---- */

static void a_new_program_with_the_name_is_a_target_and_its_name_has_a_verdict(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	life_exec(&other, scene.comm);
	scene_read();
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	assert_int_equal(scripted_verdict_on(scene.comm), VERDICT_MATCHES);
}

static void a_program_of_another_name_is_dropped_and_costs_no_further_event(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	uint64_t id = life_exec(&other, scene.other);
	scene_read();
	assert_int_equal(scene_id(other.pid), 0);
	assert_true(was_rejected(other.pid, id));
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
	assert_int_equal(scripted_verdict_on(scene.other), VERDICT_DOES_NOT);
	assert_int_equal(life_exec(&other, scene.other), 0);
}

static void a_name_whose_command_line_decides_has_no_verdict(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "test_target_life");
	begin_other();
	life_exec(&other, scene.comm);
	scene_read();
	assert_int_equal(scripted_verdict_on(scene.comm), 0);
	assert_int_equal(scripted_probes(other.pid), ONCPU); /* until it is decided */
	assert_false(scene_is_target(other.pid));
	scene_until_read(&other);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void only_an_exec_brings_a_verdict(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	life_rename(&other, scene.other);
	scene_read();
	assert_int_equal(scripted_verdict_on(scene.other), 0);
	assert_int_equal(scripted->verdicts_count, 0);
}

static void a_verdict_that_came_with_the_event_is_not_told_again(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	life_exec(&other, scene.comm);
	scene_read();
	size_t told = scripted->verdicts_count;

	life_exec(&other, scene.comm);
	scene_read();
	assert_int_equal(scripted->verdicts_count, told);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void an_event_from_before_a_selection_brings_no_verdict(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	life_exec(&other, scene.comm);
	scene_follow_name(scene.other, "");
	assert_int_equal(scripted->verdicts_count, 0);
	assert_null(scene_current(other.pid));
}

static void a_name_that_nobody_follows_any_more_brings_no_verdict(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	life_exec(&other, scene.comm);
	scene.selection.followers = 0;
	scene.selection.snoopers = NULL;
	scene_select();
	assert_int_equal(scripted->verdicts_count, 0);
	assert_int_equal(scene_id(other.pid), 0);
}

static void a_new_name_that_matches_makes_a_target(void **state)
{
	(void)state;
	scene_follow_name(scene.other, "");
	uint64_t id = life_rename(&scene.process, scene.other);
	scene_read();
	assert_int_equal(scene_id(scene.process.pid), id);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void a_new_name_that_does_not_match_ends_a_target(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	scene_until_sampled(&scene.process);
	uint64_t before = scene_id(scene.process.pid);
	uint64_t id = life_rename(&scene.process, scene.other);
	scene_read();
	assert_int_equal(scene_getting(scene.process.pid, before, PROBE_ONCPU), SUBSCRIBER(0));
	assert_true(was_rejected(scene.process.pid, id));
	assert_int_equal(scene_id(scene.process.pid), 0);
	assert_int_equal(scene_stats().alive, 0);
}

static void a_renamed_process_keeps_its_mappings(void **state)
{
	struct target_value before = {0}, after = {0};

	(void)state;
	follow_it();
	tracer_target_get(scripted, scene.process.pid, &before);
	life_rename(&scene.process, scene.other);
	scene_read();
	tracer_target_get(scripted, scene.process.pid, &after);
	assert_true(after.id > before.id);
	assert_int_equal(after.spans_number, before.spans_number);
	assert_true(address_space_read_ns(scene_current(scene.process.pid)->space) > 0);
}

/* ---- events in a row, late and twice ---- */

static void of_execs_in_a_row_the_last_is_current_and_each_keeps_its_stacks(void **state)
{
	uint64_t id[3];

	(void)state;
	follow_it();
	for (size_t i = 0; i < 3; i++)
		id[i] = life_exec(&scene.process, i == 1 ? scene.other : scene.comm);
	scene_read();
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(scene_getting(scene.process.pid, id[i], PROBE_ONCPU),
				 SUBSCRIBER(0));
	assert_int_equal(scene_id(scene.process.pid), id[2]);
	assert_int_equal(scene_stats().alive, 1);
	assert_int_equal(scene_stats().table.ended, 3);
}

static void a_rejected_program_does_not_take_its_successor_along(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	begin_other();
	uint64_t first = life_exec(&other, scene.other);
	uint64_t second = life_exec(&other, scene.comm);
	scene_read();
	assert_true(was_rejected(other.pid, first));
	assert_int_equal(scene_id(other.pid), second);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void an_exit_that_comes_late_leaves_the_successor(void **state)
{
	(void)state;
	follow_it();
	struct life_event exit_ = life_event_of(LIFE_EXIT, &scene.process);

	exit_.id = scene_id(scene.process.pid);
	uint64_t id = life_exec(&scene.process, scene.other);
	scripted_life(&exit_);
	scene_read();
	assert_int_equal(scene_id(scene.process.pid), id);
	assert_int_equal(scene_stats().alive, 1);
}

static void an_exit_ends_a_target_once(void **state)
{
	(void)state;
	follow_it();
	struct life_event again = life_event_of(LIFE_EXIT, &scene.process);

	again.id = scene_id(scene.process.pid);
	life_exit(&scene.process);
	scripted_life(&again);
	scene_read();
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_stats().table.ended, 1);
	assert_int_equal(scene_getting(scene.process.pid, again.id, PROBE_ONCPU), SUBSCRIBER(0));
}

static void an_event_that_comes_twice_changes_nothing(void **state)
{
	(void)state;
	follow_it();
	uint64_t id = life_exec(&scene.process, scene.comm);
	struct life_event again = scripted->waiting[0].life;

	scripted_life(&again);
	scene_read();
	assert_int_equal(scene_id(scene.process.pid), id);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
	assert_int_equal(scene_stats().alive, 1);
	assert_int_equal(scene_stats().table.ended, 1);
	assert_int_equal(scene_stats().table.refused, 1);
}

static void an_exit_of_an_unknown_process_is_passed_over(void **state)
{
	(void)state;
	struct life_event event = life_event_of(LIFE_EXIT, &scene.process);

	scripted_life(&event);
	scene_read();
	assert_int_equal(scene_stats().table.ended, 0);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct target_value value = {0};

	(void)state;
	follow_it();
	uint64_t before = scene_id(scene.process.pid);
	struct process later = {scene.process.pid, scene.process.start_ticks + 1};

	tracer_target_del(scripted, later.pid); /* and its end wasn't reported */
	scene_follow_name(scene.other, "");
	life_exec(&later, scene.other);
	scene_read();
	tracer_target_get(scripted, later.pid, &value);
	assert_true(value.id > before);
	assert_int_equal(value.spans_number, 0);
	assert_int_equal(scene_stats().alive, 1);
	scene_follow_pid(later.pid); /* the one that has the pid by /proc */
	assert_true(scene_id(later.pid) > value.id);
	assert_int_equal(scene_stats().alive, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_child_of_a_process_that_was_named_is_a_target_at_once),
		TEST(a_child_that_execs_is_another_program),
		TEST(a_process_that_was_named_stays_a_target_when_it_execs),
		TEST(a_child_that_ended_before_its_fork_is_told_is_in_no_map),
		TEST(a_child_of_an_unknown_parent_is_judged_by_itself),
		TEST(a_child_that_ended_before_its_command_line_was_read_goes_by_its_parents),
		TEST(a_program_that_ended_before_its_command_line_was_read_is_unknown),
		TEST(a_new_program_with_the_name_is_a_target_and_its_name_has_a_verdict),
		TEST(a_program_of_another_name_is_dropped_and_costs_no_further_event),
		TEST(a_name_whose_command_line_decides_has_no_verdict),
		TEST(only_an_exec_brings_a_verdict),
		TEST(a_verdict_that_came_with_the_event_is_not_told_again),
		TEST(an_event_from_before_a_selection_brings_no_verdict),
		TEST(a_name_that_nobody_follows_any_more_brings_no_verdict),
		TEST(a_new_name_that_matches_makes_a_target),
		TEST(a_new_name_that_does_not_match_ends_a_target),
		TEST(a_renamed_process_keeps_its_mappings),
		TEST(of_execs_in_a_row_the_last_is_current_and_each_keeps_its_stacks),
		TEST(a_rejected_program_does_not_take_its_successor_along),
		TEST(an_exit_that_comes_late_leaves_the_successor),
		TEST(an_exit_ends_a_target_once),
		TEST(an_event_that_comes_twice_changes_nothing),
		TEST(an_exit_of_an_unknown_process_is_passed_over),
		TEST(a_pid_that_is_used_again_is_another_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
