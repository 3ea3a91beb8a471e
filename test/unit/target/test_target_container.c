// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that begin in a container or cgroup, before and after its names are known. */
#include "unit/target/container_targets.h"

#include "journal/event_journal.h"
#include "select/container_journal.h"
#include "target/who.h"

/* ---- what is known at once ---- */

static void cgroups_are_followed_only_if_they_are_chosen(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	assert_true(scripted->by_group && scripted->follow);
	scene_follow_name(scene.other, "");
	assert_false(scripted->by_group);
}

static void a_program_in_the_container_is_a_target_and_its_cgroups_have_a_verdict(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	tell_groups();
	exec_in(&other, &key_web);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	assert_int_equal(life_verdict_on_group(&key_web), VERDICT_MATCHES);
	assert_int_equal(scripted_verdict_on(scene.comm), VERDICT_DOES_NOT); /* by its name */
}

static void a_program_elsewhere_is_dropped_and_its_cgroups_have_a_verdict(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	tell_groups();
	uint64_t id = exec_in(&other, &key_none);
	assert_int_equal(scene_id(other.pid), 0);
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
	assert_int_equal(life_verdict_on_group(&key_none), VERDICT_DOES_NOT);
}

static void a_cgroup_needs_no_container(void **state)
{
	(void)state;
	follow_container(BY_CGROUP, "/user.slice");
	process_begin(&other, scene.comm);
	tell_groups();
	exec_in(&other, &key_none);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	assert_int_equal(life_verdict_on_group(&key_none), VERDICT_MATCHES);
}

static void a_child_is_where_its_parent_is(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	tell_groups();
	exec_in(&scene.process, &key_web);
	life_fork(&scene.process, &other, scene.comm); /* in cgroups that aren't known */
	scene_read();
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	assert_ptr_equal(who_of_target(scene_current(other.pid)).container,
			 who_of_target(scene_current(scene.process.pid)).container);
}

static void the_container_of_a_cgroup_of_version_1_counts(void **state)
{
	const struct cgroup_key key = {.v2 = 7, .v1 = 8};

	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	scripted_group(&key, NULL, IN_WEB);
	exec_in(&other, &key);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void paths_that_were_cut_say_nothing(void **state)
{
	(void)state;
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	tell_groups();
	scripted->waiting[0].group->cut = 1;
	exec_in(&other, &key_web);
	assert_null(scene_current(other.pid));
	assert_int_equal(life_verdict_on_group(&key_web), 0);
}

static void forgotten_cgroups_are_to_be_told_again(void **state)
{
	(void)state;
	for (uint64_t i = 0; scripted->forgotten == 0; i++) {
		assert_true(i < 100000);
		scripted_group(&(struct cgroup_key){.v2 = 2000 + i}, IN_NONE, NULL);
		scene_read();
	}
}

static void a_targets_container_is_told_by_its_inspection(void **state)
{
	(void)state;
	placed[0].text = LINE_WEB;
	placed[0].pid = scene.process.pid;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	const struct container *container =
		who_of_target(scene_current(scene.process.pid)).container;

	assert_non_null(container);
	assert_string_equal(container->place.id, WEB);
}

/* ---- names that come later ---- */

static bool is_decided_target(void *arg)
{
	const struct process *process = arg;

	return scene_is_target(process->pid);
}

/* Lets the tries to read a container's names follow each other. */
static bool is_not_current_in_time(void *arg)
{
	scene_skip(NS_PER_S);
	return is_not_current(arg);
}

/* A program in the container, whose names decide. */
static uint64_t begin_undecided(const char *wanted)
{
	follow_container(BY_CONTAINER_NAME, wanted);
	process_begin(&other, scene.comm);
	tell_groups();
	return exec_in(&other, &key_web);
}

static void a_program_is_undecided_until_its_containers_names_are_read(void **state)
{
	(void)state;
	name_web("web");
	begin_undecided("web");
	assert_int_equal(scripted_probes(other.pid), ONCPU); /* until it is decided */
	assert_false(scene_is_target(other.pid));
	assert_int_equal(scene_getting_now(other.pid), 0);
	assert_int_equal(life_verdict_on_group(&key_web), 0);
	scene_until(is_decided_target, &other);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
	exec_in(&other, &key_web);
	assert_true(scene_is_target(other.pid)); /* the next one at once */
	assert_int_equal(life_verdict_on_group(&key_web), VERDICT_MATCHES);
}

static void names_of_another_container_reject_it(void **state)
{
	(void)state;
	name_web("db");
	uint64_t id = begin_undecided("web");

	assert_non_null(scene_current(other.pid));
	scene_until(is_not_current, &other);
	assert_int_equal(scene_id(other.pid), 0);
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
	exec_in(&other, &key_web);
	assert_int_equal(life_verdict_on_group(&key_web), VERDICT_DOES_NOT);
}

static void a_container_without_names_rejects_it_in_the_end(void **state)
{
	(void)state;
	begin_undecided("web");
	scene_settle();
	assert_non_null(scene_current(other.pid));
	scene_until(is_not_current_in_time, &other);
	assert_int_equal(scene_id(other.pid), 0);
}

static bool are_named(void *arg)
{
	struct containers_stats stats;
	const struct known_cgroup *group = containers_find(scene.containers, &key_web);

	(void)arg;
	containers_stats(scene.containers, &stats);
	return group && group_is_named(group);
}

static void who_ended_before_is_decided_on_all_the_same(void **state)
{
	(void)state;
	name_web("web");
	uint64_t id = begin_undecided("web");

	life_exit(&other);
	scene_read();
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
	scene_until(are_named, NULL);
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
}

static void who_ended_before_may_be_rejected(void **state)
{
	(void)state;
	name_web("db");
	uint64_t id = begin_undecided("web");

	life_exit(&other);
	scene_read();
	scene_until(are_named, NULL);
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), 0);
}

