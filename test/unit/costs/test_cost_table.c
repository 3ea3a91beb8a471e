// SPDX-License-Identifier: GPL-2.0-or-later
/* What processes have cost: readings, ends, what is folded, differences and groups. */
#include "unit/costs/table_scene.h"

#include <unistd.h>

static struct {
	struct table_scene scene;
	struct cost_rows rows;
	uint64_t line_serial; /* of readings */
} test;

static int begin(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	table_scene_begin(&test.scene);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cost_rows_done(&test.rows);
	table_scene_end(&test.scene);
	return 0;
}

static struct cost_owner owner_of(uint32_t pid, uint64_t start_ns, uint64_t group)
{
	return (struct cost_owner){
		.start_ns = start_ns, .group = {.v2 = group}, .tgid = pid, .comm = "busy"};
}

static struct process_cost process_of(uint32_t pid, uint64_t start_ns, uint64_t run_ns)
{
	return (struct process_cost){.owner = owner_of(pid, start_ns, 1),
				     .costs = {.of = {[COST_RUN] = run_ns}}};
}

static void take(struct process_cost *processes, size_t count)
{
	const struct cost_reading reading = {
		.processes = processes, .count = count, .line_serial = test.line_serial};

	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);
	cost_table_fold(test.scene.table);
}

static void take_one(uint32_t pid, uint64_t run_ns)
{
	struct process_cost process = process_of(pid, 1000 + pid, run_ns);

	take(&process, 1);
}

static void end_one(uint32_t pid, uint64_t group, uint64_t run_ns)
{
	const struct ended_cost ended = {owner_of(pid, 1000 + pid, group),
					 {.of = {[COST_RUN] = run_ns}}};

	assert_int_equal(cost_table_end(test.scene.table, &ended), 0);
}

static const struct cost_rows *copy(void)
{
	cost_rows_done(&test.rows);
	assert_int_equal(cost_table_copy(test.scene.table, &test.rows), 0);
	return &test.rows;
}

static const struct cost_row *row_of(pid_t pid)
{
	for (size_t i = 0; i < test.rows.count; i++) {
		if (test.rows.all[i].pid == pid)
			return &test.rows.all[i];
	}
	return NULL;
}

static uint64_t sum_of_rows(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < test.rows.count; i++)
		sum += test.rows.all[i].costs.of[COST_RUN];
	return sum;
}

static void a_sum_never_goes_back(void **state)
{
	(void)state;
	take_one(7, 50);
	take_one(7, 40); /* a thread is ending */
	copy();
	assert_int_equal(row_of(7)->costs.of[COST_RUN], 50);
	end_one(7, 1, 60);
	copy();
	assert_int_equal(row_of(7)->costs.of[COST_RUN], 60);
	assert_true(row_of(7)->has_ended);
}

static void memory_is_the_last_readings_and_none_of_who_has_ended(void **state)
{
	struct process_cost process = process_of(7, 1007, 50);
	struct cost_rows before;

	(void)state;
	process.owner.rss_pages = 10;
	take(&process, 1);
	process.owner.rss_pages = 3;
	take(&process, 1);
	assert_int_equal(cost_table_copy(test.scene.table, &before), 0);
	copy();
	assert_int_equal(cost_row_value(row_of(7), COST_RSS), 3 * sysconf(_SC_PAGESIZE));
	cost_rows_subtract(&test.rows, &before, true); /* it did nothing */
	assert_int_equal(cost_row_value(row_of(7), COST_RSS), 3 * sysconf(_SC_PAGESIZE));
	copy();
	cost_rows_subtract(&test.rows, &before, false);
	assert_null(row_of(7));
	end_one(7, 1, 60);
	take(&process, 1); /* a reading that began before its end */
	copy();
	assert_int_equal(cost_row_value(row_of(7), COST_RSS), 0);
	cost_rows_done(&before);
}

