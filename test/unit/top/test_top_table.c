// SPDX-License-Identifier: GPL-2.0-or-later
/* What `top` reads of the daemon's lines, and how its rows are sorted, filtered and drawn. */
#include "unit/lib/unit.h"

#include <errno.h>

#include "base/buf.h"
#include "command/top/top_text.h"

static struct top_table table;

static int begin(void **state)
{
	(void)state;
	table = (struct top_table){0};
	return 0;
}

static int end(void **state)
{
	(void)state;
	top_table_clear(&table);
	return 0;
}

/* Takes a line of an interval of a second; `rows` are objects. */
static void take(unsigned second, const char *group, const char *rows)
{
	char line[4096];
	struct top_reading reading;

	snprintf(line, sizeof(line),
		 "{\"from\":%u.000,\"until\":%u.000,\"group_by\":\"%s\",\"lost\":{\"processes\":0},"
		 "\"all\":{\"processes\":3,\"run_ns\":900000000,\"voluntary\":3},"
		 "\"host\":{\"cpus\":2,\"wall_ns\":2000000000,\"idle_ns\":1000000000,"
		 "\"iowait_ns\":200000000},\"rows\":[%s]}",
		 second, second + 1, group, rows);
	assert_int_equal(top_reading_parse(&reading, line, strlen(line)), 0);
	assert_int_equal(top_table_take(&table, &reading), 0);
	top_reading_done(&reading);
}

#define BUSY                                                                                       \
	"{\"pid\":7,\"comm\":\"busy\",\"container\":\"web\",\"run_ns\":600000000,\"voluntary\":1}"
#define CALM "{\"pid\":9,\"comm\":\"calm\",\"run_ns\":300000000,\"voluntary\":2}"

static const char *draw(const char *group, unsigned columns)
{
	static char text[16384];
	struct buf out = BUF_INIT(sizeof(text) - 1);
	const struct top_view view = {
		.table = &table,
		.host = "here",
		.source = "a test",
		.group = group,
		.message = "",
		.wrong = "",
	};

	top_text_draw(&out, &view, 12, columns, false);
	assert_int_equal(buf_error(&out), 0);
	memcpy(text, out.data, out.len);
	text[out.len] = '\0';
	buf_done(&out);
	return text;
}

static void rows_are_sorted_by_a_column(void **state)
{
	(void)state;
	take(1, "pid", CALM "," BUSY);
	assert_int_equal(table.shown, 2);
	assert_string_equal(table.rows[0].owner.name, "busy");
	table.column = (unsigned)top_column_find("switches");
	top_table_sort(&table);
	assert_string_equal(table.rows[0].owner.name, "calm");
	table.from_small = true;
	top_table_sort(&table);
	assert_string_equal(table.rows[0].owner.name, "busy");
}

static void a_filter_looks_at_names_containers_and_pids(void **state)
{
	static const char *const filters[] = {"BUS", "web", "7"};

	(void)state;
	take(1, "pid", CALM "," BUSY);
	for (size_t i = 0; i < 3; i++) {
		snprintf(table.filter, sizeof(table.filter), "%s", filters[i]);
		top_table_sort(&table);
		assert_int_equal(table.shown, 1);
		assert_int_equal(table.rows[0].owner.pid, 7);
	}
	snprintf(table.filter, sizeof(table.filter), "nobody");
	top_table_sort(&table);
	assert_int_equal(table.shown, 0);
}

static void a_row_keeps_its_past_and_comes_back(void **state)
{
	(void)state;
	take(1, "pid", BUSY "," CALM);
	take(2, "pid", CALM);
	assert_int_equal(table.shown, 1);
	take(3, "pid", BUSY "," CALM);
	assert_int_equal(table.shown, 2);
	const struct top_row *busy = &table.rows[0];
	assert_true(busy->past[TOP_PAST - 1][0] == 600000000);
	assert_true(busy->past[TOP_PAST - 2][0] == 0);
	assert_true(busy->past[TOP_PAST - 3][0] == 600000000);
}

static void who_costs_nothing_any_more_is_forgotten(void **state)
{
	(void)state;
	take(1, "pid", BUSY);
	for (unsigned second = 2; second < 2 + TOP_PAST; second++)
		take(second, "pid", CALM);
	assert_int_equal(table.count, 1);
	assert_string_equal(table.rows[0].owner.name, "calm");
}

static void the_view_says_what_was_told(void **state)
{
	(void)state;
	take(1, "pid", CALM "," BUSY);
	const char *text = draw("pid", 80);
	assert_non_null(strstr(text, "CPUs 2  busy  40.0%"));
	assert_non_null(strstr(text, "2 rows by pid, sorted by cpu; from a test"));
	assert_non_null(strstr(text, "      7 busy"));
	assert_non_null(strstr(text, "60.0"));
	assert_non_null(strstr(text, "web"));
	assert_true(strstr(text, "busy       ") < strstr(text, "calm       "));
}

static void a_value_that_the_kernel_does_not_count_is_a_dash(void **state)
{
	(void)state;
	take(1, "pid", BUSY);
	const char *row = strstr(draw("pid", 80), "      7 busy");
	assert_non_null(row);
	char line[128];
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(row, "\n"), row);
	assert_non_null(strstr(line, "60.0      -      1")); /* the second is the delay */
}

