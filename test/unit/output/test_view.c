// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kind/kind.h"
#include "profile/view.h"

static void test_each_probe_has_the_windows_stacks_in_its_own_folder(void **state)
{
	(void)state;
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		const struct view_row *row = view_get(probe, VIEW_ALL);

		assert_string_equal(row->folder, kind_get(probe)->name);
		assert_string_equal(row->title, kind_get(probe)->title);
		assert_ptr_equal(row->event_name, kind_get(probe)->event_name);
	}
}

static void test_no_two_views_share_a_folder_or_a_title(void **state)
{
	char word[EVENT_WORD_BYTES];

	(void)state;
	for (int i = PROBE_SLOT_FIRST; i < PROBE_COUNT; i++) {
		snprintf(word, sizeof(word), "e%d", i);
		kind_define(i, word);
	}
	for (int a = 0; a < PROBE_COUNT * VIEWS; a++) {
		const struct view_row *left = view_get(a / VIEWS, a % VIEWS);

		for (int b = 0; left && b < a; b++) {
			const struct view_row *right = view_get(b / VIEWS, b % VIEWS);

			if (!right)
				continue;
			assert_string_not_equal(left->folder, right->folder);
			assert_string_not_equal(left->title, right->title);
		}
	}
}

static void test_views_are_found_by_name_in_any_case(void **state)
{
	(void)state;
	assert_int_equal(view_find(PROBE_MEM_GLIBC, "alloc"), VIEW_ALL);
	assert_int_equal(view_find(PROBE_MEM_GLIBC, "INUSE"), VIEW_INUSE);
	assert_int_equal(view_find(PROBE_MEM_GLIBC, "mmap"), VIEW_MMAP);
	assert_int_equal(view_find(PROBE_MEM_GLIBC, "in"), -ENOENT);
	assert_int_equal(view_find(PROBE_MEM_GLIBC, ""), -ENOENT);
}

static void test_other_probes_have_no_views_to_choose(void **state)
{
	(void)state;
	assert_int_equal(view_find(PROBE_ONCPU, "alloc"), -ENOENT);
	assert_int_equal(view_find(PROBE_MEM, "inuse"), -ENOENT);
	assert_null(view_get(PROBE_ONCPU, VIEW_INUSE));
	assert_null(view_get(PROBE_MEM, VIEW_MMAP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_probe_has_the_windows_stacks_in_its_own_folder),
		cmocka_unit_test(test_no_two_views_share_a_folder_or_a_title),
		cmocka_unit_test(test_views_are_found_by_name_in_any_case),
		cmocka_unit_test(test_other_probes_have_no_views_to_choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
