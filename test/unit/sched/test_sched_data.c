// SPDX-License-Identifier: GPL-2.0-or-later
/* Differences and sums of what the probes of /sched have counted; the log of slow waits. */
#include "unit/lib/unit.h"

#include "container/container.h"
#include "sched/sched_data.h"

static void what_was_counted_before_is_taken_away(void **state)
{
	struct hist_row now[3] = {
		{.group = 1, .hist = {.slots = {5, 1}, .sum_ns = 100}},
		{.group = 2, .hist = {.slots = {7}, .sum_ns = 50}},
		{.group = 4, .hist = {.slots = {0, 0, 3}, .sum_ns = 9}},
	};
	struct hist_row then[3] = {
		{.group = 1, .hist = {.slots = {4, 1}, .sum_ns = 60}},
		{.group = 2, .hist = {.slots = {7}, .sum_ns = 50}},
		{.group = 3, .hist = {.slots = {9}, .sum_ns = 1}},
	};
	struct sched_data data = {.rows = now, .count = 3}, before = {.rows = then, .count = 3};

	(void)state;
	sched_data_subtract(&data, &before);
	assert_int_equal(data.count, 2); /* one was quiet meanwhile */
	assert_int_equal(now[0].group, 1);
	assert_int_equal(hist_count(&now[0].hist), 1);
	assert_int_equal(now[0].hist.sum_ns, 40);
	assert_int_equal(now[1].group, 4); /* one is new */
	assert_int_equal(hist_count(&now[1].hist), 3);
}

static void a_count_that_went_back_is_nothing_and_no_huge_number(void **state)
{
	struct hist_row now[1] = {{.group = 1, .hist = {.slots = {1, 2}, .sum_ns = 5}}};
	struct hist_row then[1] = {{.group = 1, .hist = {.slots = {2, 1}, .sum_ns = 6}}};
	struct sched_data data = {.rows = now, .count = 1}, before = {.rows = then, .count = 1};

	(void)state;
	sched_data_subtract(&data, &before);
	assert_int_equal(hist_count(&now[0].hist), 1);
	assert_int_equal(now[0].hist.sum_ns, 0);
}

static void lengths_are_taken_away_by_cpu(void **state)
{
	struct cpu_lengths now[2] = {{0, {.slots = {9, 3}}}, {2, {.slots = {5}}}};
	struct cpu_lengths then[2] = {{1, {.slots = {9, 9}}}, {2, {.slots = {4}}}};
	struct sched_data data = {.lengths = now, .count = 2};
	struct sched_data before = {.lengths = then, .count = 2};
	struct lengths sum;

	(void)state;
	sched_data_subtract(&data, &before);
	sched_data_sum_lengths(&data, &sum);
	assert_int_equal(lengths_count(&now[0].lengths), 12);
	assert_int_equal(lengths_count(&now[1].lengths), 1);
	assert_int_equal(lengths_count(&sum), 13);
	assert_int_equal(sum.slots[1], 3);
}

static void all_groups_are_summed(void **state)
{
	struct hist_row rows[2] = {{.hist = {.slots = {1, 2}, .sum_ns = 3}},
				   {.hist = {.slots = {0, 2, 4}, .sum_ns = 5}}};
	struct sched_data data = {.rows = rows, .count = 2}, none = {0};
	struct hist sum;

	(void)state;
	sched_data_sum(&data, &sum);
	assert_int_equal(hist_count(&sum), 9);
	assert_int_equal(sum.slots[1], 4);
	assert_int_equal(sum.sum_ns, 8);
	sched_data_sum(&none, &sum);
	assert_int_equal(hist_count(&sum), 0);
}

