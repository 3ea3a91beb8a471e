// SPDX-License-Identifier: GPL-2.0-or-later
/* Targets that began or ended without an event, and sweeps. */
#include "unit/target/target_life.h"

#define CHECKED_NS (21 * NS_PER_S) /* targets are looked for that ended unseen */

static struct process other; /* of the same name */

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

static void lose_events(uint64_t count)
{
	scripted->sum.lost[LOSERS_ALL][LOST_LIFE_FULL] += count;
}

static void sweep(void)
{
	targets_sweep(scene.targets, 0);
}

/* ---- lost events ---- */

static void after_lost_events_all_processes_are_looked_at(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	process_begin(&other, scene.comm);
	sweep();
	assert_null(scene_current(other.pid)); /* nothing was lost */
	lose_events(1);
	sweep();
	assert_non_null(scene_current(other.pid));
	scene_until_sampled(&other);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(0));
}

static void a_loss_is_repaired_once(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	lose_events(3);
	sweep();
	process_begin(&other, scene.comm);
	sweep();
	assert_null(scene_current(other.pid));
	lose_events(1);
	sweep();
	assert_non_null(scene_current(other.pid));
}

static void a_repair_finds_the_incarnation_that_the_kernel_began(void **state)
{
	struct target_value value = {.id = life_next_id(), .probes = ONCPU, .unread = 1};

	(void)state;
	scene_follow_name(scene.comm, "");
	process_begin(&other, scene.comm);
	scripted_target(other.pid, &value); /* its exec event is lost */
	lose_events(1);
	sweep();
	assert_int_equal(scene_id(other.pid), value.id);
	assert_int_equal(scripted_probes(other.pid), ONCPU); /* it isn't armed */
	assert_int_equal(scene_getting(other.pid, value.id, PROBE_ONCPU), SUBSCRIBER(0));
}

static void a_repair_removes_the_incarnation_that_nobody_wants(void **state)
{
	struct target_value value = {.id = life_next_id(), .probes = ONCPU};

	(void)state;
	scene_follow_name(scene.comm, "");
	process_begin(&other, scene.other);
	scripted_target(other.pid, &value);
	lose_events(1);
	sweep();
	assert_int_equal(scene_id(other.pid), 0);
	assert_null(scene_current(other.pid));
}

static void a_repair_replaces_a_target_whose_exec_was_lost(void **state)
{
	struct target_value value = {0};

	(void)state;
	scene_follow_name(scene.comm, "");
	scene_until_sampled(&scene.process);
	uint64_t before = scene_id(scene.process.pid);

	value = (struct target_value){.id = life_next_id(), .probes = ONCPU};
	scripted_target(scene.process.pid, &value);
	lose_events(1);
	sweep();
	assert_int_equal(scene_current(scene.process.pid)->id, value.id);
	assert_int_equal(scene_getting(scene.process.pid, before, PROBE_ONCPU), SUBSCRIBER(0));
	assert_int_equal(scene_stats().alive, 1);
}

static void an_event_that_is_only_late_is_read_before_that(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	process_begin(&other, scene.comm);
	uint64_t id = life_exec(&other, scene.comm);

	lose_events(1);
	sweep();
	assert_int_equal(scripted->waiting_count, 0);
	assert_int_equal(scene_id(other.pid), id);
	assert_int_equal(scene_stats().table.refused, 0);
}

/* The kernel's side knows nothing of the target, whose end was lost. */
static void a_rejected_program_ends_the_target_that_had_its_pid(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	scene_until_sampled(&scene.process);
	uint64_t before = scene_id(scene.process.pid);

	tracer_target_del(scripted, scene.process.pid);
	life_exec(&scene.process, scene.other);
	scene_read();
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_getting(scene.process.pid, before, PROBE_ONCPU), SUBSCRIBER(0));
}

/* ---- ends that weren't reported ---- */

