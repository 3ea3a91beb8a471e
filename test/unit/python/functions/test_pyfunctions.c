// SPDX-License-Identifier: GPL-2.0-or-later
/* Qualified names by function objects, in made-up memory: what counts, what doesn't, what is
 * damaged. */
#include "unit/python/functions/functions_maker.h"

#include "base/clock.h"
#include "python/functions/pydict.h"

#define FILE_NAME "/srv/shop.py"

/* ---- what counts ---- */

static void a_module_has_functions_with_their_names(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "find", FILE_NAME);
	uint64_t other = made_code(made, "other", FILE_NAME);

	(void)state;
	made_set_module(made, made_dict_of(made, "find", made_function(made, code, "find")));
	assert_called(made, code, "find");
	assert_not_called(made, other);
}

static void a_method_is_called_by_its_class(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);
	uint64_t inner = made_class(made, "make", made_function(made, code, "Orders.Item.make"));

	(void)state;
	made_set_module(made, made_dict_of(made, "Orders", made_class(made, "Item", inner)));
	assert_called(made, code, "Orders.Item.make");
}

static void a_type_of_c_has_none(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);
	uint64_t type = made_class(made, "make", made_function(made, code, "Orders.make"));

	(void)state;
	made_put(made, type + 168, 0);
	made_set_module(made, made_dict_of(made, "Orders", type));
	assert_not_called(made, code);
}

/* staticmethod, classmethod, property, partial; what functools makes has a dict. */
static void what_holds_a_function_is_looked_into(void **state)
{
	(void)state;
	for (uint64_t at = 16; at <= 40; at += 8) {
		_cleanup_made_ struct made *made = made_new();
		uint64_t code = made_code(made, "make", FILE_NAME);
		uint64_t function = made_function(made, code, "Orders.make");
		uint64_t holder = made_object(made, 64, made_type_at(MADE_HOLDER));

		if (at == 40)
			function = made_dict_of(made, "__wrapped__", function);
		made_put(made, holder + at, function);
		made_set_module(made, made_dict_of(made, "x", made_class(made, "make", holder)));
		assert_called(made, code, "Orders.make");
	}
}

static void a_decorated_function_is_found_behind_its_wrapper(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);
	uint64_t wrapper_code = made_code(made, "wrapper", FILE_NAME);
	uint64_t function = made_function(made, code, "Orders.make");
	uint64_t wrapper = made_function(made, wrapper_code, "Orders.make");
	uint64_t cell = made_object(made, 24, made_type_at(MADE_PLAIN));

	(void)state;
	made_put(made, cell + 16, function);
	made_put(made, wrapper + 72, made_tuple(made, &cell, 1));
	made_set_module(made, made_dict_of(made, "Orders", made_class(made, "make", wrapper)));
	assert_called(made, code, "Orders.make");
	assert_not_called(made, wrapper_code);
}

static void code_inside_code_has_the_name_of_the_compiler(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t outer = made_code(made, "make", "<string>");
	uint64_t inner = made_code(made, "<listcomp>", "<string>");
	uint64_t consts[] = {made_str(made, "text"), inner,
			     made_str(made, "Orders.make.<locals>.<listcomp>")};

	(void)state;
	made_set_consts(made, outer, consts, 3);
	made_set_module(made, made_dict_of(made, "x", made_function(made, outer, "anything")));
	assert_called(made, inner, "Orders.make.<locals>.<listcomp>");
	assert_not_called(made, outer);
}

static void the_compilers_name_counts_more_than_a_functions(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t outer = made_code(made, "namedtuple", FILE_NAME);
	uint64_t inner = made_code(made, "_asdict", FILE_NAME);
	uint64_t consts[] = {inner, made_str(made, "namedtuple.<locals>._asdict")};
	const char *const keys[] = {"namedtuple", "a", "b"};
	uint64_t values[] = {made_function(made, outer, "namedtuple"),
			     made_function(made, inner, "Point._asdict"),
			     made_function(made, inner, "Pair._asdict")};

	(void)state;
	made_set_consts(made, outer, consts, 2);
	made_set_module(made, made_dict(made, keys, values, 3, 8, false));
	assert_called(made, inner, "namedtuple.<locals>._asdict");
}

