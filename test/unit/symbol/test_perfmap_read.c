// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "symbol/perfmap.h"

#define ADDRESS 0x1010

/* The name of ADDRESS in that map, of which the first `from` bytes don't count and `settled` were
 * there before; "": none. */
static const char *name_from(const char *map, size_t from, size_t settled)
{
	static char text[PERFMAP_NAME_MAX + 1];
	struct perfmap_question questions[] = {
		{.address = 0x20}, {.address = ADDRESS}, {.address = 0x9000}};
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);
	size_t len = strlen(map);
	struct perfmap_lookup lookup = {.from = from,
					.settled = settled,
					.questions = questions,
					.count = 3,
					.names = BUF_INIT(1 << 20)};

	assert_int_equal(write(fd, map, len), len);
	assert_int_equal(perfmap_read(fd, &lookup), 0);
	const char *last = strrchr(map, '\n');
	assert_int_equal(lookup.end, last ? last + 1 - map : 0);
	assert_int_equal(questions[0].len, 0);
	assert_int_equal(questions[2].len, 0);
	snprintf(text, sizeof(text), "%.*s", (int)questions[1].len,
		 questions[1].len ? lookup.names.data + questions[1].name : "");
	assert_int_equal(lookup.stale, !questions[1].len && questions[1].stale);
	buf_done(&lookup.names);
	return text;
}

static const char *name_in(const char *map, size_t settled)
{
	return name_from(map, 0, settled);
}

static void an_address_has_the_name_of_the_line_that_holds_it(void **state)
{
	(void)state;
	assert_string_equal(name_in("1000 20 work\n", 0), "work");
	assert_string_equal(name_in("0x1000 0x20 work of mine\n", 0), "work of mine");
	assert_string_equal(name_in("1010 1 work\n1011 8 behind\n1000 10 before\n", 0), "work");
	assert_string_equal(name_in("1000 10 before\n1011 8 behind\n", 0), "");
	assert_string_equal(name_in("", 0), "");
}

static void of_lines_from_before_the_window_the_last_one_counts(void **state)
{
	const char *map = "1000 20 older\n1008 20 newer\n";

	(void)state;
	assert_string_equal(name_in(map, strlen(map)), "newer");
}

static void two_names_in_a_window_are_none(void **state)
{
	const char *map = "1000 20 older\n1008 20 newer\n";

	(void)state;
	assert_string_equal(name_in(map, 14), "");
	assert_string_equal(name_in(map, 0), "");
	assert_string_equal(name_in("1000 20 a\n1008 20 b\n1000 20 a\n", 10), "");
}

static void the_same_name_again_is_one(void **state)
{
	(void)state;
	assert_string_equal(name_in("1000 20 same\n1008 20 same\n", 13), "same");
}

static void the_first_name_of_an_address_may_come_in_the_window(void **state)
{
	(void)state;
	assert_string_equal(name_in("5000 20 else\n1008 20 new\n", 13), "new");
}

static void lines_that_make_no_sense_are_passed_over(void **state)
{
	(void)state;
	assert_string_equal(name_in("\n \n1000\n1000 20\n1000 20 \nx 20 n\n1000 0 n\n1000 zz n\n"
				    "1010ffffffffffffff 20 n\nfffffffffffffff0 20 n\n1000  20 n\n",
				    0),
			    "");
	assert_string_equal(name_in("1000 20 half a li", 0), "");
}

static void a_long_name_is_cut_and_the_next_line_is_whole(void **state)
{
	_cleanup_free_ char *map = malloc(200100);

	(void)state;
	size_t at = (size_t)sprintf(map, "1000 20 ");
	memset(map + at, 'n', 200000);
	strcpy(map + at + 200000, "\n");
	assert_int_equal(strlen(name_in(map, 0)), PERFMAP_NAME_MAX);
	strcpy(map + at + 200000, "\n1000 20 next\n");
	assert_string_equal(name_in(map, strlen(map)), "next");
}

static void a_map_that_is_too_large_is_not_read(void **state)
{
	struct perfmap_question question = {.address = ADDRESS};
	struct perfmap_lookup lookup = {
		.questions = &question, .count = 1, .names = BUF_INIT(1024)};
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, (off_t)PERFMAP_BYTES_MAX + 1), 0);
	assert_int_equal(perfmap_read(fd, &lookup), -EFBIG);
}

