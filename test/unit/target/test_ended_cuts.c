// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/clock.h"
#include "target/ended_cuts.h"
#include "target/target_table.h"

#define MINUTE (60 * NS_PER_S)

static void end_one(struct ended_cuts *cuts, const char *comm, uint64_t pending, uint64_t now_ns)
{
	static struct target target;

	target = (struct target){.from_code = 2};
	snprintf(target.comm, sizeof(target.comm), "%s", comm);
	target.truncated[TRUNCATED_NOT] = 7;
	target.truncated[TRUNCATED_TABLE_PENDING] = pending;
	ended_cuts_add(cuts, &target, now_ns);
}

static void processes_of_a_name_are_summed(void **state)
{
	static struct ended_cuts cuts;
	static struct ended_cuts_part sum;

	(void)state;
	end_one(&cuts, "cc1", 3, 10 * MINUTE);
	end_one(&cuts, "as", 1, 10 * MINUTE);
	end_one(&cuts, "cc1", 4, 12 * MINUTE);
	end_one(&cuts, "ld", 0, 12 * MINUTE); /* nothing of it was cut */
	ended_cuts_sum(&cuts, 12 * MINUTE, &sum);
	assert_int_equal(sum.count, 2);
	assert_string_equal(sum.each[0].comm, "cc1");
	assert_int_equal(sum.each[0].processes, 2);
	assert_int_equal(sum.each[0].truncated[TRUNCATED_TABLE_PENDING], 7);
	assert_int_equal(sum.each[0].from_code, 4);
	assert_string_equal(sum.each[1].comm, "as");
}

static void they_are_shown_for_five_to_ten_minutes(void **state)
{
	static struct ended_cuts cuts;
	static struct ended_cuts_part sum;

	(void)state;
	end_one(&cuts, "first", 1, 10 * MINUTE);
	end_one(&cuts, "second", 1, 15 * MINUTE);
	ended_cuts_sum(&cuts, 19 * MINUTE, &sum);
	assert_int_equal(sum.count, 2);
	ended_cuts_sum(&cuts, 20 * MINUTE, &sum);
	assert_int_equal(sum.count, 1);
	assert_string_equal(sum.each[0].comm, "second");
	ended_cuts_sum(&cuts, 25 * MINUTE, &sum);
	assert_int_equal(sum.count, 0);
	end_one(&cuts, "third", 1, 40 * MINUTE);
	ended_cuts_sum(&cuts, 40 * MINUTE, &sum);
	assert_int_equal(sum.count, 1);
	assert_string_equal(sum.each[0].comm, "third");
}

static void more_names_than_there_is_room_for_are_one(void **state)
{
	static struct ended_cuts cuts;
	static struct ended_cuts_part sum;
	uint64_t all = 0;
	char comm[COMM_BYTES];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(comm, sizeof(comm), "%d", i);
		end_one(&cuts, comm, 1, 10 * MINUTE + (i < 50 ? 0 : 5 * MINUTE));
	}
	ended_cuts_sum(&cuts, 19 * MINUTE, &sum);
	assert_int_equal(sum.count, ENDED_CUTS_MAX);
	assert_string_equal(sum.each[ENDED_CUTS_MAX - 1].comm, "");
	for (size_t i = 0; i < sum.count; i++)
		all += sum.each[i].truncated[TRUNCATED_TABLE_PENDING];
	assert_int_equal(all, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_of_a_name_are_summed),
		cmocka_unit_test(they_are_shown_for_five_to_ten_minutes),
		cmocka_unit_test(more_names_than_there_is_room_for_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