static void a_fork_goes_by_its_forker_until_it_calls_execve(void **state)
{
	struct process_cost processes[] = {process_of(9, 1009, 1), process_of(8, 1008, 1),
					   process_of(7, 1007, 1)};

	(void)state;
	processes[0].owner.forker = 8;
	processes[0].owner.forker_start_ns = 1008;
	processes[1].owner.forker = 7;
	processes[1].owner.forker_start_ns = 1007;
	take(processes, 3);
	copy();
	assert_int_equal(cost_row_line(test.scene.table, row_of(9))->pid, 7);
	assert_int_equal(cost_row_line(test.scene.table, row_of(8))->pid, 7);
	assert_int_equal(cost_row_line(test.scene.table, row_of(7))->pid, 7);
	processes[0].owner.forker = 1; /* an orphan: it keeps its first parent */
	processes[0].owner.forker_start_ns = 1;
	processes[1].owner.forker = 0;
	processes[1].owner.has_execed = 1;
	take(processes, 3);
	copy();
	assert_int_equal(cost_row_line(test.scene.table, row_of(9))->pid, 8);
	assert_int_equal(cost_row_line(test.scene.table, row_of(8))->pid, 8);
	processes[0] = process_of(10, 1010, 1);
	processes[0].owner.forker = 8;
	processes[0].owner.forker_start_ns = 1; /* another process had the pid */
	take(processes, 3);
	copy();
	assert_int_equal(cost_row_line(test.scene.table, row_of(10))->pid, 10);
}

static void memory_cgroups_are_found_by_their_own_hierarchy_s_ids(void **state)
{
	struct met_cgroup met[] = {{.key = {.v2 = 5}, .path = "/five"},
				   {.key = {.v2 = 1, .v1 = 9}, .path = "/"}};
	const struct cost_reading reading = {.met = met, .met_count = 2};
	bool has_path = false;

	(void)state;
	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);
	assert_string_equal(cost_table_cgroup(test.scene.table, 5, &has_path)->path, "/five");
	assert_true(has_path);
	assert_non_null(cost_table_cgroup(test.scene.table, 9, &has_path));
	assert_false(has_path);
	assert_null(cost_table_cgroup(test.scene.table, 1, &has_path));
	assert_null(cost_table_cgroup(test.scene.table, 0, &has_path));
}

static void a_command_line_counts_for_the_snoopers_it_was_compared_with(void **state)
{
	_cleanup_snoopers_ struct snoopers *snoopers = NULL, *others = NULL;
	struct process_cost processes[] = {process_of(7, 1007, 1), process_of(8, 1008, 1)};

	(void)state;
	assert_int_equal(snoopers_new(&snoopers), 0);
	assert_int_equal(snoopers_add_name(snoopers, "^busy$", "-x", "", 0), 0);
	assert_int_equal(snoopers_new(&others), 0);
	assert_int_equal(snoopers_add_name(others, "^busy$", "-y", "", 0), 0);
	assert_true(snoopers_ask_for_lines(snoopers));
	test.line_serial = snoopers_serial(snoopers);
	processes[1].line_matches = true;
	take(processes, 2);
	processes[1].line_matches = false;
	processes[1].line_unread = true; /* a zombie has none */
	take(processes, 2);
	end_one(8, 1, 5); /* it stays chosen */
	copy();
	cost_rows_select(&test.rows, test.scene.table, snoopers);
	assert_int_equal(test.rows.count, 1);
	assert_int_equal(test.rows.all[0].pid, 8);
	copy();
	cost_rows_select(&test.rows, test.scene.table, others);
	assert_int_equal(test.rows.count, 0);
}

/* Takes a reading without processes, in which a program of ours has counted. */
static void take_counted(uint32_t pid, uint64_t net_rx, uint64_t pages)
{
	struct counted_cost counted[] = {
		{{1000 + pid, pid}, {.of = {[COST_SOFTIRQ_NET_RX - COSTS] = net_rx}}},
		{{1000 + pid, pid}, {.of = {[COST_CACHE_ADDED - COSTS] = pages}}},
	};
	struct softirq_counts cpu = {.count = {[SOFTIRQ_NET_RX] = net_rx}};
	const struct cost_reading reading = {
		.counts = {.all = counted, .count = 2, .cpus = &cpu, .cpus_count = 1}};

	if (!pid)
		counted[0].key = counted[1].key = (struct cost_counter_key){0};
	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);
}