static void modules_and_instances_have_dicts_of_all_sizes(void **state)
{
	static const struct {
		size_t count;
		uint64_t size;
		bool split;
	} sizes[] = {{1, 8, false},    {5, 8, true},	    {10, 16, false},	{170, 256, false},
		     {300, 512, true}, {2000, 4096, false}, {100, 65536, false}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_made_ struct made *made = made_new();
		uint64_t code = made_code(made, "make", FILE_NAME), values[2000];
		const char *keys[2000];

		for (size_t k = 0; k < sizes[i].count; k++) {
			keys[k] = "name";
			values[k] = 0; /* it was deleted */
		}
		values[sizes[i].count - 1] = made_function(made, code, "make");
		made_set_module(made, made_dict(made, keys, values, sizes[i].count, sizes[i].size,
						sizes[i].split));
		assert_called(made, code, "make");
	}
}

/* ---- what doesn't ---- */

static void another_name_is_not_taken(void **state)
{
	static const char *const names[] = {
		"Orders.find", "Orders.remake", "remake", "make.find", "", "make.", "Orders make"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_made_ struct made *made = made_new();
		uint64_t code = made_code(made, "make", FILE_NAME);

		made_set_module(made, made_dict_of(made, "x", made_function(made, code, names[i])));
		assert_not_called(made, code);
	}
}

static void functions_that_disagree_are_not_taken(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);
	const char *const keys[] = {"a", "b", "c"};
	uint64_t values[] = {made_function(made, code, "Orders.make"),
			     made_function(made, code, "Orders.make"),
			     made_function(made, code, "Parts.make")};

	(void)state;
	made_set_module(made, made_dict(made, keys, values, 2, 8, false));
	assert_called(made, code, "Orders.make");
	made_set_module(made, made_dict(made, keys, values, 3, 8, false));
	assert_not_called(made, code);
}

static void a_wrapper_of_the_same_name_is_not_taken(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);
	uint64_t function = made_function(made, code, "Orders.make");

	(void)state;
	made_put(made, function + 88, made_dict_of(made, "other", 0x1000));
	made_set_module(made, made_dict_of(made, "x", function));
	assert_called(made, code, "Orders.make");
	made_put(made, function + 88, made_dict_of(made, "__wrapped__", 0x1000));
	assert_not_called(made, code);
}

static void code_of_a_text_is_not_named_by_a_function(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "__init__", "<string>");

	(void)state;
	made_set_module(made, made_dict_of(made, "x", made_function(made, code, "P.__init__")));
	assert_not_called(made, code);
}

static void constants_that_happen_to_follow_are_not_taken(void **state)
{
	static const char *const names[] = {"inner",
					    "text",
					    "x.inner",
					    "another.<locals>.inner",
					    "outer.inner.<locals>",
					    "router.<locals>.inner"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_made_ struct made *made = made_new();
		uint64_t outer = made_code(made, "outer", FILE_NAME);
		uint64_t inner = made_code(made, "inner", FILE_NAME);
		uint64_t consts[] = {inner, made_str(made, names[i])};

		made_set_consts(made, outer, consts, 2);
		made_set_module(made, made_dict_of(made, "x", made_function(made, outer, "outer")));
		assert_not_called(made, inner);
	}
}

static void a_module_without_the_type_of_functions_tells_nothing(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint64_t code = made_code(made, "make", FILE_NAME);

	(void)state;
	made_set_module(made, made_dict_of(made, "x", made_function(made, code, "Orders.make")));
	made->layout.function_type = 0;
	assert_false(python_has_functions(&made->layout));
	made->layout.function_type = MADE_AT;
	assert_not_called(made, code);
}

/* ---- what changes meanwhile ---- */

static uint64_t changed_function, changed_code;

static void free_it(struct made *made, unsigned int reads)
{
	if (reads == made->change_at)
		made_put(made, changed_function, 0);
}

static void give_it_other_code(struct made *made, unsigned int reads)
{
	if (reads == made->change_at)
		made_put(made, changed_function + 48, changed_function);
}

static void put_other_code_there(struct made *made, unsigned int reads)
{
	if (reads == made->change_at)
		made_put(made, changed_code + 64, 0x5555);
}

static void rename_it(struct made *made, unsigned int reads)
{
	if (reads == made->change_at)
		made_put(made, changed_function + 40, made_get(made, changed_code + 112));
}

