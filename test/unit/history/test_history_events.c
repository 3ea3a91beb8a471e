// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_events: lines in two files that have a bound. */
#include "unit/lib/unit.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "history/history_events.h"
#include "unit/lib/folder.h"

#define SECOND ((int64_t)NS_PER_S)
#define DAY    (86400 * SECOND)
#define BEGIN  (INT64_C(1700000000) * SECOND)
#define EVER   ((struct history_range){0, INT64_MAX})

static int events_setup(void **state)
{
	struct folder *folder = calloc(1, sizeof(*folder));

	folder_make(folder);
	*state = folder;
	return 0;
}

static int events_teardown(void **state)
{
	folder_done(*state);
	free(*state);
	return 0;
}

static int append_text(const struct folder *folder, const char *text, int64_t days, int64_t now)
{
	_cleanup_buf_ struct buf lines = BUF_INIT(1 << 20);

	buf_str(&lines, text);
	return history_events_append(folder->fd, &lines, days, now);
}

/* Adds an event of a second with a number as its text. */
static void add_event(const struct folder *folder, int64_t second, int number)
{
	char line[128];

	snprintf(line, sizeof(line), "%lld put event %d\n", (long long)(BEGIN + second * SECOND),
		 number);
	assert_int_equal(append_text(folder, line, 0, BEGIN), 0);
}

/* Asserts what a range has. */
static void assert_range(const struct folder *folder, struct history_range range, size_t max,
			 const char *wanted, uint64_t wanted_left_out)
{
	_cleanup_buf_ struct buf found = BUF_INIT(4 << 20);
	uint64_t left_out = 77;

	assert_int_equal(history_events_read(folder->fd, &range, max, &found, &left_out), 0);
	buf_char(&found, '\0');
	assert_string_equal(found.data, wanted);
	assert_int_equal(left_out, wanted_left_out);
}

static void a_range_has_its_events_and_the_latest_ones(void **state)
{
	assert_range(*state, EVER, 10, "", 0);
	for (int i = 0; i < 4; i++)
		add_event(*state, i, i);
	struct history_range middle = {BEGIN + SECOND, BEGIN + 3 * SECOND};
	assert_range(*state, middle, 10,
		     "1700000001000000000 put event 1\n1700000002000000000 put event 2\n", 0);
	assert_range(*state, EVER, 1, "1700000003000000000 put event 3\n", 3);
	assert_range(*state, (struct history_range){0, BEGIN}, 10, "", 0);
}

static void an_event_is_taken_apart(void **state)
{
	const char *text = "17 put /flamegraph running: a b\n18 guard x\n19 daemon \n20 torn",
		   *end = text + strlen(text);
	struct history_event event;

	(void)state;
	assert_int_equal(history_event_next(&text, end, &event), 1);
	assert_int_equal(event.at, 17);
	assert_memory_equal(event.kind, "put", event.kind_len);
	assert_int_equal(event.kind_len, 3);
	assert_memory_equal(event.text, "/flamegraph running: a b", event.text_len);
	assert_int_equal(event.text_len, 24);
	assert_int_equal(history_event_next(&text, end, &event), 1);
	assert_int_equal(event.at, 18);
	assert_int_equal(history_event_next(&text, end, &event), 1);
	assert_int_equal(event.text_len, 0);
	assert_int_equal(history_event_next(&text, end, &event), 0);
	assert_ptr_equal(text, end);
	assert_int_equal(history_event_next(&text, end, &event), 0);
}

static void what_is_no_event_is_skipped(void **state)
{
	static const char *const lines[] = {
		"", " ", "x", "7", "7 ", "7 put", "-7 put x", "7  x", "99999999999999999999 put x"};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *at = text;
		struct history_event event;

		snprintf(text, sizeof(text), "%s\n", lines[i]);
		assert_int_equal(history_event_next(&at, text + strlen(text), &event), -EBADMSG);
		assert_ptr_equal(at, text + strlen(text));
		assert_int_equal(append_text(*state, text, 0, BEGIN), 0);
	}
	add_event(*state, 1, 1);
	assert_range(*state, EVER, 10, "1700000001000000000 put event 1\n", 0);
}

