// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that subscribers name themselves: whose stacks go to whom, through fork and exec. */
#include "unit/target/target_life.h"

#include <sys/prctl.h>

#define NOBODY 65534

static struct process_id ids[SUBSCRIBERS_MAX];

static struct process other; /* of the same name */

static int begin(void **state)
{
	scene_begin(state);
	process_begin(&other, scene.comm);
	return 0;
}

static int end(void **state)
{
	process_end(&other);
	return scene_end(state);
}

static struct chosen *choose(unsigned subscriber, const struct process *process)
{
	return scene_choose(subscriber, &ids[subscriber], process);
}

static void each_subscriber_gets_the_process_that_it_chose(void **state)
{
	(void)state;
	choose(1, &scene.process);
	choose(2, &other);
	scene_select();
	scene_until_sampled(&scene.process);
	scene_until_sampled(&other);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(1));
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(2));
}

static void one_process_may_be_chosen_by_several(void **state)
{
	(void)state;
	choose(1, &scene.process);
	choose(2, &scene.process);
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_getting_now(scene.process.pid),
			 SUBSCRIBER(0) | SUBSCRIBER(1) | SUBSCRIBER(2));
}

static void each_subscriber_gets_only_the_probes_that_it_wants(void **state)
{
	(void)state;
	choose(1, &scene.process);
	choose(2, &scene.process);
	scene.selection.wanting[PROBE_ONCPU] = SUBSCRIBER(1);
	scene.selection.wanting[PROBE_OFFCPU] = SUBSCRIBER(2);
	scene_select();
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);

	assert_int_equal(scripted_probes(scene.process.pid), ONCPU | OFFCPU);
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), SUBSCRIBER(1));
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_OFFCPU), SUBSCRIBER(2));
}

static void a_later_process_with_the_pid_is_not_the_chosen_one(void **state)
{
	(void)state;
	choose(1, &scene.process);
	ids[1].start_ticks--;
	scene_select();
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_id(scene.process.pid), 0);
}

static void who_leaves_the_list_is_no_target_any_more(void **state)
{
	(void)state;
	choose(1, &scene.process);
	scene_select();
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);

	scene.selection.chosen[1].count = 0;
	scene_select();
	assert_int_equal(scene_id(scene.process.pid), 0);
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), SUBSCRIBER(1));
}

static void a_child_is_wanted_until_it_execs(void **state)
{
	(void)state;
	choose(1, &scene.process);
	scene_select();
	uint64_t forked = life_fork(&scene.process, &other, scene.comm);
	scene_read();
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(1));
	uint64_t execed = life_exec(&other, scene.other);
	scene_read();
	assert_int_equal(scene_id(other.pid), 0);
	assert_int_equal(scene_getting(other.pid, forked, PROBE_ONCPU), SUBSCRIBER(1));
	assert_int_equal(scene_getting(other.pid, execed, PROBE_ONCPU), 0);
	assert_true(target_table_was_rejected(targets_table(scene.targets), (uint32_t)other.pid,
					      execed));
}

static void the_chosen_one_itself_is_wanted_after_its_exec(void **state)
{
	(void)state;
	choose(1, &scene.process);
	scene_select();
	uint64_t execed = life_exec(&scene.process, scene.other);
	scene_read();
	assert_int_equal(scene_id(scene.process.pid), execed);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(1));
}

static void across_exec_children_and_theirs_are_wanted_for_good(void **state)
{
	struct process grandchild;

	(void)state;
	process_begin(&grandchild, scene.comm);
	choose(1, &scene.process)->across_exec = true;
	scene_select();
	life_fork(&scene.process, &other, scene.comm);
	life_exec(&other, scene.other);
	life_fork(&other, &grandchild, scene.other);
	life_exec(&grandchild, "sh");
	life_exit(&other);
	scene_read();
	assert_int_equal(scene_getting_now(grandchild.pid), SUBSCRIBER(1));
	scene_select(); /* nor are they forgotten when others subscribe */
	assert_int_equal(scene_getting_now(grandchild.pid), SUBSCRIBER(1));
	scene.selection.chosen[1].across_exec = false;
	scene_select();
	assert_null(scene_current(grandchild.pid));
	process_end(&grandchild);
}

