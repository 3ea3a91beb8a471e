// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arming: from when on a process is sampled that was there before. Inspections that hang or whose
 * process ends meanwhile. Linked with __wrap_image_build(): tables may take long.
 */
#include "unit/target/target_life.h"

#include "unwind/image.h"

#define ARMED_NS (3 * NS_PER_S) /* longer than tables are waited for */

static struct process other; /* of the same name */
static atomic_bool tables_wait;
static sem_t may_build;

int __real_image_build(int fd, struct table_image *image);
int __wrap_image_build(int fd, struct table_image *image);

int __wrap_image_build(int fd, struct table_image *image)
{
	if (tables_wait)
		sem_wait(&may_build);
	return __real_image_build(fd, image);
}

static int begin(void **state)
{
	tables_wait = false;
	assert_int_equal(sem_init(&may_build, 0, 0), 0);
	scene_begin(state);
	scene_settle(); /* the common tables are there */
	return 0;
}

static void let_build(void)
{
	tables_wait = false;
	for (int i = 0; i < 8; i++)
		sem_post(&may_build);
}

static int end(void **state)
{
	let_build();
	process_end(&other);
	return scene_end(state);
}

static bool is_hung(void *arg)
{
	const unsigned *count = arg;

	return scene_stats().unreadable == *count;
}

static void until_hung(unsigned count)
{
	scene_until(is_hung, &count);
}

static uint32_t spans_of(pid_t pid)
{
	struct target_value value = {0};

	tracer_target_get(scripted, pid, &value);
	return value.spans_count;
}

/* ---- arming ---- */

static bool has_spans(void *arg)
{
	const struct process *process = arg;

	return spans_of(process->pid) > 0;
}

static void a_process_waits_for_its_tables(void **state)
{
	(void)state;
	tables_wait = true;
	scene_follow_pid(scene.process.pid);
	scene_until(has_spans, &scene.process);
	assert_int_equal(scripted_probes(scene.process.pid), 0);
	assert_true(targets_are_arming(scene.targets));
	assert_int_equal(scene_stats().unread, 1);
	let_build();
	scene_until_sampled(&scene.process);
	assert_int_equal(scene_stats().unread, 0);
}

static void tables_that_take_too_long_are_not_waited_for(void **state)
{
	(void)state;
	tables_wait = true;
	scene_follow_pid(scene.process.pid);
	scene_until(has_spans, &scene.process);
	scene_skip(ARMED_NS);
	scene_until_sampled(&scene.process);
	assert_false(targets_are_arming(scene.targets));
}

static void maps_that_take_too_long_are_not_waited_for(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	scene_await_held();
	scene_skip(ARMED_NS);
	scene_until_sampled(&scene.process);
	scene_release();
	scene_settle();
	assert_int_equal(spans_of(scene.process.pid), 0);
	life_stack(&scene.process, 0x10, loop_now_ns(), 0); /* which asks again */
	scene_until(has_spans, &scene.process);
}

static void whoever_execs_or_is_forked_is_sampled_at_once(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	process_begin(&other, scene.comm);
	tables_wait = true;
	life_exec(&other, scene.comm);
	scene_read();
	assert_int_equal(scripted_probes(other.pid), ONCPU);
	assert_int_equal(spans_of(other.pid), 0);
}

static void an_armed_process_that_execs_is_sampled_at_once(void **state)
{
	(void)state;
	tables_wait = true;
	scene_follow_pid(scene.process.pid);
	scene_until(has_spans, &scene.process);
	assert_int_equal(scripted_probes(scene.process.pid), 0);
	life_exec(&scene.process, scene.other);
	scene_read();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU);
	assert_false(targets_are_arming(scene.targets));
}

static void who_is_sampled_already_is_not_armed_again(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	scene.selection.wanting[PROBE_OFFCPU] = SUBSCRIBER(0);
	scene_select();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU | OFFCPU);
	assert_false(targets_are_arming(scene.targets));
}

static void a_process_that_cannot_be_read_is_sampled_as_it_is(void **state)
{
	(void)state;
	process_begin(&other, scene.comm);
	scene_hold(other.pid);
	scene_follow_pid(other.pid);
	scene_await_held();
	struct process gone = other;

	process_end(&other);
	scene_release();
	scene_until_sampled(&gone);
	assert_int_equal(spans_of(gone.pid), 0);
	assert_int_equal(scene_stats().unreadable, 0);
}

/* ---- inspections that hang ---- */

static void an_inspection_that_hangs_is_given_up_and_none_follows(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	scene_await_held();
	scene_skip(2 * SCENE_LIMIT_NS);
	until_hung(1);
	scene_until_sampled(&scene.process);
	life_stack(&scene.process, 0x10, loop_now_ns(), 1);
	targets_look_at(scene.targets, scene_current(scene.process.pid));
	scene_settle();
	assert_int_equal(scene_readings(scene.process.pid), 1);
	assert_int_equal(scene_stats().unread, 0);
}