/* At any moment: the name is the right one, or there is none. */
static void a_function_that_goes_meanwhile_is_not_taken(void **state)
{
	void (*const changes[])(struct made *, unsigned int) = {free_it, give_it_other_code,
								put_other_code_there, rename_it};
	unsigned int refused = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_made_ struct made *made = made_new();
		uint64_t code = changed_code = made_code(made, "make", FILE_NAME);
		uint64_t function = changed_function = made_function(made, code, "Orders.make");
		uint8_t *before = malloc(MADE_BYTES);

		assert_non_null(before);
		made_set_module(made, made_dict_of(made, "x", function));
		memcpy(before, made->data, MADE_BYTES);
		assert_called(made, code, "Orders.make");
		unsigned int reads = made->reads;

		made->change = changes[i];
		for (made->change_at = 3; made->change_at < reads; made->change_at++) {
			memcpy(made->data, before, MADE_BYTES);
			_cleanup_free_ char *name = made_search(made, code);

			refused += !name;
			if (name && changes[i] != rename_it)
				assert_string_equal(name, "Orders.make");
			else if (name)
				assert_true(strcmp(name, "Orders.make") == 0 ||
					    strcmp(name, "make") == 0);
		}
		free(before);
	}
	assert_true(refused > 4);
}

/* ---- what is damaged ---- */

static uint64_t make_shop(struct made *made)
{
	uint64_t code = made_code(made, "make", FILE_NAME);
	uint64_t inner = made_code(made, "inner", FILE_NAME);
	uint64_t consts[] = {inner, made_str(made, "Orders.make.<locals>.inner")};
	uint64_t function = made_function(made, code, "Orders.make"), cell;
	const char *const keys[] = {"Orders", "make", "other"};

	made_set_consts(made, code, consts, 2);
	cell = made_object(made, 24, made_type_at(MADE_PLAIN));
	made_put(made, cell + 16, function);
	made_put(made, function + 72, made_tuple(made, &cell, 1));
	made_put(made, function + 88, made_dict_of(made, "attribute", cell));
	uint64_t values[] = {made_class(made, "make", function), function, cell};

	made_set_module(made, made_dict(made, keys, values, 3, 8, true));
	return code;
}

/* An address of the memory, a small or a large number. */
static uint64_t any_word(const struct made *made, uint64_t *seed)
{
	uint64_t random = random_next(seed);

	switch (random % 4) {
	case 0:
		return MADE_AT + random / 4 % made->used / 8 * 8;
	case 1:
		return random / 4 % 300;
	case 2:
		return 1ULL << (random / 4 % 64);
	default:
		return random;
	}
}

static void damaged_memory_does_no_harm(void **state)
{
	_cleanup_made_ struct made *made = made_new();
	uint8_t *good = malloc(MADE_BYTES);
	uint64_t code = make_shop(made), seed = 7, found = 0;

	(void)state;
	assert_non_null(good);
	memcpy(good, made->data, MADE_BYTES);
	for (int round = 0; round < 3000; round++) {
		memcpy(made->data, good, made->used);
		for (uint64_t i = 0; i <= random_next(&seed) % 4; i++)
			made_put(made, MADE_AT + random_next(&seed) % made->used / 8 * 8,
				 any_word(made, &seed));
		struct process_memory memory = {.read = made_read, .arg = made};
		struct pyfunction_sought sought = {code, code_sum_of(&made->layout, &memory, code),
						   NULL, NULL};
		struct pyfunctions_result result;

		pyfunctions_search(&sought, 1, &made->layout, &memory, &result);
		assert_true(result.bytes <= PYFUNCTIONS_BYTES_MAX + 4096);
		found += sought.found != NULL;
		pycode_unref(sought.found);
	}
	assert_true(found > 100);
	free(good);
}

/* Whatever is read is this word: each pointer leads on, each count is large. */
static int endless_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	uint64_t word = *(const uint64_t *)arg;

	if (word == 1) /* each word is the address behind it */
		for (size_t at = 0; at + 8 <= bytes; at += 8) {
			word = (address + at) / 8 * 8 + 65536;
			memcpy((uint8_t *)to + at, &word, 8);
		}
	else
		for (size_t at = 0; at < bytes; at++)
			((uint8_t *)to)[at] = (uint8_t)(word >> (address + at) % 8 * 8);
	return 0;
}