static void lines_from_before_do_not_count(void **state)
{
	const char *map = "1000 20 left\n1000 20 own\n";

	(void)state;
	assert_string_equal(name_from(map, strlen(map), 0), "");
	assert_string_equal(name_from(map, 13, 0), "own");
	assert_string_equal(name_from(map, 14, 0), ""); /* the line began before */
}

#define MANY 65536

/* Each holds all addresses. */
static void lines_that_hold_too_many_addresses_are_too_much(void **state)
{
	_cleanup_free_ struct perfmap_question *questions = calloc(MANY, sizeof(*questions));
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);
	struct perfmap_lookup lookup = {
		.questions = questions, .count = MANY, .names = BUF_INIT(1 << 20)};

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		questions[i].address = i;
	for (int i = 0; i < 256; i++)
		assert_int_equal(write(fd, "0 ffffffffffffffff n\n", 21), 21);
	assert_int_equal(perfmap_read(fd, &lookup), 0);
	assert_int_equal(lookup.names.len, 1); /* one name for all of the line's */
	assert_int_equal(questions[MANY - 1].name, 0);
	assert_int_equal(write(fd, "0 1 n\n", 6), 6);
	assert_int_equal(perfmap_read(fd, &lookup), -E2BIG);
	buf_done(&lookup.names);
}

static void more_than_may_be_read_is_left(void **state)
{
	struct perfmap_question question = {.address = ADDRESS};
	struct perfmap_lookup lookup = {
		.questions = &question, .count = 1, .names = BUF_INIT(1024)};
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	lookup.bytes_max = 1 << 18;
	assert_int_equal(perfmap_read(fd, &lookup), -ETIME);
	assert_in_range(lookup.bytes, 1 << 18, (1 << 18) + 65536);
	lookup.bytes = lookup.bytes_max = 0;
	lookup.until_ns = 1;
	assert_int_equal(perfmap_read(fd, &lookup), -ETIME);
	assert_int_equal(lookup.bytes, 0);
	lookup.until_ns = 0;
	assert_int_equal(perfmap_read(fd, &lookup), 0);
	assert_int_equal(lookup.bytes, 1 << 20);
}

static void how_far_a_map_is_written_is_told_by_its_last_line(void **state)
{
	_cleanup_close_ int fd = memfd_create("map", MFD_CLOEXEC);
	uint64_t end = 77;

	(void)state;
	assert_int_equal(perfmap_end(fd, &end), 0);
	assert_int_equal(end, 0);
	assert_int_equal(write(fd, "10 20 a\n10 2", 12), 12);
	assert_int_equal(perfmap_end(fd, &end), 0);
	assert_int_equal(end, 8);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(pwrite(fd, "\n", 1, (1 << 20) - 3), 1);
	assert_int_equal(perfmap_end(fd, &end), 0);
	assert_int_equal(end, (1 << 20) - 2);
}

static void empty_lines_count_as_bytes(void **state)
{
	(void)state;
	assert_string_equal(name_in("\n\n\n1000 20 behind\n\n\n", 22), "behind");
	assert_string_equal(name_from("\n\n1000 20 own\n", 2, 0), "own");
	assert_string_equal(name_from("\n\n1000 20 own\n", 3, 0), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_the_name_of_the_line_that_holds_it),
		cmocka_unit_test(of_lines_from_before_the_window_the_last_one_counts),
		cmocka_unit_test(two_names_in_a_window_are_none),
		cmocka_unit_test(the_same_name_again_is_one),
		cmocka_unit_test(the_first_name_of_an_address_may_come_in_the_window),
		cmocka_unit_test(lines_that_make_no_sense_are_passed_over),
		cmocka_unit_test(a_long_name_is_cut_and_the_next_line_is_whole),
		cmocka_unit_test(a_map_that_is_too_large_is_not_read),
		cmocka_unit_test(lines_from_before_do_not_count),
		cmocka_unit_test(lines_that_hold_too_many_addresses_are_too_much),
		cmocka_unit_test(more_than_may_be_read_is_left),
		cmocka_unit_test(how_far_a_map_is_written_is_told_by_its_last_line),
		cmocka_unit_test(empty_lines_count_as_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
