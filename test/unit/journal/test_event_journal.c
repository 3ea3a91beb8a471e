// SPDX-License-Identifier: GPL-2.0-or-later
/* journal/event_journal: lines that wait until somebody takes them. */
#include "unit/lib/unit.h"

#include <stdlib.h>

#include "journal/event_journal.h"

static char *taken_lines(void)
{
	_cleanup_buf_ struct buf lines = BUF_INIT(1 << 20);

	journal_take(&lines);
	buf_char(&lines, '\0');
	assert_int_equal(buf_error(&lines), 0);
	return strdup(lines.data);
}

static void an_event_is_a_line_with_its_time_and_kind(void **state)
{
	_cleanup_free_ char *lines = NULL, *nothing = NULL;
	char *end;

	(void)state;
	journal_note(JOURNAL_PUT, "/flamegraph running: %s", "oncpu");
	journal_note(JOURNAL_TARGET, "7 (a\n1 put x\x7f) added");
	lines = taken_lines();
	assert_true(strtoll(lines, &end, 10) > INT64_C(1700000000000000000));
	assert_int_equal(strncmp(end, " put /flamegraph running: oncpu\n", 32), 0);
	assert_true(strtoll(end + 32, &end, 10) > INT64_C(1700000000000000000));
	assert_string_equal(end, " target 7 (a 1 put x ) added\n");
	nothing = taken_lines();
	assert_string_equal(nothing, "");
}

static void a_long_text_is_cut(void **state)
{
	_cleanup_free_ char *lines = NULL;

	(void)state;
	journal_note(JOURNAL_PUT, "%01000d", 7);
	lines = taken_lines();
	assert_int_equal(strlen(lines), JOURNAL_LINE_BYTES + 1);
	assert_int_equal(lines[JOURNAL_LINE_BYTES], '\n');
}

static void wake(void *arg)
{
	++*(int *)arg;
}

static void somebody_is_woken_once_until_the_lines_are_taken(void **state)
{
	int woken = 0;

	(void)state;
	journal_note(JOURNAL_PUT, "before");
	journal_watch(wake, &woken);
	assert_int_equal(woken, 1);
	journal_note(JOURNAL_PUT, "more");
	assert_int_equal(woken, 1);
	free(taken_lines());
	journal_note(JOURNAL_PUT, "again");
	assert_int_equal(woken, 2);
	journal_watch(NULL, NULL);
	free(taken_lines());
	journal_note(JOURNAL_PUT, "nobody");
	assert_int_equal(woken, 2);
	free(taken_lines());
}

static void what_nobody_takes_is_counted(void **state)
{
	_cleanup_free_ char *full = NULL, *next = NULL;

	(void)state;
	for (int i = 0; i < 10000; i++)
		journal_note(JOURNAL_TARGET, "%d %s", i,
			     "0123456789012345678901234567890123456789");
	full = taken_lines();
	assert_in_range(strlen(full), 100 << 10, 128 << 10);
	size_t there = 0;
	for (const char *at = full; *at; at++)
		there += *at == '\n';
	journal_note(JOURNAL_PUT, "last");
	next = taken_lines();
	char missing[64];
	snprintf(missing, sizeof(missing), " daemon %zu events have no line\n", 10000 - there);
	assert_non_null(strstr(next, missing));
	assert_non_null(strstr(next, " put last\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_a_line_with_its_time_and_kind),
		cmocka_unit_test(a_long_text_is_cut),
		cmocka_unit_test(somebody_is_woken_once_until_the_lines_are_taken),
		cmocka_unit_test(what_nobody_takes_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
