// SPDX-License-Identifier: GPL-2.0-or-later
/* Folded text read, sorted, walked: beside qsort() and a plain comparison of whole lines. */
#include "unit/lib/buf_text.h"
#include "output/svg/stacks.h"
#include "output/svg/stacks_walk.h"
#include "unit/lib/unit.h"

/* Reads text that is a literal or has its zeros behind it. */
static void read_text(struct stacks *stacks, enum stacks_side side, const char *text, size_t bytes)
{
	assert_int_equal(stacks_read(stacks, side, text, bytes), 0);
}

#define READ(stacks, literal)                                                                      \
	read_text(stacks, STACKS_AFTER, literal "\0\0\0\0\0\0\0", sizeof(literal) - 1)

static void a_line_is_a_stack_a_blank_and_a_number(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a;b 12\na b;c\t3\r\n d 4 \n\n\r\nx 7");
	assert_int_equal(stacks.count, 4);
	assert_int_equal(stacks.totals[STACKS_AFTER], 26);
	assert_int_equal(stacks.malformed + stacks.too_large + stacks.fractions, 0);
	assert_int_equal(stacks_length(&stacks.lines[1]), 5);
	assert_memory_equal(stacks_text(&stacks, &stacks.lines[1]), "a b;c", 5);
	assert_int_equal(stacks_weight(&stacks, &stacks.lines[3]), 7);
}

static void what_is_no_such_line_is_counted(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "name\n12\na -1\na 1x\na .\na .5\nb 2.5\nc 0\nd 18446744073709551616\n"
		      "e 18446744073709551613\nf 1");
	assert_int_equal(stacks.malformed, 6);
	assert_int_equal(stacks.fractions, 1);
	assert_int_equal(stacks.too_large, 2); /* d alone; f after b and e */
	assert_int_equal(stacks.count, 2);
	assert_true(stacks.totals[STACKS_AFTER] == UINT64_MAX);
}

/* Bytes that the keys map, ends at every place of a word, long common beginnings. */
static size_t draw_line(uint64_t *random, char *line)
{
	static const char letters[] = "ab;\x01\x02\x09\x0b\x0c:<\xff";
	size_t common = random_next(random) % 3 * 13, len = common;

	memset(line, 'x', common);
	for (uint64_t more = random_next(random) % 30; more > 0; more--)
		line[len++] = letters[random_next(random) %
				      (random_next(random) % 4 ? 3 : sizeof(letters) - 1)];
	return len;
}

/* The order that is promised: the end, then `;`, then the rest in an order of their own. */
static int rank(const struct stacks *stacks, const struct stacks_line *line, size_t at)
{
	if (at >= stacks_length(line))
		return -2;
	unsigned char c = (unsigned char)stacks_text(stacks, line)[at];
	return c == ';' ? -1 : c == 0x0b ? ';' : c;
}

static int compare(const struct stacks *stacks, const struct stacks_line *a,
		   const struct stacks_line *b)
{
	for (size_t at = 0;; at++) {
		int left = rank(stacks, a, at), right = rank(stacks, b, at);

		if (left != right)
			return left - right;
		if (left == -2)
			return 0;
	}
}

static void lines_of_any_bytes_are_sorted_with_the_separator_first(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 200; round++) {
		_cleanup_stacks_ struct stacks stacks = {0};
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		uint64_t sum = 0, found = 0;
		char line[80];

		for (uint64_t i = random_next(&random) % 500; i > 0; i--) {
			size_t len = draw_line(&random, line);
			uint64_t weight = 1 + random_next(&random) % 9;

			buf_add(&text, line, len);
			buf_printf(&text, " %llu\n", (unsigned long long)weight);
			sum += weight;
		}
		size_t bytes = text.len;
		buf_add(&text, "\0\0\0\0\0\0\0", STACKS_PADDING);
		read_text(&stacks, STACKS_AFTER, text.data, bytes);
		stacks_sort(&stacks);
		for (size_t i = 0; i < stacks.count; i++) {
			found += stacks_weight(&stacks, &stacks.lines[i]);
			assert_true(i == 0 ||
				    compare(&stacks, &stacks.lines[i - 1], &stacks.lines[i]) <= 0);
		}
		assert_int_equal(found, sum);
		assert_int_equal(stacks.totals[STACKS_AFTER], sum);
	}
}

/* "depth offset weight own/before names" of each chain, a line each. */
static bool note_chain(void *arg, const struct stacks_chain *chain)
{
	buf_printf(arg, "%u %llu %llu %llu/%llu %.*s\n", chain->depth,
		   (unsigned long long)chain->offset, (unsigned long long)chain->weight,
		   (unsigned long long)chain->own[STACKS_AFTER],
		   (unsigned long long)chain->own[STACKS_BEFORE], (int)(chain->end - chain->begin),
		   chain->begin);
	return true;
}

static char *walk(struct stacks *stacks, uint64_t least)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);

	stacks_sort(stacks);
	stacks_link(stacks);
	assert_int_equal(stacks_walk(stacks, least, note_chain, &out), 0);
	return take_text(&out, NULL);
}

static void frames_end_with_their_weight_those_above_first(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a.x 1\na;b;c 4\na 2\na;b;d;e 8\na;b;c 16\na;bb 32\n");
	_cleanup_free_ char *text = walk(&stacks, 1);
	assert_string_equal(text, "3 2 20 20/0 c\n"
				  "3 22 8 8/0 d;e\n"
				  "2 2 28 0/0 b\n"
				  "2 30 32 32/0 bb\n"
				  "1 0 62 2/0 a\n"
				  "1 62 1 1/0 a.x\n");
	_cleanup_free_ char *heavy = walk(&stacks, 28);
	assert_string_equal(heavy, "2 2 28 0/0 b\n2 30 32 32/0 bb\n1 0 62 2/0 a\n");
}

