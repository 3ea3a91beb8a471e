// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * More targets than there is room for, or than the log has lines for; the kernel's side goes and
 * comes. Linked with __wrap_log_write(): what is logged is counted.
 */
#include "unit/target/target_life.h"

#include <stdarg.h>

#include "base/log.h"

#define CHECKED_NS (21 * NS_PER_S) /* targets are looked for that ended unseen */
#define LINES	   32		   /* of target_log.c */

static struct process other; /* of the same name */
static unsigned infos, debugs;
static char last_info[256];

void __wrap_log_write(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void __wrap_log_write(enum log_level level, const char *format, ...)
{
	va_list rest;

	infos += level == LOG_INFO;
	debugs += level == LOG_DEBUG;
	if (level != LOG_INFO)
		return;
	va_start(rest, format);
	vsnprintf(last_info, sizeof(last_info), format, rest);
	va_end(rest);
}

static int begin_of(uint32_t in_kernel, size_t targets)
{
	infos = debugs = 0;
	last_info[0] = '\0';
	scene_begin_with(in_kernel, targets);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_of(SCENE_TARGETS, SCENE_TARGETS);
}

static int begin_narrow_kernel(void **state)
{
	(void)state;
	return begin_of(1, SCENE_TARGETS);
}

static int begin_narrow_table(void **state)
{
	(void)state;
	return begin_of(SCENE_TARGETS, 4);
}

static int begin_wide(void **state)
{
	(void)state;
	return begin_of(128, 128);
}

static int end(void **state)
{
	process_end(&other);
	return scene_end(state);
}

/* Processes that don't exist. */
static struct process made_up(int number)
{
	return (struct process){4194305 + number, 1};
}

/* ---- room ---- */

static void who_finds_no_room_in_the_kernel_is_refused_until_there_is_room(void **state)
{
	struct process_id ids[2];

	(void)state;
	process_begin(&other, scene.comm);
	scene_choose(1, &ids[0], &scene.process);
	scene_select();
	scene_until_sampled(&scene.process);
	scene_choose(2, &ids[1], &other);
	scene_select();
	assert_true(scene_stats().refused > 0);
	assert_int_equal(scene_id(other.pid), 0);
	assert_int_equal(scene_stats().alive, 2);
	life_exit(&scene.process);
	scene_read();
	scene_skip(CHECKED_NS);
	targets_sweep(scene.targets, 0);
	assert_int_equal(scripted_probes(other.pid), ONCPU);
	assert_int_equal(scene_getting_now(other.pid), SUBSCRIBER(2));
}

static void who_finds_no_room_in_the_table_is_refused(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	uint64_t first = scene_id(scene.process.pid);
	uint64_t last = 0;

	for (int i = 0; i < 8; i++) /* as many again as may live may have ended */
		last = life_exec(&scene.process, scene.comm);
	scene_read();
	assert_true(target_table_is_crowded(targets_table(scene.targets)));
	assert_int_equal(scene_stats().table.refused, 1);
	assert_int_equal(scene_getting(scene.process.pid, first, PROBE_ONCPU), SUBSCRIBER(0));
	assert_int_equal(scene_getting(scene.process.pid, last, PROBE_ONCPU), 0);
	scene_settle(); /* they are inspected no more */
	targets_sweep(scene.targets, UINT64_MAX);
	assert_false(target_table_is_crowded(targets_table(scene.targets)));
}

static void many_rejected_programs_crowd_the_table(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	assert_false(target_table_is_crowded(targets_table(scene.targets)));
	for (int i = 0; !target_table_is_crowded(targets_table(scene.targets)); i++) {
		struct process process = made_up(i % 100);
		struct life_event event = life_event_of(LIFE_RENAME, &process);

		assert_true(i < 100000);
		strcpy(event.comm, scene.other);
		scripted_life(&event);
		scene_read();
	}
	targets_sweep(scene.targets, UINT64_MAX);
	assert_false(target_table_is_crowded(targets_table(scene.targets)));
}

/* ---- the log ---- */

static void begin_many(int count)
{
	for (int i = 0; i < count; i++) {
		struct process process = made_up(i);

		life_exec(&process, scene.comm);
	}
	scene_read();
}

static void a_target_is_logged_when_it_comes_and_goes(void **state)
{
	char line[128];

	(void)state;
	scene_follow_pid(scene.process.pid);
	snprintf(line, sizeof(line), "target %d (%s): added for oncpu", (int)scene.process.pid,
		 scene.comm);
	assert_string_equal(last_info, line);
	scene.selection.wanting[PROBE_COUNT] = SUBSCRIBER(0);
	scene_select();
	assert_has(last_info, ": added for sched");
	life_exit(&scene.process);
	scene_read();
	assert_has(last_info, ": removed from oncpu,sched");
	assert_int_equal(infos, 3);
}

static void an_exec_of_a_process_that_stays_a_target_is_one_line(void **state)
{
	char line[128];

	(void)state;
	scene_follow_pid(scene.process.pid);
	snprintf(line, sizeof(line), "target %d (%s): executes (%s)", (int)scene.process.pid,
		 scene.comm, scene.other);
	life_exec(&scene.process, scene.other);
	scene_read();
	assert_string_equal(last_info, line);
	assert_int_equal(infos, 2); /* the first said that it was added */
	life_exit(&scene.process);
	scene_read();
	assert_has(last_info, ": removed from oncpu");
	assert_has(last_info, scene.other);
	assert_int_equal(infos, 3);
}

static void an_exec_to_what_nobody_wants_is_an_end(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "");
	life_exec(&scene.process, scene.other);
	scene_read();
	assert_has(last_info, ": removed from oncpu");
	assert_int_equal(infos, 2);
}

