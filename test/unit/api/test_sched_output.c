// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probes of /sched have measured, as text and as JSON. */
#include "unit/lib/buf_text.h"

#include <cjson/cJSON.h>
#include <time.h>

#include "api/resource/sched_output.h"
#include "loop/loop.h"

#define NOW_NS 1700000000123456789ULL

static char *text_of(const struct sched_data *data)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	sched_text(&out, data);
	return take_text(&out, NULL);
}

static cJSON *json_of(const struct sched_data *data)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	sched_json(&out, data);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_non_null(text);
	cJSON *json = cJSON_Parse(text);
	if (!json)
		fail_msg("no JSON: %s", text);
	return json;
}

static double number(const cJSON *json, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(json, name);

	if (!cJSON_IsNumber(item))
		fail_msg("%s is no number", name);
	return item->valuedouble;
}

static const char *string(const cJSON *json, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(json, name));

	if (!text)
		fail_msg("%s is no string", name);
	return text;
}

static struct sched_data data_of(enum sched_probe probe, enum group_by by)
{
	return (struct sched_data){
		.probe = probe,
		.group_by = by,
		.from_ns = NOW_NS - 2 * NS_PER_S,
		.until_ns = NOW_NS,
		.slow_ns = 10000000,
	};
}

static void a_histogram_without_groups_is_one_chart(void **state)
{
	struct hist_row rows[1] = {{.hist = {.slots = {[3] = 5}, .sum_ns = 25000}}};
	struct sched_data data = data_of(SCHED_RUNQLAT, GROUP_NONE);

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	data.rows = rows;
	data.count = 1;
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text,
		   "# runqlat, 2023-11-14 22:13:18 to 2023-11-14 22:13:20 (2.0 s)\n     usecs");
	assert_has(text, "         4 -> 7          : 5        |****************************");
}

static void each_group_has_its_heading(void **state)
{
	struct hist_row rows[2] = {
		{.group = 7, .hist = {.slots = {1}, .comm = "first"}},
		{.group = 19, .hist = {.slots = {0, 1}, .comm = "\033[31m\xff"}},
	};
	struct sched_data data = data_of(SCHED_CPUDIST, GROUP_PID);

	(void)state;
	data.rows = rows;
	data.count = 2;
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text, "\npid = 7 first\n     usecs");
	assert_has(text, "\npid = 19 ?[31m?\n     usecs");
	data.group_by = GROUP_CGROUP; /* a name of one in it would mislead */
	_cleanup_free_ char *other = text_of(&data);
	assert_has(other, "\ncgroup = 7\n     usecs");
}

static void json_has_buckets_up_to_the_last_that_counted(void **state)
{
	struct hist_row rows[1] = {
		{.group = 42, .hist = {.slots = {0, 2, 1}, .sum_ns = 4999, .comm = "a\"b\\\n"}}};
	struct sched_data data = data_of(SCHED_OFFCPUDIST, GROUP_TID);

	(void)state;
	data.rows = rows;
	data.count = 1;
	cJSON *json = json_of(&data);
	assert_string_equal(string(json, "probe"), "offcpudist");
	assert_string_equal(string(json, "unit"), "us");
	assert_string_equal(string(json, "group_by"), "tid");
	assert_true(number(json, "until") == 1700000000.123);
	assert_true(number(json, "from") == 1699999998.123);
	const cJSON *list = cJSON_GetObjectItem(json, "histograms");
	assert_int_equal(cJSON_GetArraySize(list), 1);
	const cJSON *one = cJSON_GetArrayItem(list, 0);
	assert_true(number(one, "group") == 42 && number(one, "count") == 3);
	assert_true(number(one, "sum_us") == 4);
	assert_string_equal(string(one, "comm"), "a\"b\\\n");
	const cJSON *buckets = cJSON_GetObjectItem(one, "buckets");
	assert_int_equal(cJSON_GetArraySize(buckets), 3);
	const cJSON *last = cJSON_GetArrayItem(buckets, 2);
	assert_true(number(last, "from") == 2 && number(last, "to") == 4);
	assert_true(number(last, "count") == 1);
	cJSON_Delete(json);
}

static void the_last_bucket_has_no_end(void **state)
{
	struct hist_row rows[1] = {{.hist = {.slots = {[HIST_SLOTS - 1] = 9}}}};
	struct sched_data data = data_of(SCHED_RUNQLAT, GROUP_NONE);

	(void)state;
	data.rows = rows;
	data.count = 1;
	cJSON *json = json_of(&data);
	const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "histograms"), 0);
	const cJSON *last = cJSON_GetArrayItem(cJSON_GetObjectItem(one, "buckets"), HIST_SLOTS - 1);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(one, "group")));
	assert_true(number(last, "from") == 33554432 && number(last, "count") == 9);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(last, "to")));
	cJSON_Delete(json);
}