static void a_target_that_ended_unseen_is_found_in_time(void **state)
{
	(void)state;
	process_begin(&other, scene.comm);
	scene_follow_pid(other.pid);
	scene_until_sampled(&other);
	scene_skip(CHECKED_NS);
	sweep(); /* which found it there */
	pid_t pid = other.pid;
	uint64_t id = scene_id(pid);

	process_end(&other);
	sweep();
	assert_non_null(scene_current(pid)); /* it was looked for just before */
	scene_skip(CHECKED_NS);
	sweep();
	assert_null(scene_current(pid));
	assert_int_equal(scene_id(pid), 0);
	assert_int_equal(scene_getting(pid, id, PROBE_ONCPU), SUBSCRIBER(0));
}

static void a_selection_finds_that_a_pid_is_another_process(void **state)
{
	struct target_value value = {.id = life_next_id(), .probes = ONCPU};

	(void)state;
	scene_follow_name(scene.comm, "");
	struct process later = {scene.process.pid, scene.process.start_ticks - 1};

	life_exec(&later, scene.comm);
	scene_read();
	value.id = scene_id(scene.process.pid);
	scene_skip(NS_PER_MS);
	scene_follow_name(scene.comm, "");
	assert_true(scene_id(scene.process.pid) > value.id);
	assert_int_equal(scene_current(scene.process.pid)->start_ticks, scene.process.start_ticks);
	assert_int_equal(scene_stats().alive, 1);
}

static void targets_whose_window_was_read_are_forgotten(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	uint64_t id = scene_id(scene.process.pid);
	struct target_table_stats stats;
	const struct target_table *table = targets_table(scene.targets);

	life_exit(&scene.process);
	scene_read();
	targets_sweep(scene.targets, id); /* it ended later */
	assert_non_null(target_table_find(table, (uint32_t)scene.process.pid, id));
	targets_sweep(scene.targets, UINT64_MAX);
	assert_null(target_table_find(table, (uint32_t)scene.process.pid, id));
	target_table_stats(table, &stats);
	assert_int_equal(stats.ended, 1);
}

static void a_rejected_program_is_forgotten_with_its_window(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	uint64_t id = life_exec(&scene.process, scene.other);
	const struct target_table *table = targets_table(scene.targets);

	scene_read();
	assert_true(target_table_was_rejected(table, (uint32_t)scene.process.pid, id));
	targets_sweep(scene.targets, id);
	assert_true(target_table_was_rejected(table, (uint32_t)scene.process.pid, id));
	targets_sweep(scene.targets, UINT64_MAX);
	assert_false(target_table_was_rejected(table, (uint32_t)scene.process.pid, id));
}

static void an_ended_target_stays_while_it_is_inspected(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	scene_await_held();
	uint64_t id = scene_id(scene.process.pid);
	const struct target_table *table = targets_table(scene.targets);

	life_exit(&scene.process);
	scene_read();
	targets_sweep(scene.targets, UINT64_MAX);
	assert_non_null(target_table_find(table, (uint32_t)scene.process.pid, id));
	scene_release();
	scene_settle();
	targets_sweep(scene.targets, UINT64_MAX);
	assert_null(target_table_find(table, (uint32_t)scene.process.pid, id));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(after_lost_events_all_processes_are_looked_at),
		TEST(a_loss_is_repaired_once),
		TEST(a_repair_finds_the_incarnation_that_the_kernel_began),
		TEST(a_repair_removes_the_incarnation_that_nobody_wants),
		TEST(a_repair_replaces_a_target_whose_exec_was_lost),
		TEST(an_event_that_is_only_late_is_read_before_that),
		TEST(a_rejected_program_ends_the_target_that_had_its_pid),
		TEST(a_target_that_ended_unseen_is_found_in_time),
		TEST(a_selection_finds_that_a_pid_is_another_process),
		TEST(targets_whose_window_was_read_are_forgotten),
		TEST(a_rejected_program_is_forgotten_with_its_window),
		TEST(an_ended_target_stays_while_it_is_inspected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
