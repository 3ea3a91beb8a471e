// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded text as a table of functions; its header; words that are near. */
#include <stdio.h>

#include "base/cleanup.h"
#include "diff_text.h"
#include "output/format/output.h"
#include "output/report/report.h"
#include "output/text/folded_header.h"
#include "output/text/near_word.h"

static void assert_table(const char *folded, uint32_t rows, bool callers, const char *wanted)
{
	const struct report_wish wish = {.unit = "samples", .rows = rows, .callers = callers};
	_cleanup_buf_ struct buf out = BUF_INIT(65536);
	_cleanup_diff_text_ struct diff_text text;

	diff_text_read(&text, "elsewhere 1000\n", folded);
	assert_int_equal(report_write(&text.stacks, &wish, &out), 0);
	buf_char(&out, '\0');
	assert_string_equal(out.data, wanted);
}

#define HEAD "           self                  total          function\n"

static void functions_have_their_own_weight_and_that_of_their_stacks(void **state)
{
	(void)state;
	/* rec is in its stack twice, and counts once; the last one isn't among the rows. */
	assert_table("main;a 1000\nmain;rec;rec 500\nmain;a;b 300\nmain 150\nmain;c 50\n", 4, false,
		     "          2,000  100.0% samples\n" HEAD
		     "          1,000   50.0%          1,300   65.0%  a\n"
		     "            500   25.0%            500   25.0%  rec\n"
		     "            300   15.0%            300   15.0%  b\n"
		     "            150    7.5%          2,000  100.0%  main\n");
	assert_table("", 4, true, "              0    0.0% samples\n" HEAD);
}

static void callers_are_those_of_a_functions_own_weight(void **state)
{
	(void)state;
	assert_table("x;f 60\ny;f 36\nz;f 4\nf;g 10\n", 1, true,
		     "            110  100.0% samples\n" HEAD
		     "            100   90.9%            110  100.0%  f\n"
		     "                                                  from  60%  x\n"
		     "                                                  from  36%  y\n");
}

static void names_cannot_control_a_terminal(void **state)
{
	(void)state;
	assert_table("a\x1b[31mb 5\n", 1, false,
		     "              5  100.0% samples\n" HEAD
		     "              5  100.0%              5  100.0%  a [31mb\n");
}

static void a_header_tells_what_was_written(void **state)
{
	const struct profile_meta meta = {.count_name = "samples",
					  .host = "web 7\n",
					  .period_ns = 10000000,
					  .from_ns = 1764366764123456789,
					  .until_ns = 1764366794200000000};
	_cleanup_buf_ struct buf line = BUF_INIT(512);
	struct folded_header header;

	(void)state;
	folded_header_write(&meta, &line);
	assert_int_equal(line.data[line.len - 1], '\n');
	assert_true(folded_header_read(line.data, line.len - 1, &header));
	assert_string_equal(header.unit, "samples");
	assert_string_equal(header.host, "web7");
	assert_true(header.counts);
	assert_int_equal(header.period_ns, 10000000);
	assert_int_equal(header.from_ms, 1764366764123);
	assert_int_equal(folded_header_took_ms(&header), 30077);
}

static void other_lines_and_values_are_left_out(void **state)
{
	static const char odd[] = "# stackprobe unit= counts=2 period_ns=x "
				  "from=99999999999999999999 until=5 new=1 =  host";
	struct folded_header header;

	(void)state;
	assert_false(folded_header_read("# stackprobe", 12, &header));
	assert_false(folded_header_read("# other unit=x", 14, &header));
	assert_true(folded_header_read(odd, strlen(odd), &header));
	assert_string_equal(header.unit, "");
	assert_string_equal(header.host, "");
	assert_false(header.counts);
	assert_int_equal(header.period_ns, 0);
	assert_int_equal(header.from_ms, 0);
	assert_int_equal(header.until_ms, 5);
	assert_int_equal(folded_header_took_ms(&header), 0);
}

static void a_header_is_no_stack(void **state)
{
	_cleanup_diff_text_ struct diff_text text;

	(void)state;
	diff_text_read(&text, "#a 5\n# stackprobe x 7\n", "# stackprobe unit=us 3\na 1\n");
	assert_int_equal(text.stacks.count, 2);
	assert_int_equal(text.stacks.totals[STACKS_BEFORE], 5);
	assert_int_equal(text.stacks.malformed, 0);
	assert_string_equal(text.stacks.headers[STACKS_AFTER].unit, "us");
}

static void a_word_is_near_by_letters_or_by_its_beginning(void **state)
{
	static const char *const words[] = {"record", "render", "report", "doctor", "daemon"};
	static const struct {
		const char *word, *near;
	} asked[] = {
		{"recrod", "record"}, {"recor", "record"},
		{"Record", "record"}, {"rendr", "render"},
		{"rec", "record"},    {"recording", "record"},
		{"dameon", "daemon"}, {"xyz", NULL},
		{"", NULL},	      {"r", NULL},
		{"frobnicate", NULL}, {"recordrecordrecordrecordrecordrecordrecord", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		const char *near = near_word(asked[i].word, words, ARRAY_SIZE(words));

		if (asked[i].near ? !near || strcmp(near, asked[i].near) != 0 : near != NULL)
			fail_msg("%s: %s", asked[i].word, near ? near : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_have_their_own_weight_and_that_of_their_stacks),
		cmocka_unit_test(callers_are_those_of_a_functions_own_weight),
		cmocka_unit_test(names_cannot_control_a_terminal),
		cmocka_unit_test(a_header_tells_what_was_written),
		cmocka_unit_test(other_lines_and_values_are_left_out),
		cmocka_unit_test(a_header_is_no_stack),
		cmocka_unit_test(a_word_is_near_by_letters_or_by_its_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