static void run_queues_are_shown_by_cpu_and_together(void **state)
{
	struct cpu_lengths lengths[2] = {{0, {.slots = {3, 1}}}, {1, {.slots = {0, 0, 4}}}};
	struct sched_data data = data_of(SCHED_RUNQLEN, GROUP_NONE);

	(void)state;
	data.lengths = lengths;
	data.count = 2;
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text, "\ncpu = 0\n     runqlen");
	assert_has(text, "|\noccupancy: 25.00 %\n\ncpu = 1\n");
	assert_has(text, "|\noccupancy: 100.00 %\n\nall CPUs\n");
	assert_has(text, "|\noccupancy: 62.50 %\n");
	cJSON *json = json_of(&data);
	const cJSON *all = cJSON_GetObjectItem(json, "all");
	assert_true(number(all, "count") == 8 && number(all, "sum") == 9);
	assert_true(number(all, "occupancy") == 0.625);
	const cJSON *list = cJSON_GetObjectItem(json, "histograms");
	assert_true(number(cJSON_GetArrayItem(list, 1), "group") == 1);
	assert_true(number(cJSON_GetArrayItem(list, 1), "sum") == 8);
	cJSON_Delete(json);
}

static void waits_of_others_have_their_state(void **state)
{
	struct slow_entry events[2] = {{.probe = SCHED_OFFCPUSLOWER,
					.state = WAIT_SLEEP,
					.time_ns = NOW_NS + 151000,
					.delay_ns = 151000,
					.tgid = 70,
					.tid = 71,
					.cpu = 3,
					.comm = "off-cpu"},
				       {.probe = SCHED_OFFCPUSLOWER,
					.state = WAIT_DISK,
					.time_ns = NOW_NS,
					.delay_ns = 99,
					.comm = "x"}};
	struct sched_data data = data_of(SCHED_OFFCPUSLOWER, GROUP_NONE);

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	data.events = events;
	data.count = 2;
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text, "# blocked for longer than 10000 us\n"
			 "TIME            COMM             TID     PID          LAT(us) STATE CPU\n"
			 "22:13:20.123607 off-cpu          71      70               151 S     3\n"
			 "22:13:20.123456 x                0       0                  0 D     0\n");
	cJSON *json = json_of(&data);
	const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "events"), 0);
	assert_true(number(one, "lat_us") == 151 && number(one, "pid") == 70);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(one, "state")), "S");
	assert_null(cJSON_GetObjectItem(one, "prev"));
	cJSON_Delete(json);
}

/* Cells of two processes, and of one. */
static void scaled_histograms_have_rows_of_their_width(void **state)
{
	struct hist_cell cells[] = {
		{{.group = 7, .cell = 3}, {.count = 98, .sum_ns = 16000000, .comm = "seven"}},
		{{.group = 7, .cell = 5}, {.count = 2, .sum_ns = 500000, .comm = "seven"}},
		{{.group = 9, .cell = 1000000}, {.count = 1, .sum_ns = 5000000000, .comm = "nine"}},
	};
	struct sched_data data = data_of(SCHED_OFFCPUDIST, GROUP_PID);

	(void)state;
	data.cells = cells;
	data.count = 3;
	data.scale = (struct sched_scale){.unit_us = 1, .step = 50};
	_cleanup_free_ char *text = text_of(&data);
	assert_has(
		text,
		"\npid = 7 seven\n"
		"     usecs               : count    distribution\n"
		"       150 -> 199        : 98       |****************************************|\n"
		"       200 -> 249        : 0        |                                        |\n"
		"       250 -> 299        : 2        |                                        |\n"
		"p50 < 200, p90 < 200, p99 < 300 usecs\n"
		"\npid = 9 nine\n");
	assert_has(text, "\n  50000000 -> 50000049   : 1        |");
	cJSON *json = json_of(&data);
	assert_true(number(json, "step") == 50);
	const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "histograms"), 0);
	assert_true(number(one, "group") == 7 && number(one, "count") == 100);
	assert_true(number(one, "sum_us") == 16500);
	const cJSON *bucket = cJSON_GetArrayItem(cJSON_GetObjectItem(one, "buckets"), 1);
	assert_true(number(bucket, "from") == 250 && number(bucket, "to") == 300);
	assert_true(number(bucket, "count") == 2);
	cJSON_Delete(json);

	data.group_by = GROUP_NONE;
	data.scale = (struct sched_scale){.unit_us = 1000};
	cells[0].key = (struct cell_key){.cell = 0};
	cells[1].key = (struct cell_key){.cell = 3};
	data.count = 2;
	_cleanup_free_ char *powers = text_of(&data);
	assert_has(powers, "     msecs               : count    distribution\n"
			   "         0 -> 0          : 98       |");
	assert_has(powers, "\n         4 -> 7          : 2        |");
	assert_has(powers, "p50 < 1, p90 < 1, p99 < 8 msecs\n");
}

