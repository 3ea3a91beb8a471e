// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"

#include "unit/symbol/look_up.h"

static struct program load(const struct elf_plan *plan)
{
	return (struct program){.fd = elf_file(plan), .debug_fd = -1};
}

/* `start` counts from the start of the code; name NULL: a function without a name. */
static void assert_found(const struct program *program, uint32_t at, const char *name,
			 uint32_t start)
{
	struct looked_up found;

	assert_int_equal(look_up(program, CODE_OFFSET + at, &found), 0);
	if (name && !found.name[0])
		fail_msg("0x%x: no name, not %s", at, name);
	assert_string_equal(found.name, name ? name : "");
	assert_int_equal(found.address, CODE_ADDRESS + start);
}

static void a_function_is_found_from_its_first_to_its_last_byte(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("b", 0x40, 0x10), FUNCTION("a", 0x10, 0x20), FUNCTION("c", 0x50, 0x10)};

	(void)state;
	for (int narrow = 0; narrow < 2; narrow++) {
		struct elf_plan plan = {.narrow = narrow, .symbols = symbols, .symbols_count = 3};
		_cleanup_program_ struct program program = load(&plan);

		assert_found(&program, 0x10, "a", 0x10);
		assert_found(&program, 0x2f, "a", 0x10);
		assert_found(&program, 0x40, "b", 0x40);
		assert_found(&program, 0x4f, "b", 0x40);
		assert_found(&program, 0x50, "c", 0x50);
	}
}

static void the_gap_between_functions_is_one_unnamed_function(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x20),
						     FUNCTION("b", 0x100, 0x10)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 2};
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0, NULL, 0);
	assert_found(&program, 0xf, NULL, 0);
	assert_found(&program, 0x30, NULL, 0x30);
	assert_found(&program, 0xff, NULL, 0x30);
	assert_found(&program, 0x110, NULL, 0x110);
	assert_found(&program, CODE_BYTES - 1, NULL, 0x110);
}

static void what_lies_in_no_executable_segment_is_not_there(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0, CODE_BYTES * 2)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 1};
	_cleanup_program_ struct program program = load(&plan);
	struct looked_up found;

	(void)state;
	assert_found(&program, CODE_BYTES - 1, "a", 0);
	assert_int_equal(look_up(&program, 0, &found), -ENOENT);
	assert_int_equal(look_up(&program, CODE_OFFSET - 1, &found), -ENOENT);
	assert_int_equal(look_up(&program, CODE_OFFSET + CODE_BYTES, &found), -ENOENT);
	assert_int_equal(look_up(&program, UINT64_MAX, &found), -ENOENT);
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
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x05, "local_function", 0);
	assert_found(&program, 0x25, "local_with_size", 0x20);
	assert_found(&program, 0x45, "weak", 0x40);
	assert_found(&program, 0x65, "global2", 0x60);
	assert_found(&program, 0x85, "none", 0x80);
	assert_found(&program, 0xa5, "first", 0xa0);
	assert_found(&program, 0xc5, "resolver", 0xc0);
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
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x08, NULL, 0);
	assert_found(&program, CODE_BYTES - 1, NULL, 0);
}

static void a_function_without_size_reaches_to_the_next(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("start", 0x10, 0),
						     FUNCTION("next", 0x40, 0x10),
						     FUNCTION("last", 0x100, 0)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 3};
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x3f, "start", 0x10);
	assert_found(&program, 0x4f, "next", 0x40);
	assert_found(&program, 0x50, NULL, 0x50);
	assert_found(&program, CODE_BYTES - 1, "last", 0x100);
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
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x1f, "function", 0x10);
	assert_found(&program, 0x25, "function", 0x10);
	assert_found(&program, 0x2f, "function", 0x10);
	assert_found(&program, 0x4f, "function", 0x10);
}

static void a_nested_function_is_found_and_so_is_what_follows_it(void **state)
{
	static const struct symbol_plan symbols[] = {
		FUNCTION("outer", 0x10, 0x100), FUNCTION("inner", 0x20, 0x20),
		FUNCTION("innermost", 0x30, 0x08), FUNCTION("second", 0x80, 0x10)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 4};
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x1f, "outer", 0x10);
	assert_found(&program, 0x20, "inner", 0x20);
	assert_found(&program, 0x37, "innermost", 0x30);
	assert_found(&program, 0x38, "inner", 0x20);
	assert_found(&program, 0x40, "outer", 0x10);
	assert_found(&program, 0x85, "second", 0x80);
	assert_found(&program, 0x10f, "outer", 0x10);
	assert_found(&program, 0x110, NULL, 0x110);
}