static void the_log_keeps_the_last_events_in_their_order(void **state)
{
	_cleanup_free_ struct slow_log *log = calloc(1, sizeof(*log));
	_cleanup_sched_data_ struct sched_data data = {.probe = SCHED_RUNQSLOWER};

	(void)state;
	assert_non_null(log);
	assert_int_equal(slow_log_first(log), 0);
	for (uint32_t i = 0; i < SLOW_LOG_EVENTS + 30; i++)
		slow_log_add(log, &(struct slow_entry){.tid = i});
	assert_int_equal(slow_log_first(log), 30);
	assert_int_equal(sched_data_add_events(&data, log, 10), 0);
	assert_int_equal(data.missed, 20);
	assert_int_equal(data.count, SLOW_LOG_EVENTS);
	assert_int_equal(data.events[0].tid, 30);
	assert_int_equal(data.events[SLOW_LOG_EVENTS - 1].tid, SLOW_LOG_EVENTS + 29);
}

/* Of waits that are kept, and of those that are read. */
static void waits_keep_their_container_as_long_as_they_are_there(void **state)
{
	struct slow_log *log = calloc(1, sizeof(*log));
	struct sched_data data = {.probe = SCHED_RUNQSLOWER};
	struct container_place place = {.id = "0123456789abcdef"};
	_cleanup_container_ struct container *web = NULL;

	(void)state;
	assert_non_null(log);
	assert_int_equal(container_new(&web, &place, "web", "", "", ""), 0);
	for (uint32_t i = 0; i < SLOW_LOG_EVENTS + 30; i++)
		slow_log_add(log, &(struct slow_entry){.tid = i, .container = i < 40 ? web : NULL});
	assert_int_equal(web->refs, 1 + 10);
	assert_int_equal(sched_data_add_events(&data, log, 35), 0);
	assert_string_equal(data.events[0].container->name, "web");
	assert_int_equal(web->refs, 1 + 10 + 5);
	slow_log_free(log);
	assert_int_equal(web->refs, 1 + 5);
	sched_data_done(&data);
	assert_int_equal(web->refs, 1);
	slow_log_free(NULL);
}

static void events_since_a_number_are_those_and_no_others(void **state)
{
	_cleanup_free_ struct slow_log *log = calloc(1, sizeof(*log));
	_cleanup_sched_data_ struct sched_data data = {.probe = SCHED_RUNQSLOWER};

	(void)state;
	assert_non_null(log);
	for (uint32_t i = 0; i < 20; i++)
		slow_log_add(log, &(struct slow_entry){.tid = i});
	assert_int_equal(sched_data_add_events(&data, log, 17), 0);
	assert_int_equal(data.count, 3);
	assert_int_equal(data.missed, 0);
	assert_int_equal(data.events[0].tid, 17);
	assert_int_equal(sched_data_add_events(&data, log, 20), 0);
	assert_int_equal(data.count, 3);
}

static void all_that_was_counted_is_summed_by_form(void **state)
{
	struct hist_row rows[2] = {{.hist = {.slots = {1, 2}}}, {.hist = {.slots = {4}}}};
	struct cpu_lengths lengths[2] = {{0, {.slots = {8}}}, {1, {.slots = {0, 16}}}};
	struct slow_entry events[3] = {{0}};

	(void)state;
	for (int i = 0; i < SCHED_COUNT; i++) {
		struct sched_data data = {.probe = i,
					  .rows = rows,
					  .lengths = lengths,
					  .events = events,
					  .count = 2,
					  .missed = 30};
		static const uint64_t expected[SCHED_FORMS] = {
			[SCHED_HIST] = 7, [SCHED_LENGTHS] = 24, [SCHED_EVENTS] = 32};

		assert_int_equal(sched_data_count(&data), expected[sched_form(i)]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_counted_before_is_taken_away),
		cmocka_unit_test(a_count_that_went_back_is_nothing_and_no_huge_number),
		cmocka_unit_test(lengths_are_taken_away_by_cpu),
		cmocka_unit_test(all_groups_are_summed),
		cmocka_unit_test(the_log_keeps_the_last_events_in_their_order),
		cmocka_unit_test(waits_keep_their_container_as_long_as_they_are_there),
		cmocka_unit_test(events_since_a_number_are_those_and_no_others),
		cmocka_unit_test(all_that_was_counted_is_summed_by_form),
	};

	return cmocka_run_group_tests_name("sched_data", tests, NULL, NULL);
}