static void endless_memory_is_given_up(void **state)
{
	uint64_t words[] = {1, 0x10000, 0x4000000000, 0x800000008000, UINT64_MAX, 8, 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		struct process_memory memory = {.read = endless_read, .arg = &words[i]};
		struct pyfunction_sought sought[2] = {{.address = 0x1000}, {.address = 0x2000}};
		uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		struct pyfunctions_result result;
		struct python_layout layout;

		assert_int_equal(
			python_layout_of(0x030800f0 + (uint32_t)(i % 3 << 16), NULL, 0, &layout),
			0);
		layout.walk.runtime = 0x7000;
		layout.walk.code_type = words[i];
		layout.function_type = i % 2 ? words[i] : 0x10000;
		pyfunctions_search(sought, 2, &layout, &memory, &result);
		pycode_unref(sought[0].found);
		pycode_unref(sought[1].found);
		assert_true(clock_ns(CLOCK_THREAD_CPUTIME_ID) - before < 5 * NS_PER_S);
	}
}

static int gone(void *arg, uint64_t address, void *to, size_t bytes)
{
	(void)arg, (void)address, (void)to, (void)bytes;
	return -ESRCH;
}

static void a_process_that_is_gone_is_said(void **state)
{
	struct process_memory memory = {.read = gone};
	struct pyfunction_sought sought = {.address = 0x1000};
	struct pyfunctions_result result;
	struct python_layout layout;

	(void)state;
	assert_int_equal(python_layout_of(0x030800f0, NULL, 0, &layout), 0);
	assert_int_equal(pyfunctions_search(&sought, 1, &layout, &memory, &result), -ESRCH);
	assert_int_equal(pyfunctions_search(&sought, 0, &layout, &memory, &result), 0);
}

/* ---- dicts ---- */

static int count_entry(void *arg, uint64_t key, uint64_t value)
{
	(void)key, (void)value;
	return ++*(int *)arg == 3 ? -ECANCELED : 0;
}

static void a_dict_that_makes_no_sense_is_refused(void **state)
{
	static const uint64_t sizes[] = {0, 3, 7, 9, 1ULL << 41, 1ULL << 63, UINT64_MAX};
	_cleanup_made_ struct made *made = made_new();
	struct process_memory memory = {.read = made_read, .arg = made};
	const char *const keys[] = {"a", "b", "c", "d"};
	uint64_t values[] = {8, 16, 24, 32};
	uint64_t dict = made_dict(made, keys, values, 4, 8, false);
	uint64_t table = made_get(made, dict + 32);
	int count = 0;

	(void)state;
	assert_int_equal(pydict_each(&made->layout, &memory, dict, count_entry, &count),
			 -ECANCELED);
	assert_int_equal(count, 3);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		made_put(made, table + 8, sizes[i]);
		assert_int_equal(pydict_each(&made->layout, &memory, dict, count_entry, &count),
				 -EBADMSG);
	}
	made_put(made, table + 8, 8);
	made_put(made, table + 32, 7); /* more than fit */
	assert_int_equal(pydict_each(&made->layout, &memory, dict, count_entry, &count), -EBADMSG);
	made_put(made, dict + 32, 0x1000);
	assert_int_equal(pydict_each(&made->layout, &memory, dict, count_entry, &count), -EFAULT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_has_functions_with_their_names),
		cmocka_unit_test(a_method_is_called_by_its_class),
		cmocka_unit_test(a_type_of_c_has_none),
		cmocka_unit_test(what_holds_a_function_is_looked_into),
		cmocka_unit_test(a_decorated_function_is_found_behind_its_wrapper),
		cmocka_unit_test(code_inside_code_has_the_name_of_the_compiler),
		cmocka_unit_test(the_compilers_name_counts_more_than_a_functions),
		cmocka_unit_test(modules_and_instances_have_dicts_of_all_sizes),
		cmocka_unit_test(another_name_is_not_taken),
		cmocka_unit_test(functions_that_disagree_are_not_taken),
		cmocka_unit_test(a_wrapper_of_the_same_name_is_not_taken),
		cmocka_unit_test(code_of_a_text_is_not_named_by_a_function),
		cmocka_unit_test(constants_that_happen_to_follow_are_not_taken),
		cmocka_unit_test(a_module_without_the_type_of_functions_tells_nothing),
		cmocka_unit_test(a_function_that_goes_meanwhile_is_not_taken),
		cmocka_unit_test(damaged_memory_does_no_harm),
		cmocka_unit_test(endless_memory_is_given_up),
		cmocka_unit_test(a_process_that_is_gone_is_said),
		cmocka_unit_test(a_dict_that_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
