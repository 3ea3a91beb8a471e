// SPDX-License-Identifier: GPL-2.0-or-later
/* Which code objects are kept when there is no room for all. */
#include "unit/code/code_world.h"
#include "unit/lib/unit.h"

#include "bpf/shared/code_copy.h"
#include "code/code_cache.h"
#include "code/code_python.h"

static void what_is_not_used_makes_room(void **state)
{
	const size_t bytes_max = 100000;

	(void)state;
	begin(bytes_max);
	code_bytes = 250;
	for (uint64_t i = 1; i <= 40; i++)
		want(w.target, i << 12, 1);
	settle();
	code_cache_sweep(w.codes);
	assert_int_equal(figures().known, 40); /* there is room */
	code_cache_sweep(w.codes);
	for (uint64_t i = 101; i <= 200; i++)
		want(w.target, i << 12, 1);
	settle();
	assert_true(figures().bytes <= bytes_max / 4 + 1000); /* no process has more */
	assert_true(lost(CODE_LOST_NO_ROOM) > 0);
	for (uint64_t i = 1; i <= 10; i++)
		assert_non_null(codes_find_python(w.target, i << 12, 1));
	code_cache_sweep(w.codes);
	assert_non_null(codes_find_python(w.target, 1 << 12, 1));
	assert_non_null(codes_find_python(w.target, 101 << 12, 1));
	assert_null(codes_find_python(w.target, 20 << 12, 1));
	uint64_t refused = lost(CODE_LOST_NO_ROOM);
	want(w.target, 300 << 12, 1);
	settle();
	assert_non_null(codes_find_python(w.target, 300 << 12, 1));
	assert_int_equal(lost(CODE_LOST_NO_ROOM), refused);
	end();
}

/* Code objects of its own, all of them in this window. */
static void want_many(struct target *target, uint64_t from, uint64_t count)
{
	for (uint64_t i = from; i < from + count; i++)
		want(target, i << 12, 1);
	settle();
}

static void the_process_that_was_not_asked_for_longest_makes_room_for_others(void **state)
{
	struct target *others[5];

	(void)state;
	begin(100000);
	code_bytes = 1000;
	want_many(w.target, 1, 15);
	code_cache_sweep(w.codes);
	for (pid_t i = 0; i < 5; i++) {
		others[i] = add_target(CHILD + i, NULL);
		want_many(others[i], 100 + 100 * (uint64_t)i, 12);
	}
	code_cache_sweep(w.codes);
	assert_null(codes_find_python(w.target, 1 << 12, 1));
	for (uint64_t i = 0; i < 5; i++)
		assert_non_null(codes_find_python(others[i], (100 + 100 * i) << 12, 1));
	end();
}

static void the_largest_makes_room_for_those_that_are_asked_as_well(void **state)
{
	struct target *others[6];

	(void)state;
	begin(100000);
	code_bytes = 1000;
	for (pid_t i = 0; i < 6; i++) {
		others[i] = add_target(CHILD + i, NULL);
		want_many(others[i], 100 + 100 * (uint64_t)i, i == 4 ? 20 : 11);
	}
	code_cache_sweep(w.codes);
	for (uint64_t i = 0; i < 6; i++)
		assert_true((i == 4) == !codes_find_python(others[i], (100 + 100 * i) << 12, 1));
	end();
}

static void one_process_leaves_room_for_others(void **state)
{
	(void)state;
	begin(100000);
	code_bytes = 1000;
	struct target *other = add_target(CHILD, NULL);
	want_many(w.target, 1, 60);
	assert_in_range(figures().known, 20, 25);
	assert_int_equal(lost(CODE_LOST_NO_ROOM), 60 - figures().known);
	want_many(other, 100, 20);
	for (uint64_t i = 100; i < 120; i++)
		assert_non_null(codes_find_python(other, i << 12, 1));
	end();
}

/* They run the same program, each at addresses of its own. */
static void what_is_equal_is_kept_once(void **state)
{
	(void)state;
	begin(1 << 20);
	code_bytes = 1000;
	same = 0xff0000000;
	struct target *other = add_target(CHILD, NULL);
	want_many(w.target, 1, 50);
	struct code_cache_stats alone = figures();
	want_many(other, 0x10001, 50);
	assert_int_equal(figures().known, 50);
	assert_int_equal(figures().read, 100);
	assert_in_range(figures().bytes - alone.bytes, 1, 50 * 100);
	assert_ptr_equal(codes_find_python(w.target, 1 << 12, 1),
			 codes_find_python(other, 0x10001ULL << 12, 1));
	want(other, 0x10001ULL << 12, 2); /* of another name */
	settle();
	assert_int_equal(figures().known, 51);
	code_cache_sweep(w.codes);
	target_table_end(w.table, w.target, 5);
	target_table_sweep(w.table, 10);
	assert_non_null(codes_find_python(other, 0x10001ULL << 12, 1));
	end();
}

static void forks_that_all_learn_more_take_no_more_room(void **state)
{
	const size_t bytes_max = 100000;
	uint64_t refused = 0;

	(void)state;
	begin(bytes_max);
	code_bytes = 2000;
	for (uint64_t i = 1; i <= 8; i++)
		want(w.target, i << 12, 1);
	settle();
	for (pid_t i = 0; i < 50; i++) /* all before the first answer */
		want(add_target(CHILD + i, w.target), (100 + (uint64_t)i) << 12, 1);
	settle();
	refused = lost(CODE_LOST_NO_ROOM);
	assert_true(refused > 0 && refused < 50);
	assert_true(figures().bytes <= bytes_max + 50 * 64 + 3000);
	code_cache_sweep(w.codes);
	assert_true(figures().bytes <= bytes_max);
	end();
}

static void a_thousand_processes_of_one_program_have_room(void **state)
{
	struct target *targets[1000];

	(void)state;
	begin(64 << 20);
	code_bytes = 400;
	same = 0xffc00000;
	for (uint64_t i = 0; i < 1000; i++) {
		targets[i] = add_target((pid_t)(CHILD + i), NULL);
		want_many(targets[i], i << 10 | 1, 400);
	}
	assert_int_equal(figures().known, 400);
	assert_int_equal(lost(CODE_LOST_NO_ROOM), 0);
	code_cache_sweep(w.codes);
	for (uint64_t i = 0; i < 1000; i++)
		assert_non_null(codes_find_python(targets[i], (i << 10 | 400) << 12, 1));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_used_makes_room),
		cmocka_unit_test(the_process_that_was_not_asked_for_longest_makes_room_for_others),
		cmocka_unit_test(the_largest_makes_room_for_those_that_are_asked_as_well),
		cmocka_unit_test(one_process_leaves_room_for_others),
		cmocka_unit_test(what_is_equal_is_kept_once),
		cmocka_unit_test(forks_that_all_learn_more_take_no_more_room),
		cmocka_unit_test(a_thousand_processes_of_one_program_have_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
