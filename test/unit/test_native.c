// SPDX-License-Identifier: GPL-2.0-only
#include "elf_maker.h"

#include "symbol/native.h"

static struct native_table *load(const struct elf_plan *plan)
{
	struct native_table *table = NULL;
	_cleanup_close_ int fd = elf_file(plan);

	assert_int_equal(native_table_load(&table, fd, -1), 0);
	return table;
}

/* `start` counts from the start of the code; name NULL: a function without a name. */
static void assert_found(const struct native_table *table, uint32_t at, const char *name,
			 uint32_t start)
{
	struct native_function function;

	assert_int_equal(native_table_find(table, CODE_OFFSET + at, &function), 0);
	if (name && !function.name)
		fail_msg("0x%x: no name, not %s", at, name);
	if (name)
		assert_string_equal(function.name, name);
	else if (function.name)
		fail_msg("0x%x: named %s", at, function.name);
	assert_int_equal(function.address, CODE_ADDRESS + start);
}

static void free_table(struct native_table **table)
{
	native_table_free(*table);
}
#define _cleanup_table_ _cleanup_(free_table)

static void a_function_is_found_from_its_first_to_its_last_byte(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("b", 0x40, 0x10), FUNCTION("a", 0x10, 0x20), FUNCTION("c", 0x50, 0x10)};

	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct elf_plan plan = {.narrow = narrow, .symbols = symbols, .symbols_count = 3};
		_cleanup_table_ struct native_table *table = load(&plan);

		assert_found(table, 0x10, "a", 0x10);
		assert_found(table, 0x2f, "a", 0x10);
		assert_found(table, 0x40, "b", 0x40);
		assert_found(table, 0x4f, "b", 0x40);
		assert_found(table, 0x50, "c", 0x50);
		assert_true(native_table_bytes(table) > 3 * 12);
	}
}

static void the_gap_between_functions_is_one_unnamed_function(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x20),
						     FUNCTION("b", 0x100, 0x10)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 2};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0, NULL, 0);
	assert_found(table, 0xf, NULL, 0);
	assert_found(table, 0x30, NULL, 0x30);
	assert_found(table, 0xff, NULL, 0x30);
	assert_found(table, 0x110, NULL, 0x110);
	assert_found(table, CODE_BYTES - 1, NULL, 0x110);
}

static void what_lies_in_no_executable_segment_is_not_there(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0, CODE_BYTES * 2)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 1};
	_cleanup_table_ struct native_table *table = load(&plan);
	struct native_function function = {.name = "as before", .address = 7};

	(void)state;
	assert_found(table, CODE_BYTES - 1, "a", 0);
	assert_int_equal(native_table_find(table, 0, &function), -ENOENT);
	assert_int_equal(native_table_find(table, CODE_OFFSET - 1, &function), -ENOENT);
	assert_int_equal(native_table_find(table, CODE_OFFSET + CODE_BYTES, &function), -ENOENT);
	assert_int_equal(native_table_find(table, UINT64_MAX, &function), -ENOENT);
	assert_string_equal(function.name, "as before");
}

static void of_several_names_the_better_one_is_shown(void **state)
{
	static const struct symbol_plan symbols[] = {
		{"untyped", 0x00, 0x10, STT_NOTYPE, STB_GLOBAL, false},
		{"local_function", 0x00, 0x10, STT_FUNC, STB_LOCAL, false},
		{"without_size", 0x20, 0, STT_FUNC, STB_GLOBAL, false},
		{"local_with_size", 0x20, 0x10, STT_NOTYPE, STB_LOCAL, false},
		{"local", 0x40, 0x10, STT_FUNC, STB_LOCAL, false},
		{"weak", 0x40, 0x10, STT_FUNC, STB_WEAK, false},
		{"weak2", 0x60, 0x10, STT_FUNC, STB_WEAK, false},
		{"global2", 0x60, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"__two", 0x80, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"_one", 0x80, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"none", 0x80, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"first", 0xa0, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"second", 0xa0, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"resolver", 0xc0, 0x10, STT_GNU_IFUNC, STB_GLOBAL, false},
	};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = ARRAY_SIZE(symbols)};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x05, "local_function", 0);
	assert_found(table, 0x25, "local_with_size", 0x20);
	assert_found(table, 0x45, "weak", 0x40);
	assert_found(table, 0x65, "global2", 0x60);
	assert_found(table, 0x85, "none", 0x80);
	assert_found(table, 0xa5, "first", 0xa0);
	assert_found(table, 0xc5, "resolver", 0xc0);
}

static void data_undefined_and_compilers_symbols_name_no_code(void **state)
{
	static const struct symbol_plan symbols[] = {
		{"object", 0x00, 0x10, STT_OBJECT, STB_GLOBAL, false},
		{"section", 0x00, 0x10, STT_SECTION, STB_LOCAL, false},
		{"file.c", 0x00, 0x10, STT_FILE, STB_LOCAL, false},
		{"thread", 0x00, 0x10, STT_TLS, STB_GLOBAL, false},
		{"elsewhere", 0x00, 0x10, STT_FUNC, STB_GLOBAL, true},
		{"$x", 0x00, 0x10, STT_NOTYPE, STB_LOCAL, false},
		{".L4", 0x00, 0, STT_NOTYPE, STB_LOCAL, false},
		{"", 0x00, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"beyond", CODE_BYTES, 0x10, STT_FUNC, STB_GLOBAL, false},
		{"below", UINT32_MAX - 0xff, 0x100, STT_FUNC, STB_GLOBAL, false},
	};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = ARRAY_SIZE(symbols)};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x08, NULL, 0);
	assert_found(table, CODE_BYTES - 1, NULL, 0);
}

