// SPDX-License-Identifier: GPL-2.0-or-later
/* What answers of /proc say of numbers that this machine may not count: the CPUs' counters, energy,
 * evictions. */
#include "unit/costs/table_scene.h"

#include "api/processes/proc_output.h"

#define BIT(cost) (1ULL << (cost))
#define CYCLES	  (BIT(COST_PMU_CYCLES) | BIT(COST_PMU_NS) | BIT(COST_PMU_INSTRUCTIONS))

static struct {
	struct table_scene scene;
	struct cost_row all[2];
	struct cost_more more[2];
	struct cost_rows rows;
	struct cost_answer answer;
	struct buf text;
} test;

static int begin(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	table_scene_begin(&test.scene);
	for (int i = 0; i < 2; i++)
		test.all[i] = (struct cost_row){
			.pid = 7 + i, .comm = "busy", .processes = 1, .more = &test.more[i]};
	test.rows = (struct cost_rows){.all = test.all, .count = 2, .time_ns = 11 * NS_PER_S};
	test.answer = (struct cost_answer){.table = test.scene.table,
					   .rows = &test.rows,
					   .from_ns = 10 * NS_PER_S,
					   .known = BIT(COST_RUN) | CYCLES};
	test.text = (struct buf)BUF_INIT(65536);
	return 0;
}

static int end(void **state)
{
	(void)state;
	buf_done(&test.text);
	table_scene_end(&test.scene);
	return 0;
}

static void set_counts(int row, uint64_t run_ns, uint64_t cycles, uint64_t instructions)
{
	test.all[row].costs.of[COST_RUN] = run_ns;
	test.more[row].of[COST_PMU_CYCLES - COSTS] = cycles;
	test.more[row].of[COST_PMU_INSTRUCTIONS - COSTS] = instructions;
	test.more[row].of[COST_PMU_NS - COSTS] = run_ns;
}

static const char *write_selected(const char *extension, enum cost_probe probe)
{
	const struct proc_choice choice = {probe, cost_kind_get(probe)->key, SIZE_MAX};

	buf_done(&test.text);
	test.text = (struct buf)BUF_INIT(65536);
	proc_form_find(extension)->write(&test.text, &test.answer, &choice);
	buf_char(&test.text, '\0');
	return test.text.data;
}

static const char *write_as(const char *extension, enum cost_probe probe)
{
	cost_rows_sum(&test.rows);
	return write_selected(extension, probe);
}

static void assert_says(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static void rates_are_of_what_counted(void **state)
{
	(void)state;
	set_counts(0, 500000000, 1500000000, 3000000000);
	set_counts(1, 250000000, 0, 0);
	const char *text = write_as(".json", PROC_CPU);
	assert_says(text, "\"pid\":7,\"comm\":\"busy\",\"run_ns\":500000000,\"cycles\":1500000000,"
			  "\"instructions\":3000000000,\"counted_ns\":500000000,"
			  "\"average_hz\":3000000000,\"ipc\":2}");
	assert_says(text, "\"pid\":8,\"comm\":\"busy\",\"run_ns\":250000000,\"cycles\":0,"
			  "\"instructions\":0,\"counted_ns\":250000000,\"average_hz\":0}");
	assert_says(text, "\"average_hz\":2000000000,\"ipc\":2"); /* of both */
	text = write_as(".txt", PROC_CPU);
	assert_says(text, "counted_ns      average_hz             ipc  pid");
	assert_says(text, "500000000           3e+09               2        7 busy");
	assert_says(text, "250000000               0               -        8 busy");
	test.answer.known = BIT(COST_RUN);
	test.answer.absent = "cycles: none";
	text = write_as(".json", PROC_CPU);
	assert_says(text, "\"absent\":\"cycles: none\"");
	assert_null(strstr(text, "average_hz"));
	assert_null(strstr(write_as(".txt", PROC_CPU), "average_hz"));
}

static void energy_goes_by_cycles_where_they_are_counted(void **state)
{
	(void)state;
	set_counts(0, 500000000, 3000, 1);
	set_counts(1, 500000000, 1000, 1);
	test.rows.host = (struct host_times){.cpus = 2, .idle_ns = 1000000000};
	test.rows.energy = (struct energy_counts){
		.time_ns = NS_PER_S, .count = 1, .zones = {{"package-0", 8000000}}};
	test.answer.counted_from_ns[COUNTER_PMU] = test.answer.from_ns;
	const char *text = write_as(".json", PROC_CPU);
	assert_says(text, "\"active_estimate_uj\":4000000,\"idle_estimate_uj\":4000000");
	assert_says(text, "\"energy_estimate_uj\":3000000");
	assert_says(text, "\"energy_estimate_uj\":1000000");
	test.rows.count = 1; /* only one is selected: all others' cycles count, too */
	assert_says(write_selected(".json", PROC_CPU), "\"energy_estimate_uj\":3000000");
	test.answer.counted_from_ns[COUNTER_PMU]++; /* not of all of the answer's time */
	assert_says(write_as(".json", PROC_CPU), "\"energy_estimate_uj\":2000000");
}

static void the_hit_rate_is_of_what_was_found_and_added(void **state)
{
	(void)state;
	test.more[0].of[COST_CACHE_HIT - COSTS] = 30;
	test.more[0].of[COST_CACHE_ADDED - COSTS] = 10;
	test.more[1].of[COST_CACHE_DIRTIED - COSTS] = 1;
	test.answer.known = BIT(COST_CACHE_HIT) | BIT(COST_CACHE_ADDED) | BIT(COST_CACHE_DIRTIED);
	const char *text = write_as(".json", PROC_PAGECACHE);
	assert_says(text,
		    "\"page_hits\":30,\"pages_added\":10,\"pages_dirtied\":0,\"hit_rate\":0.75}");
	assert_says(text, "\"pages_dirtied\":1}"); /* without a rate */
	test.answer.known = BIT(COST_CACHE_ADDED) | BIT(COST_CACHE_DIRTIED);
	assert_null(strstr(write_as(".json", PROC_PAGECACHE), "hit_rate"));
}

static void evictions_are_the_largest_and_a_rest(void **state)
{
	struct keyed_count counts[22];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		counts[i] = (struct keyed_count){.key = 100 + i, .count = 2 * i};
	test.rows.evictions = (struct keyed_counts){counts, ARRAY_SIZE(counts)};
	test.answer.known = BIT(COST_CACHE_ADDED);
	const char *text = write_as(".json", PROC_PAGECACHE);
	assert_says(text, "\"evictions\":[{\"id\":121,\"pages\":42},{\"id\":120,\"pages\":40}");
	assert_says(text, "{\"id\":102,\"pages\":4}],\"other_evictions\":2"); /* none has none */
	assert_null(strstr(write_as(".json", PROC_ALL), "evictions"));
	test.answer.known = BIT(COST_RUN); /* they were counted for somebody else */
	assert_null(strstr(write_as(".json", PROC_PAGECACHE), "evictions"));
}

#define OUTPUT_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OUTPUT_TEST(rates_are_of_what_counted),
		OUTPUT_TEST(energy_goes_by_cycles_where_they_are_counted),
		OUTPUT_TEST(the_hit_rate_is_of_what_was_found_and_added),
		OUTPUT_TEST(evictions_are_the_largest_and_a_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
