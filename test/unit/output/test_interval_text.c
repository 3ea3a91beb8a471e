// SPDX-License-Identifier: GPL-2.0-or-later
/* Text of intervals: profiles with their times between, what is missed by who reads too slowly. */
#include "output/text/interval_text.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "unit/lib/unit.h"

static const struct profile_meta meta = {
	.from_ns = 5 * (int64_t)NS_PER_MS,
	.until_ns = 9 * (int64_t)NS_PER_MS,
	.period_ns = 10,
	.by_period = true,
	.lost = 1,
	.truncated = 2,
	.left_out = 3,
};

#define TIMES                                                                                      \
	"{\"from\": 5, \"until\": 9, \"period_ns\": 10, \"lost\": 1, \"truncated\": 2, "           \
	"\"left_out\": 3}\n"

static bool add_profile(struct interval_text *text, const char *format, const char *content)
{
	_cleanup_buf_ struct buf of_profile = BUF_INIT(4096);

	buf_str(&of_profile, content);
	return interval_text_profile(text, output_find(format), &meta, &of_profile);
}

static void assert_read(struct interval_text *text, const char *expected)
{
	char got[4096];
	ssize_t len = interval_text_read(text, got, sizeof(got) - 1, true);

	assert_true(len >= 0);
	got[len] = '\0';
	assert_string_equal(got, expected);
}

static void folded_text_has_its_own_header_and_nothing_more(void **state)
{
	struct interval_text text = INTERVAL_TEXT_INIT(false);

	(void)state;
	assert_true(add_profile(&text, "folded", "# stackprobe unit=samples\na;b 1\n"));
	assert_read(&text, "# stackprobe unit=samples\na;b 1\n");
	interval_text_done(&text);
}

static void json_has_a_line_of_time_before_and_a_tree_is_one_line(void **state)
{
	struct interval_text text = INTERVAL_TEXT_INIT(true);

	(void)state;
	assert_true(add_profile(&text, "json", "{\"a\":\n1}"));
	assert_read(&text, TIMES "{\"a\": 1}\n");
	assert_true(add_profile(&text, "jsonl", "{\"a\":1}\n{\"b\":2}\n"));
	assert_read(&text, TIMES "{\"a\":1}\n{\"b\":2}\n");
	assert_true(add_profile(&text, "jsonl", ""));
	assert_read(&text, TIMES);
	interval_text_done(&text);
}

static void what_comes_before_the_rest_was_read_is_missed_and_told(void **state)
{
	struct interval_text text = INTERVAL_TEXT_INIT(false);
	char part[2];

	(void)state;
	assert_true(add_profile(&text, "folded", "a 1\n"));
	assert_int_equal(interval_text_read(&text, part, sizeof(part), true), 2);
	assert_false(add_profile(&text, "folded", "b 2\n"));
	assert_false(add_profile(&text, "folded", "c 3\n"));
	interval_text_take(&text, 2);
	assert_true(add_profile(&text, "folded", "d 4\n"));
	assert_read(&text, "# 2 intervals are missing here: they were not read in time\nd 4\n");
	assert_true(add_profile(&text, "folded", "e 5\n"));
	assert_read(&text, "e 5\n");
	assert_int_equal(interval_text_read(&text, part, sizeof(part), false), -ENOENT);
	interval_text_done(&text);
}

static void a_text_keeps_its_maximum(void **state)
{
	struct interval_text text = INTERVAL_TEXT_INIT(false);

	(void)state;
	text.text.max = 5;
	assert_true(add_profile(&text, "folded", "a 1\n"));
	assert_read(&text, "a 1\n");
	add_profile(&text, "folded", "abcd 1\n");
	assert_int_equal(buf_error(&text.text), -ENOSPC);
	interval_text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text_has_its_own_header_and_nothing_more),
		cmocka_unit_test(json_has_a_line_of_time_before_and_a_tree_is_one_line),
		cmocka_unit_test(what_comes_before_the_rest_was_read_is_missed_and_told),
		cmocka_unit_test(a_text_keeps_its_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