static void of_overlapping_functions_the_later_start_counts(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x40),
						     FUNCTION("b", 0x30, 0x40)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 2};
	_cleanup_program_ struct program program = load(&plan);

	(void)state;
	assert_found(&program, 0x2f, "a", 0x10);
	assert_found(&program, 0x30, "b", 0x30);
	assert_found(&program, 0x6f, "b", 0x30);
	assert_found(&program, 0x70, NULL, 0x70);
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
		_cleanup_program_ struct program program = load(&plan);
		assert_found(&program, 0x00, NULL, 0);
		assert_found(&program, 0x3f, NULL, 0x10);
		assert_found(&program, 0x45, "exported", 0x40);
		assert_found(&program, 0x61, NULL, 0x60);
		assert_found(&program, 0x8f, NULL, 0x80);
		assert_found(&program, 0x300, NULL, 0x90);
	}
}

static void the_debug_file_adds_its_names(void **state)
{
	static const struct symbol_plan full[] = {FUNCTION("hidden", 0x10, 0x20),
						  FUNCTION("shown", 0x40, 0x20)};
	struct elf_plan stripped = {.dynamic = full + 1, .dynamic_count = 1};
	struct elf_plan debug = {.symbols = full, .symbols_count = 2, .no_code = true};
	_cleanup_program_ struct program both = {elf_file(&stripped), elf_file(&debug)};
	_cleanup_program_ struct program one = {elf_file(&stripped), file_of("not ELF", 7)};

	(void)state;
	assert_found(&both, 0x15, "hidden", 0x10);
	assert_found(&both, 0x45, "shown", 0x40);
	assert_found(&one, 0x15, NULL, 0);
	assert_found(&one, 0x45, "shown", 0x40);
}

#define LAID_AT	    (1u << 30) /* symbols and names in a sparse file */
#define NAMES_BYTES (1u << 30)

/* With so many symbols at one address, whose names lie far from each other. */
static struct program load_crowd(unsigned symbols)
{
	static const struct symbol_plan one[] = {FUNCTION("a", 0, 0x10)};
	static struct elf_maker maker;
	size_t len = elf_make(&maker, &(struct elf_plan){.symbols = one, .symbols_count = 1});
	Elf64_Sym symbol = {.st_info = STT_FUNC, .st_shndx = 1, .st_value = CODE_ADDRESS};
	struct program program = {.debug_fd = -1};
	Elf64_Ehdr header;

	memcpy(&header, maker.image, sizeof(header));
	for (unsigned i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		unsigned char *at = maker.image + header.e_shoff + i * sizeof(section);

		memcpy(&section, at, sizeof(section));
		if (section.sh_type == SHT_SYMTAB) {
			section.sh_offset = LAID_AT + NAMES_BYTES;
			section.sh_size = symbols * sizeof(symbol);
		} else if (section.sh_type == SHT_STRTAB && i != header.e_shstrndx) {
			section.sh_offset = LAID_AT;
			section.sh_size = NAMES_BYTES;
		}
		memcpy(at, &section, sizeof(section));
	}
	program.fd = file_of(maker.image, len);
	FILE *file = fdopen(dup(program.fd), "r+");
	assert_non_null(file);
	assert_int_equal(fseeko(file, LAID_AT + (off_t)NAMES_BYTES, SEEK_SET), 0);
	for (unsigned i = 0; i < symbols; i++) {
		symbol.st_name = 1 + i * 8192u % (NAMES_BYTES - 1);
		fwrite(&symbol, sizeof(symbol), 1, file);
	}
	assert_int_equal(fclose(file), 0);
	return program;
}

static void symbols_that_are_laid_out_to_take_long_are_too_many(void **state)
{
	_cleanup_program_ struct program few = load_crowd(1 << 20), many = load_crowd(1100000);
	struct looked_up found;

	(void)state;
	assert_int_equal(look_up(&few, CODE_OFFSET, &found), 0);
	assert_int_equal(look_up(&many, CODE_OFFSET, &found), -EFBIG);
}

static void broken_files_give_an_error(void **state)
{
	_cleanup_program_ struct program text = {file_of("#!/bin/sh\n", 10), -1};
	struct program none = {-1, -1};
	struct looked_up found;

	(void)state;
	assert_int_equal(look_up(&text, 0, &found), -ENOEXEC);
	assert_int_equal(look_up(&none, 0, &found), -EBADF);
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
		cmocka_unit_test(symbols_that_are_laid_out_to_take_long_are_too_many),
		cmocka_unit_test(broken_files_give_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
