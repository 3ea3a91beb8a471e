// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes with series of their own in /metrics: who is chosen; no series ever decreases. */
#include "unit/lib/unit.h"

#include "costs/cost_series.h"

#define PROCESSES_MAX 64

static struct {
	struct cost_series series;
	struct cost_row room[PROCESSES_MAX];
	struct cost_rows rows;
} test;

static int begin(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	test.rows.all = test.room;
	return 0;
}

static int end(void **state)
{
	(void)state;
	cost_series_done(&test.series);
	return 0;
}

static void set_row(pid_t pid, uint64_t run_ns)
{
	for (size_t i = 0; i < test.rows.count; i++) {
		if (test.room[i].pid == pid) {
			test.room[i].costs.of[COST_RUN] = run_ns;
			return;
		}
	}
	test.room[test.rows.count++] = (struct cost_row){
		.pid = pid, .start_ns = 1, .costs = {.of = {[COST_RUN] = run_ns}}};
	cost_rows_sort(&test.rows);
}

static void remove_row(pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < test.rows.count; i++) {
		if (test.room[i].pid != pid)
			test.room[kept++] = test.room[i];
	}
	test.rows.count = kept;
}

static void update(size_t most)
{
	assert_int_equal(cost_series_update(&test.series, &test.rows, most), 0);
}

/* Returns the value of a process's series; -1: it has none. */
static int64_t series_of(pid_t pid)
{
	struct cost_sums sums;

	for (size_t i = 0; i < test.series.count; i++) {
		if (test.series.all[i].row.pid != pid)
			continue;
		cost_series_value(&test.series.all[i], &sums);
		return (int64_t)sums.of[COST_RUN];
	}
	return -1;
}

static uint64_t others(void)
{
	return test.series.others.of[COST_RUN];
}

static void those_with_the_most_time_are_chosen_and_begin_at_zero(void **state)
{
	(void)state;
	set_row(1, 10);
	set_row(2, 30);
	set_row(3, 20);
	update(2);
	assert_int_equal(series_of(2), 0);
	assert_int_equal(series_of(3), 0);
	assert_int_equal(series_of(1), -1);
	assert_int_equal(others(), 60);
	set_row(2, 35);
	set_row(1, 12);
	update(2);
	assert_int_equal(series_of(2), 5);
	assert_int_equal(others(), 62);
}

static void one_that_overtakes_takes_the_place_of_the_least(void **state)
{
	(void)state;
	set_row(1, 10);
	set_row(2, 30);
	set_row(3, 20);
	update(2);
	set_row(3, 25);
	set_row(1, 100);
	update(2);
	assert_int_equal(series_of(1), 0);
	assert_int_equal(series_of(3), -1);
	assert_int_equal(others(),
			 100 + 30 + 20); /* what 3 had meanwhile is gone, not the others' */
	set_row(1, 150);
	update(2);
	assert_int_equal(series_of(1), 50);
	assert_int_equal(others(), 150);
}

static void one_that_ended_leaves_no_gap_and_no_step(void **state)
{
	(void)state;
	set_row(1, 10);
	set_row(2, 30);
	update(2);
	set_row(1, 19);
	update(2);
	uint64_t before = others();
	remove_row(1); /* it ended long ago: its cgroup has what it cost */
	set_row(0, 19);
	update(2);
	assert_int_equal(series_of(1), -1);
	assert_int_equal(others(), before);
}

static void one_that_has_ended_is_shown_once_more(void **state)
{
	(void)state;
	set_row(1, 10);
	set_row(2, 30);
	update(1);
	set_row(2, 37);
	test.room[1].has_ended = true;
	update(1);
	assert_int_equal(series_of(2), 7);
	update(1);
	assert_int_equal(series_of(2), -1);
	assert_int_equal(series_of(1), 0);
	update(1);
	assert_int_equal(series_of(2), -1); /* it is not chosen again */
	assert_int_equal(others(), 40);
}

static void rows_that_are_selected_no_more_take_nothing_away(void **state)
{
	(void)state;
	set_row(1, 10);
	set_row(2, 30);
	set_row(3, 5);
	update(1);
	assert_int_equal(others(), 45);
	remove_row(1); /* it has another name now */
	update(1);
	assert_int_equal(others(), 45);
	set_row(3, 9);
	update(1);
	assert_int_equal(others(), 49);
	set_row(2, 90);
	update(1);
	remove_row(2); /* which was chosen: what it had is no other's */
	update(1);
	assert_int_equal(others(), 49);
	set_row(3, 11);
	update(1);
	assert_int_equal(others(), 49); /* it is chosen itself now, and was at 9 */
}

static void a_pid_that_is_used_again_has_one_series(void **state)
{
	(void)state;
	set_row(1, 100);
	update(2);
	test.room[0].has_ended = true;
	test.room[test.rows.count++] =
		(struct cost_row){.pid = 1, .start_ns = 2, .costs = {.of = {[COST_RUN] = 7}}};
	update(2);
	assert_int_equal(test.series.count, 1);
	assert_int_equal(test.series.all[0].row.start_ns, 2);
}

static void fewer_may_be_asked_for_later(void **state)
{
	(void)state;
	for (pid_t pid = 1; pid <= 8; pid++)
		set_row(pid, (uint64_t)pid);
	update(8);
	assert_int_equal(test.series.count, 8);
	update(3);
	assert_int_equal(test.series.count, 3);
	assert_int_equal(series_of(8), 0);
	update(0);
	assert_int_equal(test.series.count, 0);
	assert_int_equal(others(), 36);
}

static void no_sum_decreases_whatever_comes(void **state)
{
	uint64_t random = 7, others_before = 0;
	int64_t before[PROCESSES_MAX];

	(void)state;
	memset(before, -1, sizeof(before));
	for (int round = 0; round < 5000; round++) {
		pid_t pid = (pid_t)(random_next(&random) % (PROCESSES_MAX - 1)) + 1;
		uint64_t run_ns = 0;

		for (size_t i = 0; i < test.rows.count; i++)
			run_ns = test.room[i].pid == pid ? test.room[i].costs.of[COST_RUN] : run_ns;
		set_row(pid, run_ns + random_next(&random) % 100);
		update(5);
		assert_true(others() >= others_before);
		others_before = others();
		for (pid_t each = 1; each < PROCESSES_MAX; each++) {
			int64_t now = series_of(each);

			assert_true(now < 0 || now >= before[each] || now == 0);
			before[each] = now;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			those_with_the_most_time_are_chosen_and_begin_at_zero, begin, end),
		cmocka_unit_test_setup_teardown(one_that_overtakes_takes_the_place_of_the_least,
						begin, end),
		cmocka_unit_test_setup_teardown(one_that_ended_leaves_no_gap_and_no_step, begin,
						end),
		cmocka_unit_test_setup_teardown(one_that_has_ended_is_shown_once_more, begin, end),
		cmocka_unit_test_setup_teardown(rows_that_are_selected_no_more_take_nothing_away,
						begin, end),
		cmocka_unit_test_setup_teardown(a_pid_that_is_used_again_has_one_series, begin,
						end),
		cmocka_unit_test_setup_teardown(fewer_may_be_asked_for_later, begin, end),
		cmocka_unit_test_setup_teardown(no_sum_decreases_whatever_comes, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