static void the_column_it_is_sorted_by_is_always_there(void **state)
{
	(void)state;
	take(1, "pid", BUSY);
	assert_null(strstr(draw("pid", 80), "MIGR"));
	table.column = (unsigned)top_column_find("migrations");
	assert_non_null(strstr(draw("pid", 80), "MIGR"));
}

static void no_line_is_longer_than_the_screen(void **state)
{
	(void)state;
	take(1, "pid", CALM "," BUSY);
	for (unsigned columns = 1; columns < 200; columns++) {
		const char *text = draw("pid", columns);

		while (*text) {
			size_t len = strcspn(text, "\n");

			assert_in_range(len, 0, columns);
			text += len + 1;
		}
	}
}

static void groups_have_the_number_of_their_processes(void **state)
{
	(void)state;
	take(1, "container",
	     "{\"processes\":3,\"container\":\"web\",\"run_ns\":5},{\"processes\":40,\"run_ns\":"
	     "9}");
	const char *text = draw("container", 100);
	assert_non_null(strstr(text, "      3 web"));
	assert_non_null(strstr(text, "     40 (none)"));
}

static void containers_of_one_name_in_two_pods_are_two(void **state)
{
	(void)state;
	take(1, "container",
	     "{\"processes\":1,\"container\":\"web\",\"pod\":\"a\",\"namespace\":\"shop\",\"run_"
	     "ns\":5},"
	     "{\"processes\":2,\"container\":\"web\",\"pod\":\"b\",\"namespace\":\"shop\",\"run_"
	     "ns\":9}");
	assert_int_equal(table.shown, 2);
	assert_string_equal(table.rows[0].owner.name, "shop/b/web");
	assert_non_null(strstr(draw("container", 100), "shop/a/web"));
}

static void values_fit_their_cells(void **state)
{
	static const struct {
		const char *column;
		double value;
		const char *text;
	} cells[] = {
		{"cpu", 1.5e9, "150.0"},    {"switches", 0, "0"},
		{"switches", 999.4, "999"}, {"switches", 999.6, "1.0k"},
		{"read", 9940, "9.9k"},	    {"read", 9960, "10k"},
		{"read", 999499, "999k"},   {"read", 999500, "1.0M"},
		{"read", 1.25e9, "1.2G"},   {"read", 1e30, "1000000000000E"},
	};

	(void)state;
	for (size_t i = 0; i + 1 < ARRAY_SIZE(cells); i++) {
		char cell[TOP_CELL_BYTES];

		top_cell_write(cell, (unsigned)top_column_find(cells[i].column), cells[i].value);
		assert_string_equal(cell, cells[i].text);
	}
}

static void what_a_target_wrote_can_not_move_the_cursor(void **state)
{
	(void)state;
	take(1, "pid", "{\"pid\":7,\"comm\":\"a\\u001b[2Jb\\u00e9\",\"run_ns\":600000000}");
	assert_string_equal(table.rows[0].owner.name, "a?[2Jb??");
}

static void nonsense_is_refused(void **state)
{
	static const char *const lines[] = {
		"",
		"{",
		"[]",
		"7",
		"{\"from\":1,\"until\":2}",
		"{\"from\":2,\"until\":2,\"all\":{},\"group_by\":\"pid\",\"rows\":[]}",
		"{\"from\":1,\"until\":2,\"all\":{},\"rows\":[]}",
		"{\"from\":1,\"until\":2,\"all\":{},\"group_by\":\"pid\",\"rows\":{}}",
	};
	struct top_reading reading;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_int_equal(top_reading_parse(&reading, lines[i], strlen(lines[i])), -EBADMSG);
		top_reading_done(&reading);
	}
	assert_int_equal(top_reading_parse(&reading, "{\"missed\":3}", 12), 1);
	assert_string_equal(reading.ended, "");
	assert_int_equal(top_reading_parse(&reading, "{\"ended\":\"why\"}", 15), 1);
	assert_string_equal(reading.ended, "why");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_are_sorted_by_a_column, begin, end),
		cmocka_unit_test_setup_teardown(a_filter_looks_at_names_containers_and_pids, begin,
						end),
		cmocka_unit_test_setup_teardown(a_row_keeps_its_past_and_comes_back, begin, end),
		cmocka_unit_test_setup_teardown(who_costs_nothing_any_more_is_forgotten, begin,
						end),
		cmocka_unit_test_setup_teardown(the_view_says_what_was_told, begin, end),
		cmocka_unit_test_setup_teardown(a_value_that_the_kernel_does_not_count_is_a_dash,
						begin, end),
		cmocka_unit_test_setup_teardown(the_column_it_is_sorted_by_is_always_there, begin,
						end),
		cmocka_unit_test_setup_teardown(no_line_is_longer_than_the_screen, begin, end),
		cmocka_unit_test_setup_teardown(groups_have_the_number_of_their_processes, begin,
						end),
		cmocka_unit_test_setup_teardown(containers_of_one_name_in_two_pods_are_two, begin,
						end),
		cmocka_unit_test_setup_teardown(values_fit_their_cells, begin, end),
		cmocka_unit_test_setup_teardown(what_a_target_wrote_can_not_move_the_cursor, begin,
						end),
		cmocka_unit_test_setup_teardown(nonsense_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