static void from_exec_nothing_is_taken_before_the_exec(void **state)
{
	struct target_value value = {0};

	(void)state;
	struct chosen *chosen = choose(1, &scene.process);
	chosen->across_exec = chosen->from_exec = true;
	scene_select();
	scene_until_read(&scene.process);
	scene_settle();
	assert_int_equal(tracer_target_get(scripted, scene.process.pid, &value), 0);
	assert_int_equal(value.probes, 0);
	assert_true(value.spans_count > 0); /* its tables are there all the same */
	assert_int_equal(scene_getting_now(scene.process.pid), 0);
	assert_true(
		targets_will_want(scene.targets, scene_current(scene.process.pid), PROBE_ONCPU));
	assert_false(
		targets_will_want(scene.targets, scene_current(scene.process.pid), PROBE_OFFCPU));
	life_exec(&scene.process, scene.other);
	scene_read();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU);
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(1));
}

static void a_child_forked_before_that_exec_is_wanted_at_once(void **state)
{
	(void)state;
	struct chosen *chosen = choose(1, &scene.process);
	chosen->across_exec = chosen->from_exec = true;
	scene_select();
	life_fork(&scene.process, &other, scene.comm);
	scene_read();
	assert_int_equal(scripted_probes(other.pid), ONCPU);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(1));
}

/* ---- of_user ---- */

static uid_t user(void)
{
	return getuid() ? getuid() : NOBODY;
}

/* A process of user() without capabilities. */
static void begin_of_user(struct process *process)
{
	int ready[2];
	char byte;
	struct proc_stat stat;

	assert_int_equal(pipe(ready), 0);
	process->pid = fork();
	assert_true(process->pid >= 0);
	if (process->pid == 0) {
		if (getuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
				      setresuid(NOBODY, NOBODY, NOBODY) < 0))
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(proc_stat(process->pid, &stat), 0);
	process->start_ticks = stat.start_ticks;
}

static void choose_as(uid_t uid, const struct process *process)
{
	struct chosen *chosen = choose(1, process);

	chosen->of_user = true;
	chosen->user = (struct viewer){uid, GID_UNKNOWN};
	scene_select();
}

static void a_user_gets_only_processes_that_the_user_may_look_into(void **state)
{
	struct process users;

	(void)state;
	begin_of_user(&users);
	choose_as(user() + 1, &users);
	assert_null(scene_current(users.pid));
	choose_as(user(), &users);
	scene_until_sampled(&users);
	assert_int_equal(scene_getting_now(users.pid), SUBSCRIBER(1));
	choose_as(user() + 1, &users);
	assert_null(scene_current(users.pid));
	process_end(&users);
}

/* What /proc shows is already the next program, of which nothing is known yet. */
static void an_incarnation_that_has_passed_is_not_permitted(void **state)
{
	struct process users;

	(void)state;
	begin_of_user(&users);
	choose_as(user(), &users);
	uint64_t first = life_exec(&users, scene.comm);
	uint64_t second = life_exec(&users, scene.other);
	scene_read();
	assert_int_equal(scene_getting(users.pid, first, PROBE_ONCPU), 0);
	assert_int_equal(scene_getting(users.pid, second, PROBE_ONCPU), SUBSCRIBER(1));
	process_end(&users);
}

static void a_child_of_a_users_process_is_asked_for_by_itself(void **state)
{
	struct process users;

	(void)state;
	begin_of_user(&users);
	choose_as(user(), &users);
	life_fork(&users, &other, scene.comm);
	scene_read();
	/* Run by root, `other` is root's. */
	assert_int_equal(scene_getting_now(other.pid), getuid() ? SUBSCRIBER(1) : 0);
	process_end(&users);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_subscriber_gets_the_process_that_it_chose),
		TEST(one_process_may_be_chosen_by_several),
		TEST(each_subscriber_gets_only_the_probes_that_it_wants),
		TEST(a_later_process_with_the_pid_is_not_the_chosen_one),
		TEST(who_leaves_the_list_is_no_target_any_more),
		TEST(a_child_is_wanted_until_it_execs),
		TEST(the_chosen_one_itself_is_wanted_after_its_exec),
		TEST(across_exec_children_and_theirs_are_wanted_for_good),
		TEST(from_exec_nothing_is_taken_before_the_exec),
		TEST(a_child_forked_before_that_exec_is_wanted_at_once),
		TEST(a_user_gets_only_processes_that_the_user_may_look_into),
		TEST(an_incarnation_that_has_passed_is_not_permitted),
		TEST(a_child_of_a_users_process_is_asked_for_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
