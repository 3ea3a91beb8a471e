// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes whose end was missed: told once, after ten seconds in which no reading saw them. */
#include "unit/lib/unit.h"

#include "base/clock.h"
#include "costs/cost_missed.h"

static struct cost_ended_key missed[8];
static size_t missed_count;

static void note_missed(void *arg, const struct cost_ended_key *key)
{
	(void)arg;
	missed[missed_count++] = *key;
}

/* Has a reading at a second that sees none of these processes. */
static void read_at(struct unseen_ends *unseen, uint64_t second, size_t count,
		    const uint64_t tgids[])
{
	struct unseen_end all[8];
	const struct unseen_ends now = {all, count};

	missed_count = 0;
	for (size_t i = 0; i < count; i++)
		all[i] = (struct unseen_end){.key = {.signal = 1000 - tgids[i], .tgid = tgids[i]}};
	assert_int_equal(unseen_ends_replace(unseen, &now, second * NS_PER_S, note_missed, NULL),
			 0);
}

static void who_is_unseen_for_ten_seconds_was_missed(void **state)
{
	struct unseen_ends unseen = {0};

	(void)state;
	read_at(&unseen, 100, 3, (uint64_t[]){7, 300, 5});
	read_at(&unseen, 101, 2, (uint64_t[]){300, 6});
	read_at(&unseen, 109, 3, (uint64_t[]){6, 7, 300});
	assert_int_equal(missed_count, 0);
	read_at(&unseen, 110, 3, (uint64_t[]){6, 7, 300});
	assert_int_equal(missed_count, 1);
	assert_int_equal(missed[0].tgid, 300);
	assert_int_equal(missed[0].signal, 700);
	read_at(&unseen, 112, 2, (uint64_t[]){6, 7});
	assert_int_equal(missed_count, 1);
	assert_int_equal(missed[0].tgid, 6);
	read_at(&unseen, 118, 1, (uint64_t[]){7}); /* it was seen, or freed, at 101 */
	assert_int_equal(missed_count, 0);
	read_at(&unseen, 119, 1, (uint64_t[]){7});
	assert_int_equal(missed_count, 1);
	unseen_ends_done(&unseen);
}

static bool is_even(void *arg, uint64_t tgid)
{
	(void)arg;
	return tgid % 2 == 0;
}

static void who_is_seen_is_left_out(void **state)
{
	struct unseen_end all[] = {{{1, 4}, 0}, {{2, 5}, 0}, {{3, 6}, 0}, {{4, 7}, 0}};
	struct unseen_ends unseen = {all, 4};

	(void)state;
	unseen_ends_leave_out(&unseen, is_even, NULL);
	assert_int_equal(unseen.count, 2);
	assert_int_equal(unseen.all[0].key.tgid, 5);
	assert_int_equal(unseen.all[1].key.tgid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_unseen_for_ten_seconds_was_missed),
		cmocka_unit_test(who_is_seen_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