static void pairs_are_subtracted_and_have_names(void **state)
{
	struct keyed_count pairs[] = {{.pair = {8, 7}, 1}, {.pair = {7, 8}, 5}};
	struct keyed_count evictions[] = {{.key = 9, .count = 4}};
	const struct cost_reading reading = {
		.counts = {.pairs = {pairs, 2}, .evictions = {evictions, 1}}};
	struct cost_name_of names[] = {{.pid = 7}, {.pid = 9}};
	struct cost_rows before = {0};

	(void)state;
	take_one(7, 50);
	pairs[0].count = 3;
	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);
	assert_int_equal(cost_table_copy(test.scene.table, &before), 0);
	pairs[0].count = 10;
	evictions[0].count = 9;
	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);
	copy();
	cost_rows_subtract(&test.rows, &before, false);
	assert_int_equal(test.rows.pairs.count, 2);
	assert_int_equal(test.rows.pairs.all[0].count, 7);
	assert_int_equal(test.rows.pairs.all[1].count, 0);
	assert_int_equal(test.rows.evictions.count, 1);
	assert_int_equal(test.rows.evictions.all[0].count, 5);
	cost_rows_done(&before);
	cost_table_names(test.scene.table, names, 2);
	assert_string_equal(names[0].comm, "busy");
	assert_string_equal(names[1].comm, "");
	cost_table_clear(test.scene.table, COUNTER_WAKE);
	assert_int_equal(copy()->pairs.count, 0);
	assert_int_equal(test.rows.evictions.count, 1);
	cost_table_clear(test.scene.table, COUNTER_CACHE);
	assert_int_equal(copy()->evictions.count, 0);
}

static uint64_t value_of(pid_t pid, enum cost cost)
{
	copy();
	return row_of(pid) ? cost_row_value(row_of(pid), cost) : 0;
}

static void what_our_programs_count_is_added_to_its_process(void **state)
{
	(void)state;
	take_one(7, 50);
	assert_int_equal(value_of(7, COST_SOFTIRQ_NET_RX), 0);
	take_counted(7, 3, 40);
	assert_int_equal(value_of(7, COST_SOFTIRQ_NET_RX), 3);
	assert_int_equal(value_of(7, COST_CACHE_ADDED), 40);
	assert_int_equal(value_of(7, COST_RUN), 50);
	take_counted(8, 3, 40); /* it is younger than the last reading of processes */
	assert_null(row_of(8));
	take_counted(0, 9, 0);
	copy();
	assert_int_equal(test.rows.idle.of[COST_SOFTIRQ_NET_RX - COSTS], 9);
	assert_int_equal(test.rows.cpus_count, 1);
	assert_int_equal(test.rows.cpus[0].count[SOFTIRQ_NET_RX], 9);
}

static void what_our_programs_counted_stays_when_a_process_has_ended(void **state)
{
	const struct cost_counter_key key = {1007, 7};
	uint64_t sum = 0;

	(void)state;
	take_one(7, 50);
	take_counted(7, 3, 40);
	assert_false(cost_table_has_ended(test.scene.table, &key, 1));
	end_one(7, 1, 60);
	assert_false(cost_table_has_ended(test.scene.table, &key, 0)); /* it had not, then */
	assert_true(cost_table_has_ended(test.scene.table, &key, 1));
	for (uint32_t pid = 100; pid < 100 + 3 * COST_ENDED_KEPT; pid++)
		end_one(pid, 1, 1);
	copy();
	assert_null(row_of(7)); /* it is folded */
	for (size_t i = 0; i < test.rows.count; i++)
		sum += cost_row_value(&test.rows.all[i], COST_CACHE_ADDED);
	assert_int_equal(sum, 40);
}

static void what_our_programs_counted_before_is_subtracted_and_grouped(void **state)
{
	struct cost_rows before = {0};

	(void)state;
	take_one(7, 50);
	take_one(8, 50);
	take_counted(7, 3, 40);
	assert_int_equal(cost_table_copy(test.scene.table, &before), 0);
	take_counted(7, 5, 41);
	take_counted(8, 10, 0);
	copy();
	cost_rows_subtract(&test.rows, &before, false);
	assert_int_equal(cost_row_value(row_of(7), COST_SOFTIRQ_NET_RX), 2);
	assert_int_equal(test.rows.cpus[0].count[SOFTIRQ_NET_RX], 7);
	assert_int_equal(cost_rows_group(&test.rows, test.scene.table, COST_BY_NONE), 0);
	assert_int_equal(cost_row_value(&test.rows.all[0], COST_SOFTIRQ_NET_RX), 12);
	assert_int_equal(cost_row_value(&test.rows.all[0], COST_CACHE_ADDED), 1);
	cost_rows_done(&before);
}

