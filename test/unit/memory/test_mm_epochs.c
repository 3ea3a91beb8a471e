// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "heap/mm_epochs.h"

static struct mm_epochs *new_cuts(size_t max)
{
	struct mm_epochs *epochs;

	assert_int_equal(mm_epochs_new(&epochs, max), 0);
	return epochs;
}

static void test_the_last_end_of_a_pids_program_counts(void **state)
{
	struct mm_epochs *epochs = new_cuts(8);

	(void)state;
	assert_int_equal(mm_epochs_get(epochs, 7), 0);
	assert_int_equal(mm_epochs_note(epochs, 7, 100), 0);
	assert_int_equal(mm_epochs_note(epochs, 7, 300), 0);
	assert_int_equal(mm_epochs_note(epochs, 7, 200), 0); /* events may come late */
	assert_int_equal(mm_epochs_get(epochs, 7), 300);
	assert_int_equal(mm_epochs_get(epochs, 8), 0);
	mm_epochs_free(epochs);
}

static void test_what_finds_no_room_is_counted(void **state)
{
	struct mm_epochs *epochs = new_cuts(4);
	uint32_t pid = 1;

	(void)state;
	while (mm_epochs_note(epochs, pid, pid) == 0)
		assert_true(++pid < 100);
	assert_int_equal(mm_epochs_note(epochs, pid, 1), -ENOSPC);
	assert_int_equal(mm_epochs_refused(epochs), 2);
	assert_int_equal(mm_epochs_get(epochs, pid), 0);
	assert_int_equal(mm_epochs_note(epochs, 1, 50), 0); /* one that is known needs none */
	assert_int_equal(mm_epochs_get(epochs, 1), 50);
	mm_epochs_free(epochs);
}

static void test_old_ones_are_forgotten_and_make_room(void **state)
{
	struct mm_epochs *epochs = new_cuts(1000);

	(void)state;
	for (uint32_t pid = 1; pid <= 1000; pid++)
		assert_int_equal(mm_epochs_note(epochs, pid, pid), 0);
	mm_epochs_forget(epochs, 600);
	assert_int_equal(mm_epochs_get(epochs, 600), 0);
	assert_int_equal(mm_epochs_get(epochs, 601), 601);
	assert_int_equal(mm_epochs_note(epochs, 5, 2000), 0);
	mm_epochs_forget(epochs, UINT64_MAX);
	for (uint32_t pid = 1; pid <= 1000; pid++)
		assert_int_equal(mm_epochs_get(epochs, pid), 0);
	mm_epochs_free(epochs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_end_of_a_pids_program_counts),
		cmocka_unit_test(test_what_finds_no_room_is_counted),
		cmocka_unit_test(test_old_ones_are_forgotten_and_make_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