/* A long chart leaves out its empty rows, and says how many of the longest aren't shown. */
static void a_chart_of_many_cells_is_bounded(void **state)
{
	_cleanup_free_ struct hist_cell *cells = calloc(1500, sizeof(*cells));
	struct sched_data data = data_of(SCHED_OFFCPUDIST, GROUP_NONE);

	(void)state;
	for (size_t i = 0; i < 1500; i++)
		cells[i] = (struct hist_cell){{.cell = 10 * i}, {.count = 1}};
	data.cells = cells;
	data.count = 1500;
	data.scale = (struct sched_scale){.unit_us = 1, .step = 1};
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text, "\n         0 -> 0          : 1        |");
	assert_has(text, "|\n        10 -> 10         : 1        |");
	assert_has(text, "|\n      9990 -> 9990       : 1        |");
	assert_null(strstr(text, "10000 -> 10000"));
	assert_has(text, "# 500 longer rows are left out; .json has them\n"
			 "p50 < 7491, p90 < 13491, p99 < 14841 usecs\n");
}

static void slow_waits_are_a_table(void **state)
{
	struct slow_entry events[2] = {
		{.probe = SCHED_RUNQSLOWER,
		 .time_ns = NOW_NS,
		 .delay_ns = 12345678,
		 .tgid = 70,
		 .tid = 71,
		 .cpu = 3,
		 .comm = "victim of it all",
		 .before = {0, "swapper/3"},
		 .most = {9, "hog"},
		 .most_ns = 12000000},
		{.probe = SCHED_RUNQSLOWER,
		 .time_ns = NOW_NS,
		 .delay_ns = 20000000,
		 .tid = 5,
		 .comm = "x"},
	};
	struct sched_data data = data_of(SCHED_RUNQSLOWER, GROUP_NONE);

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	data.events = events;
	data.count = 2;
	data.missed = 6;
	_cleanup_free_ char *text = text_of(&data);
	assert_has(text, "# run queue latency higher than 10000 us\n"
			 "# 6 before these are no longer kept\n"
			 "TIME     COMM             TID          LAT(us) PREV COMM        PREV TID "
			 "CPU  MOST COMM        MOST TID     MOST(us)\n"
			 "22:13:20 victim of it all 71             12345 swapper/3        0        "
			 "3    hog              9               12000\n"
			 "22:13:20 x                5              20000 -                -        "
			 "0    -                -                   -\n");
	cJSON *json = json_of(&data);
	const cJSON *list = cJSON_GetObjectItem(json, "events");
	const cJSON *one = cJSON_GetArrayItem(list, 0);
	assert_true(number(json, "missed") == 6 && number(json, "min_us") == 10000);
	assert_true(number(one, "lat_us") == 12345 && number(one, "most_us") == 12000);
	assert_true(number(one, "pid") == 70 && number(one, "tid") == 71);
	assert_string_equal(string(cJSON_GetObjectItem(one, "prev"), "comm"), "swapper/3");
	assert_string_equal(string(cJSON_GetObjectItem(one, "most"), "comm"), "hog");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetArrayItem(list, 1), "prev")));
	cJSON_Delete(json);
}

static void assert_bytes(const struct sched_data *data, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	sched_json(&out, data);
	_cleanup_free_ char *text = take_text(&out, NULL);
	assert_string_equal(text, expected);
}

