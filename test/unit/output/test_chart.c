// SPDX-License-Identifier: GPL-2.0-or-later
/* Charts of histograms, as text. */
#include "unit/lib/buf_text.h"

#include "output/text/chart.h"

#define STARS_20  "********************"
#define BLANKS_20 "                    "

static char *powers(const uint64_t *slots, size_t count)
{
	_cleanup_buf_ struct buf out = BUF_INIT(65536);

	chart_powers(&out, "usecs", slots, count);
	return take_text(&out, NULL);
}

static char *linear(const uint64_t *slots, size_t count)
{
	_cleanup_buf_ struct buf out = BUF_INIT(65536);

	chart_linear(&out, "runqlen", slots, count);
	return take_text(&out, NULL);
}

static void rows_are_ranges_of_powers_up_to_the_last_that_counted(void **state)
{
	static const uint64_t slots[8] = {1, 0, 2, 4};
	_cleanup_free_ char *text = powers(slots, ARRAY_SIZE(slots));

	(void)state;
	assert_string_equal(text, "     usecs               : count    distribution\n"
				  "         0 -> 0          : 1        |**********" BLANKS_20
				  "          |\n"
				  "         1 -> 1          : 0        |" BLANKS_20 BLANKS_20 "|\n"
				  "         2 -> 3          : 2        |" STARS_20 BLANKS_20 "|\n"
				  "         4 -> 7          : 4        |" STARS_20 STARS_20 "|\n");
}

static void the_last_range_of_powers_is_open(void **state)
{
	uint64_t slots[27] = {0};
	_cleanup_free_ char *text = (slots[26] = 1, powers(slots, ARRAY_SIZE(slots)));

	(void)state;
	assert_has(text, "  16777216 -> 33554431   : 0        |");
	assert_has(text, "  33554432 -> ...        : 1        |" STARS_20 STARS_20 "|\n");
}

static void nothing_counted_is_a_head_only(void **state)
{
	static const uint64_t slots[27];
	_cleanup_free_ char *text = powers(slots, ARRAY_SIZE(slots));
	_cleanup_free_ char *lengths = linear(slots, ARRAY_SIZE(slots));

	(void)state;
	assert_string_equal(text, "     usecs               : count    distribution\n");
	assert_string_equal(lengths, "     runqlen       : count    distribution\n");
}

static void lengths_are_one_a_row_and_the_last_is_open(void **state)
{
	static const uint64_t slots[3] = {10, 0, 5};
	_cleanup_free_ char *text = linear(slots, ARRAY_SIZE(slots));

	(void)state;
	assert_string_equal(text, "     runqlen       : count    distribution\n"
				  "        0          : 10       |" STARS_20 STARS_20 "|\n"
				  "        1          : 0        |" BLANKS_20 BLANKS_20 "|\n"
				  "        2        + : 5        |" STARS_20 BLANKS_20 "|\n");
}

static void the_greatest_counts_draw_no_bar_beyond_the_end(void **state)
{
	static const uint64_t slots[3] = {UINT64_MAX, UINT64_MAX - 1, 1};
	_cleanup_free_ char *text = powers(slots, ARRAY_SIZE(slots));

	(void)state;
	assert_has(text, ": 18446744073709551615 |" STARS_20 STARS_20 "|\n");
	assert_has(text, ": 1        |" BLANKS_20 BLANKS_20 "|\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_ranges_of_powers_up_to_the_last_that_counted),
		cmocka_unit_test(the_last_range_of_powers_is_open),
		cmocka_unit_test(nothing_counted_is_a_head_only),
		cmocka_unit_test(lengths_are_one_a_row_and_the_last_is_open),
		cmocka_unit_test(the_greatest_counts_draw_no_bar_beyond_the_end),
	};

	return cmocka_run_group_tests_name("chart", tests, NULL, NULL);
}
