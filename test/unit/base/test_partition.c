// SPDX-License-Identifier: GPL-2.0-or-later
/* Binary search beside counting, in all sorted arrays of up to seven numbers of 0 to 3. */
#include "unit/lib/unit.h"

#include "base/partition.h"

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

static void it_is_the_number_of_items_before(void **state)
{
	unsigned items[ITEMS];

	(void)state;
	extend(items, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(it_is_the_number_of_items_before)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
