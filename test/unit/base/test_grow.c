// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays that grow. */
#include "unit/lib/unit.h"

#include "base/cleanup.h"
#include "base/grow.h"

static void it_begins_with_the_first_room_and_doubles(void **state)
{
	_cleanup_free_ uint32_t *items = NULL;
	uint32_t capacity = 0;

	(void)state;
	assert_int_equal(array_grow(items, capacity, 1, 4), 0);
	assert_non_null(items);
	assert_int_equal(capacity, 4);
	for (uint32_t i = 0; i < 4; i++)
		items[i] = i;
	assert_int_equal(array_grow(items, capacity, 4, 4), 0);
	assert_int_equal(capacity, 4);
	assert_int_equal(array_grow(items, capacity, 5, 4), 0);
	assert_int_equal(capacity, 8);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(items[i], i);
}

static void many_at_once_find_room(void **state)
{
	_cleanup_free_ uint64_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(array_grow(items, capacity, 100, 16), 0);
	assert_int_equal(capacity, 128);
	memset(items, 0, 100 * sizeof(*items));
}

static void where_there_is_no_memory_all_stays(void **state)
{
	_cleanup_free_ uint64_t *items = NULL;
	size_t capacity = 0;

	(void)state;
	assert_int_equal(array_grow(items, capacity, 1, 2), 0);
	uint64_t *before = items;
	assert_int_equal(array_grow(items, capacity, SIZE_MAX / 4, 2), -ENOMEM);
	assert_int_equal(array_grow(items, capacity, SIZE_MAX, 2), -ENOMEM);
	assert_ptr_equal(items, before);
	assert_int_equal(capacity, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_with_the_first_room_and_doubles),
		cmocka_unit_test(many_at_once_find_room),
		cmocka_unit_test(where_there_is_no_memory_all_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