static void who_hung_before_its_command_line_was_matched_is_rejected(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_name(scene.comm, "test_target_arming");
	scene_await_held();
	uint64_t id = scene_id(scene.process.pid);

	scene_skip(2 * SCENE_LIMIT_NS);
	until_hung(1);
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_getting(scene.process.pid, id, PROBE_ONCPU), 0);
	assert_int_equal(scene_id(scene.process.pid), 0);
	/* It is remembered: a later question has the same answer at once. */
	scene_skip(NS_PER_MS);
	scene_follow_name(scene.comm, "test_target_arming");
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_readings(scene.process.pid), 1);
	assert_int_equal(scene_stats().unreadable, 1);
}

static void who_hangs_later_keeps_what_its_command_line_matched(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "test_target_arming");
	scene_until_sampled(&scene.process);
	scene_hold(scene.process.pid);
	scene_follow_name(scene.comm, "test_target_arm");
	scene_await_held();
	assert_int_equal(scripted_probes(scene.process.pid), ONCPU);
	scene_skip(2 * SCENE_LIMIT_NS);
	until_hung(1);
	assert_true(scene_is_target(scene.process.pid));
	assert_int_equal(scene_getting_now(scene.process.pid), SUBSCRIBER(0));
}

static void the_next_process_with_the_pid_may_be_inspected(void **state)
{
	(void)state;
	struct process later = {scene.process.pid, scene.process.start_ticks + 1};

	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	scene_await_held();
	scene_skip(2 * SCENE_LIMIT_NS);
	until_hung(1);
	scene_release();
	life_exec(&later, scene.comm);
	scene_read();
	scene_follow_name(scene.comm, "");
	targets_look_at(scene.targets, scene_current(later.pid));
	scene_settle();
	assert_true(scene_readings(scene.process.pid) > 1);
}

/* ---- a process that ends while it is inspected ---- */

/* An exec or exit at `time_ns`, that is told when the inspection is over. */
static uint64_t end_it(enum life_kind kind, uint64_t time_ns)
{
	struct life_event event = life_event_of(kind, &scene.process);
	uint64_t id = scene_id(scene.process.pid);

	event.time_ns = time_ns;
	event.id = kind == LIFE_EXIT ? id : time_ns;
	event.old_id = kind == LIFE_EXIT ? 0 : id;
	tracer_target_del(scripted, scene.process.pid);
	scripted_life(&event);
	return id;
}

/* Returns whether what an inspection at time `read_ns` read is the target's that ended so much
 * later. */
static bool has_maps(enum life_kind kind, int64_t later_ns)
{
	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	uint64_t read_ns = scene_freeze();

	scene_release_and_await_read();
	scene_thaw();
	uint64_t id = end_it(kind, read_ns + (uint64_t)later_ns);
	scene_settle();
	const struct target *target =
		target_table_find(targets_table(scene.targets), (uint32_t)scene.process.pid, id);
	assert_non_null(target);
	return address_space_read_ns(target->space) > 0;
}

static void maps_read_before_the_exit_are_its_own(void **state)
{
	(void)state;
	assert_true(has_maps(LIFE_EXIT, 1));
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(scene_id(scene.process.pid), 0); /* the kernel's side isn't told */
}

static void maps_read_after_the_exit_are_not(void **state)
{
	(void)state;
	assert_false(has_maps(LIFE_EXIT, -1));
}

static void maps_read_long_before_an_exec_are_its_own(void **state)
{
	(void)state;
	assert_true(has_maps(LIFE_EXEC, NS_PER_S));
}

static void maps_read_shortly_before_an_exec_may_be_the_next_programs(void **state)
{
	(void)state;
	assert_false(has_maps(LIFE_EXEC, NS_PER_MS));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_waits_for_its_tables),
		TEST(tables_that_take_too_long_are_not_waited_for),
		TEST(maps_that_take_too_long_are_not_waited_for),
		TEST(whoever_execs_or_is_forked_is_sampled_at_once),
		TEST(an_armed_process_that_execs_is_sampled_at_once),
		TEST(who_is_sampled_already_is_not_armed_again),
		TEST(a_process_that_cannot_be_read_is_sampled_as_it_is),
		TEST(an_inspection_that_hangs_is_given_up_and_none_follows),
		TEST(who_hung_before_its_command_line_was_matched_is_rejected),
		TEST(who_hangs_later_keeps_what_its_command_line_matched),
		TEST(the_next_process_with_the_pid_may_be_inspected),
		TEST(maps_read_before_the_exit_are_its_own),
		TEST(maps_read_after_the_exit_are_not),
		TEST(maps_read_long_before_an_exec_are_its_own),
		TEST(maps_read_shortly_before_an_exec_may_be_the_next_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
