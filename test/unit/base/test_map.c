// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "base/intern.h"
#include "base/map.h"

#define KEYS 300

/* The reference model: one value a key, 0 = not there. */
struct model {
	uint32_t values[KEYS];
	size_t count;
};

static void compare(const struct map *map, const struct model *model)
{
	size_t seen = 0;
	const uint32_t *key, *value;

	assert_int_equal(map_count(map), model->count);
	map_each (map, pos, key, value) {
		assert_true(*key < KEYS);
		assert_int_equal(*value, model->values[*key]);
		seen++;
	}
	assert_int_equal(seen, model->count);
	for (uint32_t i = 0; i < KEYS; i++) {
		value = map_get(map, &i);
		assert_int_equal(value ? *value : 0, model->values[i]);
	}
}

static void put(struct map *map, struct model *model, uint32_t key, uint32_t to)
{
	uint32_t *value = NULL;
	int r = map_put(map, &key, (void **)&value);

	assert_int_equal(r, model->values[key] ? 0 : 1);
	assert_int_equal(*value, model->values[key]); /* a new one is zeroed */
	model->count += (size_t)r;
	model->values[key] = *value = to;
}

static void random_puts_and_deletes_agree_with_a_simple_model(void **state)
{
	struct map *map;
	struct model model = {0};
	uint64_t random = 7;

	(void)state;
	assert_int_equal(map_new(&map, sizeof(uint32_t), sizeof(uint32_t), KEYS), 0);
	for (int i = 0; i < 200000; i++) {
		uint64_t bits = random_next(&random);
		uint32_t key = (uint32_t)(bits >> 32) % KEYS;
		/* In turns more comes and more goes, so that runs of full slots grow and break. */
		bool comes = (bits & 0xff) < (i / 3000 % 2 ? 80 : 170);

		if (comes) {
			put(map, &model, key, (uint32_t)i + 1);
		} else {
			assert_int_equal(map_del(map, &key), model.values[key] != 0);
			model.count -= model.values[key] != 0;
			model.values[key] = 0;
		}
		if (i % 500 == 0)
			compare(map, &model);
	}
	compare(map, &model);
	map_clear(map);
	compare(map, &(struct model){0});
	map_free(map);
}

static void a_full_map_refuses_new_keys_and_keeps_the_old(void **state)
{
	_cleanup_map_ struct map *map = NULL;
	uint64_t *value;

	(void)state;
	assert_int_equal(map_new(&map, 8, 8, 100), 0);
	for (uint64_t key = 0; key < 100; key++)
		assert_int_equal(map_put(map, &key, (void **)&value), 1);
	assert_int_equal(map_put(map, &(uint64_t){100}, (void **)&value), -ENOSPC);
	assert_int_equal(map_put(map, &(uint64_t){99}, (void **)&value), 0);
	assert_true(map_del(map, &(uint64_t){5}));
	assert_int_equal(map_put(map, &(uint64_t){100}, (void **)&value), 1);
	assert_int_equal(map_count(map), 100);
}

static void odd_sizes_of_keys_and_values_are_kept_apart(void **state)
{
	_cleanup_map_ struct map *map = NULL;
	char(*value)[13];

	(void)state;
	assert_int_equal(map_new(&map, 5, 13, 1000), 0);
	for (int i = 0; i < 500; i++) {
		char key[6];

		snprintf(key, sizeof(key), "%05d", i);
		assert_int_equal(map_put(map, key, (void **)&value), 1);
		assert_int_equal((uintptr_t)value % 8, 0);
		memset(value, i, sizeof(*value));
	}
	for (int i = 0; i < 500; i++) {
		char key[6], expected[13];

		snprintf(key, sizeof(key), "%05d", i);
		memset(expected, i, sizeof(expected));
		value = map_get(map, key);
		assert_non_null(value);
		assert_memory_equal(value, expected, sizeof(expected));
	}
}

static void an_empty_map_has_nothing_to_find_delete_or_walk(void **state)
{
	_cleanup_map_ struct map *map = NULL;
	size_t pos = 0;
	const void *key;
	void *value;

	(void)state;
	assert_int_equal(map_new(&map, 4, 4, 0), 0);
	assert_null(map_get(map, "abcd"));
	assert_false(map_del(map, "abcd"));
	assert_false(map_next(map, &pos, &key, &value));
	assert_int_equal(map_put(map, "abcd", &value), -ENOSPC);
	map_free(NULL);
}

static void a_name_has_one_number_and_comes_back_as_it_was(void **state)
{
	struct intern *intern;
	const char *first = NULL;

	(void)state;
	assert_int_equal(intern_new(&intern, 10 << 20), 0);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20000; i++) {
			char name[64];
			int len = snprintf(name, sizeof(name), "name %d%.*s", i, i % 40,
					   "........................................");

			assert_int_equal(intern_add(intern, name, (size_t)len), i);
		}
		if (!first)
			first = intern_get(intern, 0, NULL);
	}
	size_t len;
	assert_string_equal(intern_get(intern, 19999, &len),
			    "name 19999.......................................");
	assert_int_equal(len, strlen("name 19999") + 19999 % 40);
	assert_ptr_equal(first, intern_get(intern, 0, NULL)); /* names never move */
	intern_free(intern);
}

