// SPDX-License-Identifier: GPL-2.0-or-later
/* What the line reader answers, as a file that was made to hurt may have it. */
#include "unit/lib/unit.h"

#include <errno.h>

#include "line_reader/protocol.h"
#include "elf/lines_state.h"

static void add_answer(struct buf *answers, uint64_t address, uint32_t levels, uint32_t text_bytes)
{
	struct line_answer head = {.address = address, .levels = levels, .text_bytes = text_bytes};

	buf_add(answers, &head, sizeof(head));
}

static void add_level(struct buf *answers, uint32_t line, uint16_t file_len, uint16_t name_len)
{
	struct line_level level = {.line = line, .file_len = file_len, .name_len = name_len};

	buf_add(answers, &level, sizeof(level));
}

/* Two functions: "name" inlined at a.c:7, in what is at b.c:9. */
static void add_good(struct buf *answers, uint64_t address)
{
	add_answer(answers, address, 2, 10);
	add_level(answers, 7, 3, 4);
	add_level(answers, 9, 3, 0);
	buf_str(answers, "a.cnameb.c");
}

static struct lines *take(struct buf *answers)
{
	struct lines *lines;

	assert_int_equal(buf_error(answers), 0);
	assert_int_equal(lines_take(&lines, answers), 0);
	assert_null(answers->data); /* it was taken over */
	return lines;
}

static bool is_known(const struct lines *lines, uint64_t address)
{
	struct line_text texts[LINE_LEVELS];

	return lines_at(lines, address, texts) > 0;
}

static void answers_are_found_by_their_address(void **state)
{
	struct buf answers = BUF_INIT(4096);
	struct line_text texts[LINE_LEVELS];

	(void)state;
	for (uint64_t address = 90; address > 0; address -= 10)
		add_good(&answers, address);
	struct lines *lines = take(&answers);
	assert_int_equal(lines_at(lines, 50, texts), 2);
	assert_true(texts[0].line == 7 && texts[0].file_len == 3 && texts[0].name_len == 4);
	assert_memory_equal(texts[0].name, "name", 4);
	assert_memory_equal(texts[1].file, "b.c", 3);
	assert_false(is_known(lines, 55) || is_known(lines, 0) || is_known(lines, UINT64_MAX));
	lines_free(lines);
}

static void none_at_all_is_nothing_known(void **state)
{
	struct buf answers = BUF_INIT(4096);
	struct lines *lines = take(&answers);

	(void)state;
	assert_false(is_known(lines, 0));
	lines_free(lines);
}

static void what_is_cut_off_has_what_stands_before(void **state)
{
	struct buf whole = BUF_INIT(4096);

	(void)state;
	add_good(&whole, 10);
	size_t first = whole.len;
	add_good(&whole, 20);
	for (size_t len = 0; len <= whole.len; len++) {
		struct buf answers = BUF_INIT(4096);

		buf_add(&answers, whole.data, len);
		struct lines *lines = take(&answers);
		assert_int_equal(is_known(lines, 10), len >= first);
		assert_int_equal(is_known(lines, 20), len == whole.len);
		lines_free(lines);
	}
	buf_done(&whole);
}

static void what_makes_no_sense_ends_them(void **state)
{
	static const struct {
		uint32_t levels, text_bytes;
	} heads[] = {{0, 0}, {LINE_LEVELS_MAX + 1, 0}, {UINT32_MAX, 0}, {1, UINT32_MAX}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct buf answers = BUF_INIT(4096);

		add_good(&answers, 10);
		add_answer(&answers, 20, heads[i].levels, heads[i].text_bytes);
		add_good(&answers, 30);
		struct lines *lines = take(&answers);
		assert_true(is_known(lines, 10));
		assert_false(is_known(lines, 20) || is_known(lines, 30));
		lines_free(lines);
	}
}

static void texts_that_are_longer_than_all_are_not_taken(void **state)
{
	struct buf answers = BUF_INIT(4096);

	(void)state;
	add_answer(&answers, 10, 2, 10);
	add_level(&answers, 7, 3, 4);
	add_level(&answers, 9, UINT16_MAX, UINT16_MAX);
	buf_str(&answers, "a.cnameb.c");
	add_good(&answers, 20);
	struct lines *lines = take(&answers);
	assert_false(is_known(lines, 10));
	assert_true(is_known(lines, 20));
	lines_free(lines);
}

static struct lines *take_good(const uint64_t *addresses, size_t count)
{
	struct buf answers = BUF_INIT(4 << 20);

	for (size_t i = 0; i < count; i++)
		add_good(&answers, addresses[i]);
	return take(&answers);
}

static void what_was_known_before_is_known_with_what_comes(void **state)
{
	static const uint64_t first[] = {10, 30}, second[] = {20, 40}, asked[] = {5, 20, 30, 40};
	struct lines *before = take_good(first, 2), *more = take_good(second, 2), *joined, *again;
	struct line_text texts[LINE_LEVELS];

	(void)state;
	assert_int_equal(lines_join(&joined, before, more, asked, 4), 0);
	for (uint64_t address = 0; address < 50; address++) {
		bool is_place = address % 10 == 0 && address > 0;

		assert_true(is_known(joined, address) == is_place);
		assert_true(lines_has(joined, address) == (is_place || address == 5));
	}
	assert_int_equal(lines_at(joined, 30, texts), 2);
	assert_memory_equal(texts[0].name, "name", 4);
	/* it may be known later */
	uint64_t five = 5;
	struct lines *late = take_good(&five, 1);
	assert_int_equal(lines_join(&again, joined, late, NULL, 0), 0);
	assert_true(is_known(again, 5) && is_known(again, 30));
	assert_false(lines_has(NULL, 5));
	lines_free(lines_ref(again));
	lines_free(again);
	lines_free(late);
	lines_free(joined);
	lines_free(before);
	lines_free(more);
}

static void no_more_is_kept_than_there_is_room_for(void **state)
{
	_cleanup_free_ uint64_t *asked = calloc(LINES_KEPT_MAX, sizeof(*asked));
	struct lines *joined;

	(void)state;
	for (size_t i = 0; i < LINES_KEPT_MAX; i++)
		asked[i] = i;
	assert_int_equal(lines_join(&joined, NULL, NULL, asked, LINES_KEPT_MAX), -ENOSPC);
	assert_int_equal(lines_join(&joined, NULL, NULL, asked, 1000), 0);
	assert_true(lines_has(joined, 999) && !lines_has(joined, 1000));
	assert_true(lines_bytes(joined) < LINES_KEPT_MAX);
	lines_free(joined);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_found_by_their_address),
		cmocka_unit_test(none_at_all_is_nothing_known),
		cmocka_unit_test(what_is_cut_off_has_what_stands_before),
		cmocka_unit_test(what_makes_no_sense_ends_them),
		cmocka_unit_test(texts_that_are_longer_than_all_are_not_taken),
		cmocka_unit_test(what_was_known_before_is_known_with_what_comes),
		cmocka_unit_test(no_more_is_kept_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