static void a_command_line_and_names_decide_one_after_the_other(void **state)
{
	struct snoopers *snoopers;

	(void)state;
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_container(snoopers, BY_CONTAINER_NAME, "web", ""), 0);
	assert_int_equal(snoopers_add_name(snoopers, scene.comm, "no process has this", "", 0), 0);
	scene_follow(snoopers);
	process_begin(&other, scene.comm);
	tell_groups();
	exec_in(&other, &key_web); /* its container has no names yet */
	scene_settle();
	assert_int_equal(scripted_probes(other.pid), ONCPU); /* the command line doesn't match */
	assert_false(scene_is_target(other.pid));
	name_web("web");
	scene_skip(NS_PER_S);
	scene_until(is_decided_target, &other);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void a_renamed_container_is_decided_on_anew(void **state)
{
	(void)state;
	name_web("web");
	begin_undecided("web");
	scene_until(is_decided_target, &other);
	uint64_t id = scene_id(other.pid);
	unsigned selections = scripted->selections;

	name_web("db");
	scene_skip(FRESH_NS);
	scene_until(is_not_current, &other);
	assert_int_equal(scene_id(other.pid), 0);
	/* It was wanted until then. */
	assert_int_equal(scene_getting(other.pid, id, PROBE_ONCPU), SUBSCRIBER(0));
	assert_true(scripted->selections > selections); /* verdicts are void */
}

/* ---- what is told of it ---- */

static struct buf told = BUF_INIT(1 << 20);

/* Returns how many events of containers there were since this was called first. */
static unsigned count_told(void)
{
	static const char kind[] = " container ";
	unsigned count = 0;

	journal_take(&told);
	buf_char(&told, '\0');
	for (const char *at = told.data; (at = strstr(at, kind)); at++)
		count++;
	told.len--;
	return count;
}

static bool is_told(void *arg)
{
	const unsigned *wanted = arg;

	return count_told() >= *wanted;
}

static void the_first_process_of_a_container_is_told_and_that_none_is_left(void **state)
{
	unsigned wanted;

	(void)state;
	name_web("web");
	follow_container(BY_CONTAINER_ID, WEB);
	process_begin(&other, scene.comm);
	tell_groups();
	wanted = count_told() + 1; /* of the tests before */
	exec_in(&other, &key_web);
	scene_until(are_named, NULL);
	scene_skip(2 * CONTAINER_MOMENT_NS);
	scene_until(is_told, &wanted);
	exec_in(&other, &key_web); /* another program, in the same container */
	life_fork(&other, &scene.process, scene.comm);
	scene_read();
	life_exit(&other);
	scene_read();
	scene_skip(2 * CONTAINER_GRACE_NS);
	scene_settle();
	assert_int_equal(count_told(), wanted);
	life_exit(&scene.process);
	scene_read();
	scene_settle();
	assert_int_equal(count_told(), wanted);
	scene_skip(2 * CONTAINER_GRACE_NS);
	wanted++;
	scene_until(is_told, &wanted);
	assert_non_null(strstr(told.data, "web (0123456789ab) is sampled: "));
	assert_non_null(strstr(told.data, "web (0123456789ab) hasn't been sampled for "));
	buf_done(&told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CONTAINER_TEST(cgroups_are_followed_only_if_they_are_chosen),
		CONTAINER_TEST(
			a_program_in_the_container_is_a_target_and_its_cgroups_have_a_verdict),
		CONTAINER_TEST(a_program_elsewhere_is_dropped_and_its_cgroups_have_a_verdict),
		CONTAINER_TEST(a_cgroup_needs_no_container),
		CONTAINER_TEST(a_child_is_where_its_parent_is),
		CONTAINER_TEST(the_container_of_a_cgroup_of_version_1_counts),
		CONTAINER_TEST(paths_that_were_cut_say_nothing),
		CONTAINER_TEST(forgotten_cgroups_are_to_be_told_again),
		CONTAINER_TEST(a_targets_container_is_told_by_its_inspection),
		CONTAINER_TEST(a_program_is_undecided_until_its_containers_names_are_read),
		CONTAINER_TEST(names_of_another_container_reject_it),
		CONTAINER_TEST(a_container_without_names_rejects_it_in_the_end),
		CONTAINER_TEST(who_ended_before_is_decided_on_all_the_same),
		CONTAINER_TEST(who_ended_before_may_be_rejected),
		CONTAINER_TEST(a_command_line_and_names_decide_one_after_the_other),
		CONTAINER_TEST(a_renamed_container_is_decided_on_anew),
		CONTAINER_TEST(the_first_process_of_a_container_is_told_and_that_none_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