static void names_may_be_empty_long_and_hold_any_byte(void **state)
{
	struct intern *intern;
	static char huge[100000];
	size_t len;

	(void)state;
	memset(huge, 'h', sizeof(huge));
	assert_int_equal(intern_new(&intern, 1 << 20), 0);
	assert_int_equal(intern_add(intern, "", 0), 0);
	assert_int_equal(intern_add(intern, "a\0b", 3), 1);
	assert_int_equal(intern_add(intern, "a\0c", 3), 2);
	assert_int_equal(intern_add(intern, "a", 1), 3);
	assert_int_equal(intern_add(intern, huge, sizeof(huge)), 4);
	assert_int_equal(intern_add(intern, "small", 5), 5);
	assert_memory_equal(intern_get(intern, 2, &len), "a\0c", 4);
	assert_int_equal(len, 3);
	assert_memory_equal(intern_get(intern, 4, &len), huge, sizeof(huge));
	assert_int_equal(intern_get(intern, 4, NULL)[len], '\0');
	assert_int_equal(intern_add(intern, "", 0), 0);
	intern_free(intern);
}

static void at_the_maximum_only_known_names_are_found(void **state)
{
	struct intern *intern;

	(void)state;
	assert_int_equal(intern_new(&intern, 12), 0);
	assert_int_equal(intern_add(intern, "01234", 5), 0);
	assert_int_equal(intern_add(intern, "56789a", 6), -ENOSPC);
	assert_int_equal(intern_add(intern, "56789", 5), 1); /* 12 bytes with their NULs */
	assert_int_equal(intern_add(intern, "", 0), -ENOSPC);
	assert_int_equal(intern_add(intern, "01234", 5), 0);
	assert_int_equal(intern_add(intern, "56789", 5), 1);
	assert_int_equal(intern_find(intern, "56789", 5), 1);
	assert_int_equal(intern_find(intern, "56789a", 6), -ENOENT);
	intern_free(intern);
	intern_free(NULL);
}

/* To look a name up adds none. */
static void a_name_is_found_or_it_is_not_there(void **state)
{
	struct intern *intern;

	(void)state;
	assert_int_equal(intern_new(&intern, 1 << 20), 0);
	assert_int_equal(intern_find(intern, "", 0), -ENOENT); /* of an empty table */
	assert_int_equal(intern_find(intern, "a", 1), -ENOENT);
	for (int i = 0; i < 1000; i++) {
		char name[16];
		int len = snprintf(name, sizeof(name), "%d", i);

		assert_int_equal(intern_find(intern, name, (size_t)len), -ENOENT);
		assert_int_equal(intern_count(intern), i);
		assert_int_equal(intern_add(intern, name, (size_t)len), i);
		assert_int_equal(intern_find(intern, name, (size_t)len), i);
		assert_int_equal(intern_find(intern, name, (size_t)len + 1), -ENOENT);
		assert_int_equal(intern_find(intern, "0", 1), 0);
	}
	assert_int_equal(intern_find(intern, "", 0), -ENOENT);
	assert_int_equal(intern_add(intern, "", 0), 1000);
	assert_int_equal(intern_find(intern, "", 0), 1000);
	intern_free(intern);
}

/* Values stay where they are while there is room: nothing is moved. */
static void what_was_reserved_needs_no_growth(void **state)
{
	uint32_t *values[KEYS];
	struct map *map;

	(void)state;
	assert_int_equal(map_new(&map, sizeof(uint32_t), sizeof(uint32_t), KEYS), 0);
	for (uint32_t i = 0; i < 5; i++)
		assert_int_equal(map_put(map, &i, (void **)&values[i]), 1);
	assert_int_equal(map_reserve(map, SIZE_MAX), 0); /* as many as it may have */
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(map_put(map, &i, (void **)&values[i]), i < 5 ? 0 : 1);
	for (uint32_t i = 0; i < KEYS; i++)
		assert_ptr_equal(map_get(map, &i), values[i]);
	map_free(map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_puts_and_deletes_agree_with_a_simple_model),
		cmocka_unit_test(a_full_map_refuses_new_keys_and_keeps_the_old),
		cmocka_unit_test(odd_sizes_of_keys_and_values_are_kept_apart),
		cmocka_unit_test(what_was_reserved_needs_no_growth),
		cmocka_unit_test(an_empty_map_has_nothing_to_find_delete_or_walk),
		cmocka_unit_test(a_name_has_one_number_and_comes_back_as_it_was),
		cmocka_unit_test(names_may_be_empty_long_and_hold_any_byte),
		cmocka_unit_test(at_the_maximum_only_known_names_are_found),
		cmocka_unit_test(a_name_is_found_or_it_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