static void counts_that_begin_anew_begin_at_zero(void **state)
{
	(void)state;
	take_one(7, 50);
	take_counted(7, 3, 40);
	cost_table_clear(test.scene.table, COUNTER_SOFTIRQ);
	assert_int_equal(value_of(7, COST_SOFTIRQ_NET_RX), 0);
	assert_int_equal(value_of(7, COST_CACHE_ADDED), 40);
	assert_int_equal(test.rows.cpus_count, 0);
	cost_rows_clear(&test.rows, COUNTER_CACHE);
	assert_int_equal(cost_row_value(row_of(7), COST_CACHE_ADDED), 0);
	take_counted(7, 1, 40);
	assert_int_equal(value_of(7, COST_SOFTIRQ_NET_RX), 1);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct process_cost both[] = {process_of(7, 1, 50), process_of(7, 2, 5)};

	(void)state;
	take(both, 1);
	take(both + 1, 1);
	assert_int_equal(copy()->count, 2);
	assert_int_equal(sum_of_rows(), 55);
}

static void a_process_whose_end_was_lost_ends_when_it_is_not_seen(void **state)
{
	(void)state;
	take_one(7, 50);
	take_one(8, 1); /* it may be between its release and its end */
	copy();
	assert_false(row_of(7)->has_ended);
	take_one(8, 1);
	copy();
	assert_true(row_of(7)->has_ended);
	assert_false(row_of(8)->has_ended);
}

static void processes_that_ended_long_ago_are_one_row_by_cgroup(void **state)
{
	enum { COUNT = 2 * COST_ENDED_KEPT + 10 };

	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++)
		end_one(i, 1 + i % 2, 10);
	take(NULL, 0);
	copy();
	assert_int_equal(test.rows.count, COST_ENDED_KEPT + 2);
	assert_int_equal(sum_of_rows(), 10 * COUNT);
	assert_null(row_of(1));
	assert_non_null(row_of(COUNT));
	assert_int_equal(test.rows.all[0].pid, 0);
	assert_int_equal(test.rows.all[0].processes + test.rows.all[1].processes,
			 COUNT - COST_ENDED_KEPT);
}

static void who_ends_while_it_is_read_is_counted_once(void **state)
{
	enum { COUNT = 2 * COST_ENDED_KEPT + 10 };

	(void)state;
	take_one(1, 100);
	cost_table_hold(test.scene.table, true);
	for (uint32_t i = 1; i <= COUNT; i++)
		end_one(i, 1, i == 1 ? 100 : 1);
	assert_int_equal(copy()->count, COUNT); /* none is folded */
	cost_table_hold(test.scene.table, false);
	take_one(1, 100);
	copy();
	assert_null(row_of(1));
	assert_int_equal(sum_of_rows(), 100 + COUNT - 1);
	take(NULL, 0);
	take(NULL, 0);
	copy();
	assert_int_equal(sum_of_rows(), 100 + COUNT - 1);
}

static void what_was_before_is_subtracted_also_of_folded_rows(void **state)
{
	struct cost_rows before = {0};

	(void)state;
	take_one(1, 100);
	assert_int_equal(cost_table_copy(test.scene.table, &before), 0);
	end_one(1, 1, 110);
	for (uint32_t i = 2; i < 2 * COST_ENDED_KEPT + 10; i++)
		end_one(i, 1, 1);
	take(NULL, 0);
	copy();
	assert_null(row_of(1));
	cost_rows_subtract(&test.rows, &before, false);
	assert_int_equal(sum_of_rows(), 10 + 2 * COST_ENDED_KEPT + 8);
	cost_rows_done(&before);
}

static void rows_without_costs_since_are_left_out(void **state)
{
	struct process_cost both[] = {process_of(7, 1, 50), process_of(8, 1, 5)};
	struct cost_rows before = {0};

	(void)state;
	take(both, 2);
	assert_int_equal(cost_table_copy(test.scene.table, &before), 0);
	both[1].costs.of[COST_RUN] = 9;
	take(both, 2);
	copy();
	cost_rows_subtract(&test.rows, &before, false);
	assert_int_equal(test.rows.count, 1);
	assert_int_equal(row_of(8)->costs.of[COST_RUN], 4);
	cost_rows_done(&before);
}

