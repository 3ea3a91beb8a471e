// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "api/resource/feature_table.h"
#include "api/feature/fresh.h"
#include "loop/loop.h"

static struct answer answer_of(const char *text, unsigned status)
{
	struct answer answer = {
		.status = status, .content_type = "text/x", .body = BUF_INIT(1 << 20)};

	buf_str(&answer.body, text);
	return answer;
}

/* Whether there is one; then it has to be that text. */
static bool is_given_old(const struct fresh *fresh, bool old, const char *text)
{
	struct answer answer = {.body = BUF_INIT(1 << 20)};
	bool given = fresh_give(fresh, old, &answer);

	if (given) {
		assert_int_equal(answer.status, 200);
		assert_string_equal(answer.content_type, "text/x");
		assert_int_equal(answer.body.len, strlen(text));
		assert_memory_equal(answer.body.data, text, strlen(text));
	}
	buf_done(&answer.body);
	return given;
}

static bool is_given(const struct fresh *fresh, const char *text)
{
	return is_given_old(fresh, false, text);
}

static void keep(struct fresh *fresh, const char *text, unsigned status, uint64_t took_ns)
{
	struct answer answer = answer_of(text, status);

	fresh_keep(fresh, &answer, loop_now_ns() - took_ns);
	buf_done(&answer.body);
}

static void what_took_long_is_given_again_for_at_most_a_second(void **state)
{
	struct fresh fresh[FRESH_COUNT];

	(void)state;
	fresh_init(fresh);
	assert_false(is_given(&fresh[0], ""));
	uint64_t before = loop_now_ns();
	keep(&fresh[0], "long", 200, 2 * NS_PER_S);
	assert_true(fresh[0].until_ns >= before + NS_PER_S);
	assert_true(fresh[0].until_ns <= loop_now_ns() + NS_PER_S);
	assert_true(is_given(&fresh[0], "long"));
	assert_true(is_given(&fresh[0], "long"));
	assert_false(is_given(&fresh[1], ""));
	fresh[0].until_ns = loop_now_ns();
	assert_false(is_given(&fresh[0], ""));
	fresh_done(fresh);
}

static void it_is_given_for_ten_times_as_long_as_it_took(void **state)
{
	struct fresh fresh[FRESH_COUNT];

	(void)state;
	fresh_init(fresh);
	uint64_t before = loop_now_ns();
	keep(&fresh[0], "x", 200, 20 * NS_PER_MS);
	assert_true(fresh[0].until_ns >= before + 200 * NS_PER_MS);
	assert_true(fresh[0].until_ns <= loop_now_ns() + NS_PER_S);
	fresh_done(fresh);
}

static void what_was_quick_is_given_for_a_second_to_who_may_get_an_old_one(void **state)
{
	struct fresh fresh[FRESH_COUNT];

	(void)state;
	fresh_init(fresh);
	uint64_t before = loop_now_ns();
	keep(&fresh[0], "quick", 200, 0);
	assert_false(is_given(&fresh[0], ""));
	assert_true(is_given_old(&fresh[0], true, "quick"));
	assert_true(fresh[0].old_until_ns >= before + NS_PER_S);
	assert_true(fresh[0].old_until_ns <= loop_now_ns() + NS_PER_S);
	fresh[0].old_until_ns = loop_now_ns();
	assert_false(is_given_old(&fresh[0], true, ""));
	keep(&fresh[0], "again", 200, 0);
	fresh_forget(fresh);
	assert_false(is_given_old(&fresh[0], true, ""));
	fresh_done(fresh);
}

static void what_went_wrong_is_not_kept(void **state)
{
	struct fresh fresh[FRESH_COUNT];

	(void)state;
	fresh_init(fresh);
	keep(&fresh[0], "failed", 503, NS_PER_S);
	assert_false(is_given_old(&fresh[0], true, ""));
	keep(&fresh[0], "old", 200, NS_PER_S);
	keep(&fresh[0], "failed", 503, NS_PER_S); /* and the one before is gone */
	assert_false(is_given_old(&fresh[0], true, ""));
	fresh_done(fresh);
}

static void after_a_put_there_is_none(void **state)
{
	struct fresh fresh[FRESH_COUNT];

	(void)state;
	fresh_init(fresh);
	for (int i = 0; i < FRESH_COUNT; i++)
		keep(&fresh[i], "x", 200, NS_PER_S);
	fresh_forget(fresh);
	for (int i = 0; i < FRESH_COUNT; i++)
		assert_false(is_given(&fresh[i], ""));
	keep(&fresh[0], "new", 200, NS_PER_S);
	assert_true(is_given(&fresh[0], "new"));
	fresh_done(fresh);
}

static void there_is_room_for_each_feature(void **state)
{
	const struct feature *first;

	(void)state;
	assert_true(features_table(&first) <= FRESH_SCHED - FRESH_FEATURES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_took_long_is_given_again_for_at_most_a_second),
		cmocka_unit_test(it_is_given_for_ten_times_as_long_as_it_took),
		cmocka_unit_test(what_was_quick_is_given_for_a_second_to_who_may_get_an_old_one),
		cmocka_unit_test(what_went_wrong_is_not_kept),
		cmocka_unit_test(after_a_put_there_is_none),
		cmocka_unit_test(there_is_room_for_each_feature),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
