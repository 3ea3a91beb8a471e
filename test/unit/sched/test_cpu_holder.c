// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "sched/cpu_holder.h"

/* A wait from 1,000 to 2,000. */
static struct slow_event wait_of(uint32_t slices_count)
{
	return (struct slow_event){.time_ns = 2000, .delay_ns = 1000, .slices_count = slices_count};
}

static void the_last_one_on_the_cpu_is_told_and_who_had_it_longest(void **state)
{
	const struct slice slices[] = {
		{.ended_ns = 2000, .ran_ns = 100, .tid = 15, .tgid = 15, .comm = "rcu_preempt"},
		{.ended_ns = 1900, .ran_ns = 300, .tid = 8, .tgid = 7, .comm = "hog"},
		{.ended_ns = 1600, .ran_ns = 600, .tid = 9, .tgid = 7, .comm = "other"},
	};
	struct slow_event event = wait_of(3);
	struct cpu_holder culprit;

	(void)state;
	cpu_holder_find(&culprit, &event, slices);
	assert_string_equal(culprit.before.comm, "rcu_preempt");
	assert_int_equal(culprit.before.tid, 15);
	assert_int_equal(culprit.most_tid, 9);
	assert_int_equal(culprit.most_ns, 600);
	assert_string_equal(culprit.most_comm, "other");
}

static void slices_of_one_task_are_summed(void **state)
{
	const struct slice slices[] = {
		{.ended_ns = 2000, .ran_ns = 300, .tid = 8},
		{.ended_ns = 1700, .ran_ns = 400, .tid = 9},
		{.ended_ns = 1300, .ran_ns = 200, .tid = 8},
		{.ended_ns = 1100, .ran_ns = 100, .tid = 10},
	};
	struct slow_event event = wait_of(4);
	struct cpu_holder culprit;

	(void)state;
	cpu_holder_find(&culprit, &event, slices);
	assert_int_equal(culprit.most_tid, 8);
	assert_int_equal(culprit.most_ns, 500);
}

static void only_the_part_within_the_wait_counts(void **state)
{
	const struct slice slices[] = {
		{.ended_ns = 2000, .ran_ns = 600, .tid = 8},
		{.ended_ns = 1400, .ran_ns = 1300, .tid = 9}, /* 400 of it */
	};
	struct slow_event event = wait_of(2);
	struct cpu_holder culprit;

	(void)state;
	cpu_holder_find(&culprit, &event, slices);
	assert_int_equal(culprit.most_tid, 8);
	assert_int_equal(culprit.most_ns, 600);
}

static void an_idle_cpu_is_no_task(void **state)
{
	const struct slice slices[] = {
		{.ended_ns = 2000, .ran_ns = 990, .tid = 0, .comm = "swapper/1"},
		{.ended_ns = 1010, .ran_ns = 500, .tid = 8, .comm = "hog"},
	};
	struct slow_event event = wait_of(2);
	struct cpu_holder culprit;

	(void)state;
	cpu_holder_find(&culprit, &event, slices);
	assert_string_equal(culprit.before.comm, "swapper/1");
	assert_int_equal(culprit.before.tid, 0);
	assert_int_equal(culprit.most_tid, 8);
	assert_int_equal(culprit.most_ns, 10);
	event.slices_count = 1;
	cpu_holder_find(&culprit, &event, slices);
	assert_int_equal(culprit.most_tid, 0);
	assert_int_equal(culprit.most_ns, 0);
}

static void nothing_seen_is_nothing_said(void **state)
{
	const struct slice of_unknown_length[] = {{.ended_ns = 2000, .tid = 8, .comm = "hog"}};
	struct slow_event event = wait_of(0);
	struct cpu_holder culprit;

	(void)state;
	cpu_holder_find(&culprit, &event, NULL);
	assert_int_equal(culprit.before.comm[0], '\0');
	assert_int_equal(culprit.most_tid, 0);
	event.slices_count = 1;
	cpu_holder_find(&culprit, &event, of_unknown_length);
	assert_string_equal(culprit.before.comm, "hog");
	assert_int_equal(culprit.most_tid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_one_on_the_cpu_is_told_and_who_had_it_longest),
		cmocka_unit_test(slices_of_one_task_are_summed),
		cmocka_unit_test(only_the_part_within_the_wait_counts),
		cmocka_unit_test(an_idle_cpu_is_no_task),
		cmocka_unit_test(nothing_seen_is_nothing_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