static void rows_are_put_together_by_name_cgroup_and_container(void **state)
{
	struct process_cost three[] = {process_of(7, 1, 1), process_of(8, 1, 10),
				       process_of(9, 1, 100)};
	struct met_cgroup met = {.key = {.v2 = 2}, .path = (char *)"/in"};
	const struct cost_reading reading = {
		.processes = three, .count = 3, .met = &met, .met_count = 1};

	(void)state;
	three[1].owner.group.v2 = 2;
	memcpy(three[2].owner.comm, "other", 6);
	memset(met.place.id, 'a', 64);
	assert_int_equal(cost_table_take(test.scene.table, &reading), 0);

	copy();
	assert_string_equal(cost_row_path(test.scene.table, row_of(8)), "/in");
	assert_int_equal(cost_rows_group(&test.rows, test.scene.table, COST_BY_COMM), 0);
	assert_int_equal(test.rows.count, 2);
	assert_int_equal(test.rows.all[0].costs.of[COST_RUN], 11);
	assert_int_equal(test.rows.all[0].processes, 2);

	copy();
	assert_int_equal(cost_rows_group(&test.rows, test.scene.table, COST_BY_CGROUP), 0);
	assert_int_equal(test.rows.count, 2);
	copy();
	assert_int_equal(cost_rows_group(&test.rows, test.scene.table, COST_BY_CONTAINER), 0);
	assert_int_equal(test.rows.count, 2);
	assert_int_equal(test.rows.all[0].costs.of[COST_RUN], 101); /* in none */
	assert_int_equal(test.rows.all[1].costs.of[COST_RUN], 10);
	copy();
	assert_int_equal(cost_rows_group(&test.rows, test.scene.table, COST_BY_NONE), 0);
	assert_int_equal(test.rows.count, 1);
	assert_int_equal(test.rows.all[0].processes, 3);
}

static void snoopers_select_by_name_and_pid(void **state)
{
	struct process_cost two[] = {process_of(7, 1, 1), process_of(8, 1, 10)};
	struct snoopers *snoopers;

	(void)state;
	memcpy(two[1].owner.comm, "other", 6);
	take(two, 2);
	assert_int_equal(snoopers_new(&snoopers), 0);
	copy();
	cost_rows_select(&test.rows, test.scene.table, snoopers);
	assert_int_equal(test.rows.count, 2); /* none chooses all */
	assert_int_equal(snoopers_add_name(snoopers, "^oth", "", "", 0), 0);
	cost_rows_select(&test.rows, test.scene.table, snoopers);
	assert_int_equal(test.rows.count, 1);
	assert_int_equal(test.rows.all[0].pid, 8);
	snoopers_unref(snoopers);
}

#define TABLE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TABLE_TEST(a_sum_never_goes_back),
		TABLE_TEST(memory_is_the_last_readings_and_none_of_who_has_ended),
		TABLE_TEST(what_our_programs_count_is_added_to_its_process),
		TABLE_TEST(what_our_programs_counted_stays_when_a_process_has_ended),
		TABLE_TEST(what_our_programs_counted_before_is_subtracted_and_grouped),
		TABLE_TEST(counts_that_begin_anew_begin_at_zero),
		TABLE_TEST(pairs_are_subtracted_and_have_names),
		TABLE_TEST(memory_cgroups_are_found_by_their_own_hierarchy_s_ids),
		TABLE_TEST(a_fork_goes_by_its_forker_until_it_calls_execve),
		TABLE_TEST(a_command_line_counts_for_the_snoopers_it_was_compared_with),
		TABLE_TEST(a_pid_that_is_used_again_is_another_process),
		TABLE_TEST(a_process_whose_end_was_lost_ends_when_it_is_not_seen),
		TABLE_TEST(processes_that_ended_long_ago_are_one_row_by_cgroup),
		TABLE_TEST(who_ends_while_it_is_read_is_counted_once),
		TABLE_TEST(what_was_before_is_subtracted_also_of_folded_rows),
		TABLE_TEST(rows_without_costs_since_are_left_out),
		TABLE_TEST(rows_are_put_together_by_name_cgroup_and_container),
		TABLE_TEST(snoopers_select_by_name_and_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