static void json_is_a_line_a_histogram(void **state)
{
	struct hist_row rows[2] = {
		{.group = 42, .hist = {.slots = {0, 2}, .sum_ns = 4999, .comm = "a\"b\\\n\xff"}},
		{.group = UINT64_MAX}};
	struct cpu_lengths lengths[2] = {{0, {.slots = {3}}}, {1, {.slots = {0, 0, 4}}}};
	struct sched_data data = data_of(SCHED_OFFCPUDIST, GROUP_PID);

	(void)state;
	data.rows = rows;
	data.count = 2;
	assert_bytes(&data, "{\"probe\":\"offcpudist\",\"from\":1699999998.123,\"until\":"
			    "1700000000.123,\"unit\":\"us\",\"group_by\":\"pid\","
			    "\"histograms\":[\n"
			    "{\"group\":42,\"comm\":\"a\\\"b\\\\\\u000a\xef\xbf\xbd\",\"count\":2,"
			    "\"sum_us\":4,\"buckets\":[{\"from\":0,\"to\":1,\"count\":0},"
			    "{\"from\":1,\"to\":2,\"count\":2}]},\n"
			    "{\"group\":18446744073709551615,\"comm\":\"\",\"count\":0,"
			    "\"sum_us\":0,\"buckets\":[]}]}\n");
	data = data_of(SCHED_RUNQLEN, GROUP_NONE);
	data.lengths = lengths;
	data.count = 2;
	assert_bytes(&data,
		     "{\"probe\":\"runqlen\",\"from\":1699999998.123,\"until\":1700000000.123,"
		     "\"unit\":\"tasks\",\"group_by\":\"cpu\",\"histograms\":[\n"
		     "{\"group\":0,\"comm\":\"\",\"count\":3,\"sum\":0,\"occupancy\":0.000000,"
		     "\"buckets\":[{\"from\":0,\"to\":1,\"count\":3}]},\n"
		     "{\"group\":1,\"comm\":\"\",\"count\":4,\"sum\":8,\"occupancy\":1.000000,"
		     "\"buckets\":[{\"from\":0,\"to\":1,\"count\":0},{\"from\":1,\"to\":2,"
		     "\"count\":0},{\"from\":2,\"to\":3,\"count\":4}]}],\n"
		     "\"all\":{\"count\":7,\"sum\":8,\"occupancy\":0.571429,\"buckets\":["
		     "{\"from\":0,\"to\":1,\"count\":3},{\"from\":1,\"to\":2,\"count\":0},"
		     "{\"from\":2,\"to\":3,\"count\":4}]}}\n");
}

static void json_is_a_line_an_event(void **state)
{
	struct slow_entry events[2] = {
		{.probe = SCHED_RUNQSLOWER,
		 .time_ns = NOW_NS,
		 .delay_ns = 12345678,
		 .tgid = 70,
		 .tid = 71,
		 .ns_pid = 1,
		 .cpu = 3,
		 .comm = "victim",
		 .before = {0, "swapper/3"},
		 .most_ns = 12000000},
		{.tid = 5},
	};
	struct sched_data data = data_of(SCHED_RUNQSLOWER, GROUP_NONE);

	(void)state;
	assert_bytes(&data, "{\"probe\":\"runqslower\",\"from\":1699999998.123,\"until\":"
			    "1700000000.123,\"unit\":\"us\",\"min_us\":10000,\"missed\":0,"
			    "\"events\":[]}\n");
	data.events = events;
	data.count = 2;
	data.missed = 6;
	assert_bytes(&data,
		     "{\"probe\":\"runqslower\",\"from\":1699999998.123,\"until\":"
		     "1700000000.123,\"unit\":\"us\",\"min_us\":10000,\"missed\":6,"
		     "\"events\":[\n"
		     "{\"time\":1700000000.123,\"comm\":\"victim\",\"pid\":70,\"tid\":71,"
		     "\"cpu\":3,\"container_pid\":1,\"lat_us\":12345,\"prev\":{\"comm\":"
		     "\"swapper/3\",\"tid\":0},\"most\":null,\"most_us\":12000},\n"
		     "{\"time\":0.000,\"comm\":\"\",\"pid\":0,\"tid\":5,\"cpu\":0,\"lat_us\":0,"
		     "\"prev\":null,\"most\":null,\"most_us\":0}]}\n");
}

static void nothing_measured_is_empty_and_still_json(void **state)
{
	(void)state;
	for (int probe = 0; probe < SCHED_COUNT; probe++) {
		struct sched_data data = data_of(probe, GROUP_NONE);
		_cleanup_free_ char *text = text_of(&data);

		assert_has(text, sched_kind_get(probe)->name);
		cJSON_Delete(json_of(&data));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_histogram_without_groups_is_one_chart),
		cmocka_unit_test(each_group_has_its_heading),
		cmocka_unit_test(json_has_buckets_up_to_the_last_that_counted),
		cmocka_unit_test(the_last_bucket_has_no_end),
		cmocka_unit_test(run_queues_are_shown_by_cpu_and_together),
		cmocka_unit_test(slow_waits_are_a_table),
		cmocka_unit_test(waits_of_others_have_their_state),
		cmocka_unit_test(scaled_histograms_have_rows_of_their_width),
		cmocka_unit_test(a_chart_of_many_cells_is_bounded),
		cmocka_unit_test(json_is_a_line_a_histogram),
		cmocka_unit_test(json_is_a_line_an_event),
		cmocka_unit_test(nothing_measured_is_empty_and_still_json),
	};

	return cmocka_run_group_tests_name("sched_output", tests, NULL, NULL);
}
