// SPDX-License-Identifier: GPL-2.0-or-later
/* Arrays that grow; and the point where a sorted one parts, beside counting, in all arrays of up to
 * seven numbers of 0 to 3. */
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

#define ITEMS  7
#define VALUES 4

static size_t count_below(const unsigned *items, size_t count, unsigned value)
{
	size_t below = 0;

	for (size_t i = 0; i < count; i++)
		below += items[i] < value;
	return below;
}

static void check(const unsigned *items, size_t count)
{
	for (unsigned value = 0; value <= VALUES; value++)
		assert_int_equal(PARTITION_POINT(at, count, items[at] < value),
				 count_below(items, count, value));
}

static void extend(unsigned *items, size_t count)
{
	check(items, count);
	for (unsigned value = count ? items[count - 1] : 0; count < ITEMS && value < VALUES;
	     value++) {
		items[count] = value;
		extend(items, count + 1);
	}
}

static void the_partition_point_is_the_number_of_items_before(void **state)
{
	unsigned items[ITEMS];

	(void)state;
	extend(items, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_with_the_first_room_and_doubles),
		cmocka_unit_test(many_at_once_find_room),
		cmocka_unit_test(where_there_is_no_memory_all_stays),
		cmocka_unit_test(the_partition_point_is_the_number_of_items_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