static void a_function_without_size_reaches_to_the_next(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("start", 0x10, 0),
						     FUNCTION("next", 0x40, 0x10),
						     FUNCTION("last", 0x100, 0)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 3};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x3f, "start", 0x10);
	assert_found(table, 0x4f, "next", 0x40);
	assert_found(table, 0x50, NULL, 0x50);
	assert_found(table, CODE_BYTES - 1, "last", 0x100);
}

static void a_label_inside_a_function_is_part_of_it(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("function", 0x10, 0x40),
		FUNCTION("label", 0x20, 0),
		{"local_label", 0x30, 0, STT_NOTYPE, STB_LOCAL, false}};
	static const uint32_t starts[] = {0x10, 0x28};
	struct elf_plan plan = {
		.symbols = symbols, .symbols_count = 3, .unwind = starts, .unwind_count = 2};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x1f, "function", 0x10);
	assert_found(table, 0x25, "function", 0x10);
	assert_found(table, 0x2f, "function", 0x10);
	assert_found(table, 0x4f, "function", 0x10);
}

static void a_nested_function_is_found_and_so_is_what_follows_it(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("outer", 0x10, 0x100), FUNCTION("inner", 0x20, 0x20),
		FUNCTION("innermost", 0x30, 0x08), FUNCTION("second", 0x80, 0x10)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 4};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x1f, "outer", 0x10);
	assert_found(table, 0x20, "inner", 0x20);
	assert_found(table, 0x37, "innermost", 0x30);
	assert_found(table, 0x38, "inner", 0x20);
	assert_found(table, 0x40, "outer", 0x10);
	assert_found(table, 0x85, "second", 0x80);
	assert_found(table, 0x10f, "outer", 0x10);
	assert_found(table, 0x110, NULL, 0x110);
}

static void of_overlapping_functions_the_later_start_counts(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x40),
						     FUNCTION("b", 0x30, 0x40)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 2};
	_cleanup_table_ struct native_table *table = load(&plan);

	(void)state;
	assert_found(table, 0x2f, "a", 0x10);
	assert_found(table, 0x30, "b", 0x30);
	assert_found(table, 0x6f, "b", 0x30);
	assert_found(table, 0x70, NULL, 0x70);
}

static void a_stripped_file_has_the_starts_of_its_unwind_table(void **state)
{
	static const struct symbol_plan exported[] = {FUNCTION("exported", 0x40, 0x20)};
	static const uint32_t starts[] = {0x10, 0x40, 0x80, 0x90};
	struct elf_plan plan = {
		.dynamic = exported, .dynamic_count = 1, .unwind = starts, .unwind_count = 4};

	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		plan.narrow = narrow;
		_cleanup_table_ struct native_table *table = load(&plan);
		assert_found(table, 0x00, NULL, 0);
		assert_found(table, 0x3f, NULL, 0x10);
		assert_found(table, 0x45, "exported", 0x40);
		assert_found(table, 0x61, NULL, 0x60);
		assert_found(table, 0x8f, NULL, 0x80);
		assert_found(table, 0x300, NULL, 0x90);
	}
}

static void the_debug_file_adds_its_names(void **state)
{
	static const struct symbol_plan full[] = {FUNCTION("hidden", 0x10, 0x20),
						  FUNCTION("shown", 0x40, 0x20)};
	struct elf_plan stripped = {.dynamic = full + 1, .dynamic_count = 1};
	struct elf_plan debug = {.symbols = full, .symbols_count = 2, .no_code = true};
	_cleanup_close_ int fd = elf_file(&stripped), debug_fd = elf_file(&debug);
	_cleanup_close_ int broken = file_of("not an ELF file", 15);
	_cleanup_table_ struct native_table *table = NULL, *without = NULL;

	(void)state;
	assert_int_equal(native_table_load(&table, fd, debug_fd), 0);
	assert_found(table, 0x15, "hidden", 0x10);
	assert_found(table, 0x45, "shown", 0x40);
	assert_int_equal(native_table_load(&without, fd, broken), 0);
	assert_found(without, 0x15, NULL, 0);
	assert_found(without, 0x45, "shown", 0x40);
}

static void broken_files_give_an_error_and_no_table(void **state)
{
	struct native_table *table = (struct native_table *)&table;
	_cleanup_close_ int text = file_of("#!/bin/sh\n", 10);

	(void)state;
	assert_int_equal(native_table_load(&table, text, -1), -ENOEXEC);
	assert_int_equal(native_table_load(&table, -1, -1), -EBADF);
	assert_ptr_equal(table, &table);
	native_table_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_from_its_first_to_its_last_byte),
		cmocka_unit_test(the_gap_between_functions_is_one_unnamed_function),
		cmocka_unit_test(what_lies_in_no_executable_segment_is_not_there),
		cmocka_unit_test(of_several_names_the_better_one_is_shown),
		cmocka_unit_test(data_undefined_and_compilers_symbols_name_no_code),
		cmocka_unit_test(a_function_without_size_reaches_to_the_next),
		cmocka_unit_test(a_label_inside_a_function_is_part_of_it),
		cmocka_unit_test(a_nested_function_is_found_and_so_is_what_follows_it),
		cmocka_unit_test(of_overlapping_functions_the_later_start_counts),
		cmocka_unit_test(a_stripped_file_has_the_starts_of_its_unwind_table),
		cmocka_unit_test(the_debug_file_adds_its_names),
		cmocka_unit_test(broken_files_give_an_error_and_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