static void of_many_execs_the_log_says_only_how_many(void **state)
{
	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_freeze();
	for (int i = 0; i < LINES + 8; i++)
		life_exec(&scene.process, i % 2 ? scene.comm : scene.other);
	scene_read();
	scene_thaw();
	assert_int_equal(infos, LINES);
	targets_sweep(scene.targets, 0);
	assert_string_equal(last_info, "targets: 9 more execs since the last line");
	assert_int_equal(infos, LINES + 1);
}

static void who_is_undecided_or_rejected_is_not_logged(void **state)
{
	(void)state;
	scene_follow_name(scene.comm, "no process has this");
	assert_non_null(scene_current(scene.process.pid));
	scene_settle();
	assert_null(scene_current(scene.process.pid));
	assert_int_equal(infos, 0);
}

static void of_many_the_log_says_only_how_many(void **state)
{
	(void)state;
	scene_follow_name(scene.other, "");
	snprintf(scene.comm, sizeof(scene.comm), "%s", scene.other);
	scene_freeze();
	begin_many(LINES + 8);
	scene_thaw();
	assert_int_equal(infos, LINES);
	targets_sweep(scene.targets, 0);
	assert_string_equal(last_info,
			    "targets: 8 more were added and 0 removed since the last line");
	targets_sweep(scene.targets, 0); /* the last one found that they don't exist */
	assert_string_equal(last_info,
			    "targets: 0 more were added and 40 removed since the last line");
	unsigned lines = infos;
	targets_sweep(scene.targets, 0);
	assert_int_equal(infos, lines);
}

/* ---- the kernel's side ---- */

/* As the engine stops and starts it. */
static void restart(void)
{
	struct selection before = scene.selection;

	targets_kernel_gone(scene.targets);
	tracer_stop(scripted);
	scene.selection = (struct selection){0};
	scene_select();
	targets_sweep(scene.targets, UINT64_MAX);
	assert_int_equal(scene_stats().alive, 0);
	assert_false(targets_are_arming(scene.targets));
	scene_start();
	scene.selection = before;
	scene_select();
}

static void after_a_restart_targets_are_armed_again(void **state)
{
	struct target_value value = {0};

	(void)state;
	scene_follow_pid(scene.process.pid);
	scene_until_sampled(&scene.process);
	scene_skip(NS_PER_MS);
	restart();
	scene_until_sampled(&scene.process);
	tracer_target_get(scripted, scene.process.pid, &value);
	assert_true(value.spans_count > 0);
}

static void the_kernels_side_may_go_while_a_process_is_inspected(void **state)
{
	(void)state;
	scene_hold(scene.process.pid);
	scene_follow_pid(scene.process.pid);
	scene_await_held();
	targets_kernel_gone(scene.targets);
	tracer_stop(scripted);
	scene_release();
	scene_settle();
	assert_int_equal(scripted_probes(scene.process.pid), 0);
	assert_int_equal(scene_stats().unread, 0);
}

static void tables_of_what_all_have_are_kept(void **state)
{
	(void)state;
	scene_settle();
	assert_true(scene_stats().tables.tables > 0);
	for (int i = 0; i < 4; i++)
		targets_sweep(scene.targets, 0);
	assert_true(scene_stats().tables.tables > 0);
	targets_kernel_gone(scene.targets);
	assert_int_equal(scene_stats().tables.tables, 0);
}

#define TEST(name, begin) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_finds_no_room_in_the_kernel_is_refused_until_there_is_room,
		     begin_narrow_kernel),
		TEST(who_finds_no_room_in_the_table_is_refused, begin_narrow_table),
		TEST(many_rejected_programs_crowd_the_table, begin),
		TEST(a_target_is_logged_when_it_comes_and_goes, begin),
		TEST(an_exec_of_a_process_that_stays_a_target_is_one_line, begin),
		TEST(an_exec_to_what_nobody_wants_is_an_end, begin),
		TEST(of_many_execs_the_log_says_only_how_many, begin_wide),
		TEST(who_is_undecided_or_rejected_is_not_logged, begin),
		TEST(of_many_the_log_says_only_how_many, begin_wide),
		TEST(after_a_restart_targets_are_armed_again, begin),
		TEST(the_kernels_side_may_go_while_a_process_is_inspected, begin),
		TEST(tables_of_what_all_have_are_kept, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
