// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/array_index.h"

#define KEYS 3000

struct item {
	uint32_t key[2];
	uint64_t other;
};

/* Of 3,000 keys those that came first have the first numbers; the array may move. */
static void random_keys_have_the_number_that_they_got(void **state)
{
	_cleanup_(array_index_done) struct array_index numbers = {0};
	struct item *items = NULL;
	int64_t model[KEYS];
	uint64_t random = 11;

	(void)state;
	array_index_init(&numbers, sizeof(*items), sizeof(items->key));
	for (size_t i = 0; i < KEYS; i++)
		model[i] = -ENOENT;
	for (uint32_t turn = 0, count = 0; turn < 20000; turn++) {
		uint32_t which = (uint32_t)(random_next(&random) >> 32) % KEYS;
		uint32_t key[2] = {which / 50, which % 50};

		assert_true(array_index_find(&numbers, items, key) == model[which]);
		if (model[which] >= 0)
			continue;
		struct item *moved = malloc((count + 1) * sizeof(*items));
		assert_non_null(moved);
		if (items)
			memcpy(moved, items, count * sizeof(*items));
		free(items);
		items = moved;
		assert_int_equal(array_index_reserve(&numbers, items, 1), 0);
		items[count] = (struct item){{key[0], key[1]}, turn};
		array_index_add(&numbers, items, count);
		model[which] = count++;
	}
	assert_true(numbers.count > KEYS * 9 / 10);
	assert_true(numbers.size <= numbers.count * 8 / 3);
	free(items);
}

static void where_nothing_is_nothing_is_found(void **state)
{
	_cleanup_(array_index_done) struct array_index numbers = {0};
	uint32_t key = 1;

	(void)state;
	assert_true(array_index_find(&numbers, NULL, &key) == -ENOENT);
	array_index_init(&numbers, sizeof(key), sizeof(key));
	assert_true(array_index_find(&numbers, NULL, &key) == -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_keys_have_the_number_that_they_got),
		cmocka_unit_test(where_nothing_is_nothing_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
