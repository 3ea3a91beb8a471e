// SPDX-License-Identifier: GPL-2.0-or-later
/* Scans for processes that were in a container before it was chosen, or that move into one. */
#include "unit/target/container_targets.h"

#define MOVED_MAX 1024 /* of target_state.h */

static void place(const struct process *process, const char *line)
{
	placed[0].text = line;
	placed[0].pid = process->pid;
}

static void move(const struct process *process)
{
	struct life_event event = life_event_of(LIFE_MOVED, process);

	event.group = key_web;
	scripted_life(&event);
	scene_read();
}

/* No scan is under way, no names are awaited. */
static bool is_over(void *arg)
{
	(void)arg;
	return !targets_are_arming(scene.targets);
}

/* ---- before it was chosen ---- */

static void who_was_in_the_container_is_found(void **state)
{
	(void)state;
	place(&scene.process, LINE_WEB);
	follow_container(BY_CONTAINER_ID, WEB);
	assert_true(targets_are_arming(scene.targets)); /* the scan is under way */
	assert_null(scene_current(scene.process.pid));
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
	scene_until(is_over, NULL);
}

static void who_was_in_the_cgroup_is_found(void **state)
{
	(void)state;
	place(&scene.process, "0::/user.slice/a\n");
	follow_container(BY_CGROUP, "/user.slice");
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void who_is_elsewhere_is_not(void **state)
{
	(void)state;
	place(&scene.process, "0::/system.slice\n");
	follow_container(BY_CGROUP, "/user.slice");
	scene_until(is_over, NULL);
	assert_null(scene_current(scene.process.pid));
}

static void names_that_are_awaited_decide_on_residents(void **state)
{
	(void)state;
	place(&scene.process, LINE_WEB);
	follow_container(BY_CONTAINER_NAME, "web");
	scene_settle();
	assert_null(scene_current(scene.process.pid)); /* it isn't sampled for that */
	assert_true(targets_are_arming(scene.targets));
	name_web("web");
	scene_skip(NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
	scene_until(is_over, NULL);
}

static void names_of_another_container_leave_residents_alone(void **state)
{
	(void)state;
	name_web("db");
	place(&scene.process, LINE_WEB);
	follow_container(BY_CONTAINER_NAME, "web");
	scene_until(is_over, NULL);
	scene_settle();
	assert_null(scene_current(scene.process.pid));
}

static void a_container_that_is_renamed_has_its_residents_found(void **state)
{
	(void)state;
	name_web("db");
	place(&scene.process, LINE_WEB);
	tell_groups(); /* else nobody would remember the container */
	scene_read();
	follow_container(BY_CONTAINER_NAME, "web");
	scene_until(is_over, NULL);
	name_web("web");
	scene_skip(FRESH_NS);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void names_that_are_awaited_at_the_end_are_given_up(void **state)
{
	(void)state;
	place(&scene.process, LINE_WEB);
	follow_container(BY_CONTAINER_NAME, "web");
	scene_settle();
	assert_true(targets_are_arming(scene.targets));
}

static bool has_oncpu(void *arg)
{
	const struct process *process = arg;

	return scripted_probes(process->pid) == (ONCPU | OFFCPU);
}

/* Its name chooses it for one probe, its container for all. */
static void a_target_may_be_wanted_for_more_by_its_container(void **state)
{
	struct snoopers *snoopers;

	(void)state;
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_container(snoopers, BY_CONTAINER_ID, WEB, ""), 0);
	assert_int_equal(snoopers_add_name(snoopers, scene.comm, "", "", OFFCPU), 0);
	scene.selection.wanting[PROBE_OFFCPU] = SUBSCRIBER(0);
	place(&scene.process, LINE_WEB);
	scene_follow(snoopers);
	scene_until(has_oncpu, &scene.process);
	assert_int_equal(scene_stats().alive, 1);
}

/* ---- searches that fail ---- */

static bool have_failed(void *arg)
{
	const unsigned *count = arg;

	return scene_stats().searches_failed == *count && !targets_are_arming(scene.targets);
}

static void until_failed(unsigned count)
{
	scene_until(have_failed, &count);
}

static void a_search_that_fails_is_repeated(void **state)
{
	(void)state;
	place(&scene.process, LINE_WEB);
	cgroups_error = -EMFILE;
	follow_container(BY_CONTAINER_ID, WEB);
	until_failed(1);
	assert_null(scene_current(scene.process.pid));
	scene_skip(NS_PER_S);
	until_failed(2);
	cgroups_error = 0;
	scene_skip(2 * NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_stats().searches_failed, 2);
}

/* ---- moves ---- */

static void a_process_that_moves_into_the_container_becomes_a_target(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	scene_until(is_over, NULL);
	place(&scene.process, LINE_WEB);
	move(&scene.process);
	move(&scene.process); /* in the next hierarchy */
	scene_skip(NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void a_target_that_moves_out_of_it_is_none_any_more(void **state)
{
	(void)state;
	place(&scene.process, LINE_WEB);
	follow_container(BY_CONTAINER_ID, WEB);
	scene_until_sampled(&scene.process);
	place(&scene.process, "0::/user.slice\n");
	move(&scene.process);
	scene_skip(NS_PER_S);
	scene_until(is_not_current, &scene.process);
	assert_int_equal(scene_id(scene.process.pid), 0);
}

static void a_program_in_unknown_cgroups_is_looked_up(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	scene_until(is_over, NULL);
	place(&scene.process, LINE_WEB);
	exec_in(&scene.process, &key_web); /* whose paths were lost */
	assert_null(scene_current(scene.process.pid));
	scene_skip(NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void after_too_many_moves_all_are_looked_at(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	scene_until(is_over, NULL);
	place(&scene.process, LINE_WEB);
	for (int i = 0; i < MOVED_MAX; i++)
		move(&(struct process){4194305 + i, 1});
	move(&scene.process); /* for which there is no room */
	scene_skip(NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void a_move_while_others_are_looked_at_waits(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	scene_until(is_over, NULL);
	move(&scene.process);
	scene_skip(NS_PER_S);
	move(&(struct process){4194305, 1});
	scene_settle();
	place(&scene.process, LINE_WEB);
	move(&scene.process);
	scene_skip(2 * NS_PER_S);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTAINER_TEST(who_was_in_the_container_is_found),
		CONTAINER_TEST(who_was_in_the_cgroup_is_found),
		CONTAINER_TEST(who_is_elsewhere_is_not),
		CONTAINER_TEST(names_that_are_awaited_decide_on_residents),
		CONTAINER_TEST(names_of_another_container_leave_residents_alone),
		CONTAINER_TEST(a_container_that_is_renamed_has_its_residents_found),
		CONTAINER_TEST(names_that_are_awaited_at_the_end_are_given_up),
		CONTAINER_TEST(a_target_may_be_wanted_for_more_by_its_container),
		CONTAINER_TEST(a_search_that_fails_is_repeated),
		CONTAINER_TEST(a_process_that_moves_into_the_container_becomes_a_target),
		CONTAINER_TEST(a_target_that_moves_out_of_it_is_none_any_more),
		CONTAINER_TEST(a_program_in_unknown_cgroups_is_looked_up),
		CONTAINER_TEST(after_too_many_moves_all_are_looked_at),
		CONTAINER_TEST(a_move_while_others_are_looked_at_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