static void an_end_that_a_power_cut_tore_off_harms_no_other_line(void **state)
{
	add_event(*state, 1, 1);
	assert_int_equal(append_text(*state, "17000000", 0, BEGIN), 0);
	assert_range(*state, EVER, 10, "1700000001000000000 put event 1\n", 0);
	add_event(*state, 2, 2);
	assert_range(*state, EVER, 10,
		     "1700000001000000000 put event 1\n1700000002000000000 put event 2\n", 0);
}

static off_t bytes_of(const struct folder *folder, const char *name)
{
	struct stat status;

	return fstatat(folder->fd, name, &status, 0) < 0 ? -1 : status.st_size;
}

static void files_have_a_bound_and_the_latest_events_stay(void **state)
{
	const struct folder *folder = *state;
	char block[65536];
	uint64_t left_out;
	_cleanup_buf_ struct buf found = BUF_INIT(4 << 20);
	int added = 0;

	for (int i = 0; i < 100; i++) {
		size_t len = 0;

		while (len + 64 < sizeof(block))
			len += (size_t)snprintf(block + len, sizeof(block) - len, "%lld put %d\n",
						(long long)(BEGIN + added * SECOND), added),
				added++;
		assert_int_equal(append_text(folder, block, 0, BEGIN), 0);
		assert_in_range(bytes_of(folder, "events"), 1, EVENTS_FILE_MAX + sizeof(block));
	}
	assert_in_range(bytes_of(folder, "events.old"), EVENTS_FILE_MAX,
			EVENTS_FILE_MAX + sizeof(block));
	assert_int_equal(history_events_read(folder->fd, &(struct history_range){0, INT64_MAX}, 1,
					     &found, &left_out),
			 0);
	char last[64];
	snprintf(last, sizeof(last), "%lld put %d\n", (long long)(BEGIN + (added - 1) * SECOND),
		 added - 1);
	assert_memory_equal(found.data, last, strlen(last));
	assert_in_range(left_out, EVENTS_FILE_MAX / 40, added);
}

static void old_events_go(void **state)
{
	const struct folder *folder = *state;
	struct timespec old[2] = {{.tv_sec = 1700000000}, {.tv_sec = 1700000000}};

	add_event(folder, 0, 0);
	assert_int_equal(append_text(folder, "1700300000000000000 put b\n", 7, BEGIN + 3 * DAY), 0);
	assert_int_equal(bytes_of(folder, "events.old"), -1);
	assert_int_equal(append_text(folder, "1700400000000000000 put c\n", 7, BEGIN + 4 * DAY), 0);
	assert_true(bytes_of(folder, "events.old") > 0);
	assert_range(folder, EVER, 10,
		     "1700000000000000000 put event 0\n1700300000000000000 put b\n"
		     "1700400000000000000 put c\n",
		     0);
	assert_int_equal(utimensat(folder->fd, "events.old", old, 0), 0);
	assert_int_equal(append_text(folder, "1700500000000000000 put d\n", 7, BEGIN + 7 * DAY), 0);
	history_events_trim(folder->fd, 0, BEGIN + 8 * DAY); /* no limit */
	history_events_trim(folder->fd, 7, BEGIN + 7 * DAY); /* a moment too early */
	assert_true(bytes_of(folder, "events.old") > 0);
	history_events_trim(folder->fd, 7, BEGIN + 7 * DAY + SECOND);
	assert_range(folder, EVER, 10, "1700400000000000000 put c\n1700500000000000000 put d\n", 0);
	assert_int_equal(utimensat(folder->fd, "events", old, 0), 0);
	history_events_trim(folder->fd, 7, BEGIN + 8 * DAY);
	assert_range(folder, EVER, 10, "", 0);
	history_events_trim(folder->fd, 7, BEGIN + 9 * DAY); /* there is nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_range_has_its_events_and_the_latest_ones,
						events_setup, events_teardown),
		cmocka_unit_test(an_event_is_taken_apart),
		cmocka_unit_test_setup_teardown(what_is_no_event_is_skipped, events_setup,
						events_teardown),
		cmocka_unit_test_setup_teardown(
			an_end_that_a_power_cut_tore_off_harms_no_other_line, events_setup,
			events_teardown),
		cmocka_unit_test_setup_teardown(files_have_a_bound_and_the_latest_events_stay,
						events_setup, events_teardown),
		cmocka_unit_test_setup_teardown(old_events_go, events_setup, events_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