static void frames_without_names_and_stacks_without_frames_are_kept(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, " 1\n; 2\n;a 4\na; 8\n");
	_cleanup_free_ char *text = walk(&stacks, 1);
	assert_string_equal(text, "2 1 2 2/0 \n"
				  "2 3 4 4/0 a\n"
				  "1 1 6 0/0 \n"
				  "1 7 8 8/0 a;\n");
}

static void two_sides_are_told_apart_and_only_the_first_has_width(void **state)
{
	static const char before[] = "a;b 5\na;gone 3\na;b 1\n\0\0\0\0\0\0\0";
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a;b 10\na;new 2\n");
	read_text(&stacks, STACKS_BEFORE, before, sizeof(before) - STACKS_PADDING);
	_cleanup_free_ char *text = walk(&stacks, 1);
	assert_string_equal(text, "2 0 10 10/6 b\n2 10 2 2/0 new\n1 0 12 0/0 a\n");
	assert_int_equal(stacks.totals[STACKS_BEFORE], 9);
}

static void the_largest_change_is_that_of_a_stack_on_either_side(void **state)
{
	static const char before[] = "a;b 5\na;gone 7\n\0\0\0\0\0\0\0";
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a;b 5\na;b 5\na;new 2\n");
	read_text(&stacks, STACKS_BEFORE, before, sizeof(before) - STACKS_PADDING);
	stacks_sort(&stacks);
	assert_int_equal(stacks_link(&stacks), 7);
	stacks.normalize = true; /* 12 of each: nothing changes */
	stacks_sort(&stacks);
	assert_int_equal(stacks_link(&stacks), 7);
	stacks.totals[STACKS_BEFORE] = 24;
	assert_int_equal(stacks_before(&stacks, 7), 3);
}

static void weights_by_time_count_as_of_the_time_of_after(void **state)
{
	struct stacks stacks = {.took_ns = {[STACKS_AFTER] = 3600, [STACKS_BEFORE] = 7200}};

	(void)state;
	assert_true(stacks_are_by_time(&stacks));
	assert_int_equal(stacks_before(&stacks, 7), 3);
	assert_true(stacks_scale(&stacks) == 0.5);
	stacks.took_ns[STACKS_AFTER] = UINT64_MAX;
	assert_true(stacks_before(&stacks, UINT64_MAX) == UINT64_MAX);
	stacks.took_ns[STACKS_AFTER] = 0; /* not known */
	assert_false(stacks_are_by_time(&stacks));
	assert_int_equal(stacks_before(&stacks, 7), 7);
	assert_true(stacks_scale(&stacks) == 0);
}

static void a_walk_by_no_weight_comes_to_what_is_gone(void **state)
{
	static const char before[] = "a;b 5\na;gone;far 7\n\0\0\0\0\0\0\0";
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a;b 5\na;new 2\n");
	read_text(&stacks, STACKS_BEFORE, before, sizeof(before) - STACKS_PADDING);
	_cleanup_free_ char *text = walk(&stacks, 0);
	assert_string_equal(text, "2 0 5 5/5 b\n2 5 0 0/7 gone;far\n2 5 2 2/0 new\n1 0 7 0/0 a\n");
}

static bool stop(void *arg, const struct stacks_chain *chain)
{
	(void)chain;
	return ++*(int *)arg < 2;
}

static void a_walk_stops_when_it_is_told(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};
	int calls = 0;

	(void)state;
	READ(&stacks, "a 1\nb 1\nc 1\n");
	stacks_sort(&stacks);
	stacks_link(&stacks);
	assert_int_equal(stacks_walk(&stacks, 1, stop, &calls), 0);
	assert_int_equal(calls, 2);
}

static void weights_beyond_what_a_line_keeps_are_looked_up(void **state)
{
	_cleanup_stacks_ struct stacks stacks = {0};

	(void)state;
	READ(&stacks, "a 1099511627774\nb 1099511627775\nc 1099511627776\nd 99999999999999999");
	_cleanup_free_ char *text = walk(&stacks, 1);
	assert_non_null(strstr(text, " 1099511627774 1099511627774/0 a\n"));
	assert_non_null(strstr(text, " 1099511627775 1099511627775/0 b\n"));
	assert_non_null(strstr(text, " 1099511627776 1099511627776/0 c\n"));
	assert_non_null(strstr(text, " 99999999999999999 99999999999999999/0 d\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_stack_a_blank_and_a_number),
		cmocka_unit_test(what_is_no_such_line_is_counted),
		cmocka_unit_test(lines_of_any_bytes_are_sorted_with_the_separator_first),
		cmocka_unit_test(frames_end_with_their_weight_those_above_first),
		cmocka_unit_test(frames_without_names_and_stacks_without_frames_are_kept),
		cmocka_unit_test(two_sides_are_told_apart_and_only_the_first_has_width),
		cmocka_unit_test(the_largest_change_is_that_of_a_stack_on_either_side),
		cmocka_unit_test(weights_by_time_count_as_of_the_time_of_after),
		cmocka_unit_test(a_walk_by_no_weight_comes_to_what_is_gone),
		cmocka_unit_test(a_walk_stops_when_it_is_told),
		cmocka_unit_test(weights_beyond_what_a_line_keeps_are_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
