// SPDX-License-Identifier: GPL-2.0-or-later
/* Names end where functions end: by what calls code or takes its address. */
#include "unit/proc/elf_maker.h"

#include "unit/symbol/look_up.h"

#define RET  0xc3
#define TRAP 0xcc

static uint8_t code[CODE_BYTES];

static void put_distance(uint32_t at, uint32_t next, uint32_t to)
{
	uint32_t distance = to - next;

	memcpy(code + at, &distance, sizeof(distance));
}

static void put_call(uint32_t at, uint32_t to)
{
	code[at] = 0xe8;
	put_distance(at + 1, at + 5, to);
}

static void put_jump(uint32_t at, uint32_t to)
{
	code[at] = 0xe9;
	put_distance(at + 1, at + 5, to);
}

/* lea rdi, [rip + …] */
static void put_lea(uint32_t at, uint32_t to)
{
	memcpy(code + at, (const uint8_t[]){0x48, 0x8d, 0x3d}, 3);
	put_distance(at + 3, at + 7, to);
}

/* mov edi, address */
static void put_number(uint32_t at, uint32_t to)
{
	uint32_t address = CODE_ADDRESS + to;

	code[at] = 0xbf;
	memcpy(code + at + 1, &address, sizeof(address));
}

/* An instruction that is nothing of all this. */
static int clear_code(void **state)
{
	(void)state;
	memset(code, 0x58, sizeof(code));
	return 0;
}

static void assert_names(const struct elf_plan *plan, uint32_t at, const char *name, uint32_t start)
{
	_cleanup_program_ struct program program = {.fd = elf_file(plan), .debug_fd = -1};
	struct looked_up found;

	assert_int_equal(look_up(&program, CODE_OFFSET + at, &found), 0);
	assert_string_equal(found.name, name);
	assert_int_equal(found.address, CODE_ADDRESS + start);
}

static void a_label_without_a_size_ends_where_a_call_leads(void **state)
{
	static const struct symbol_plan symbols[] = {
		{"label", 0x10, 0, STT_NOTYPE, STB_GLOBAL, false}};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 1, .code = code};

	(void)state;
	put_call(0x20, 0x100);
	assert_names(&plan, 0x80, "label", 0x10);
	assert_names(&plan, 0xff, "label", 0x10);
	assert_names(&plan, 0x100, "", 0x100);
	assert_names(&plan, 0x3ff, "", 0x100);
}

static void code_without_symbols_begins_where_it_is_called_or_its_address_is_taken(void **state)
{
	struct elf_plan plan = {.code = code};

	(void)state;
	put_call(0x20, 0x100);
	put_lea(0x30, 0x140);
	put_number(0x40, 0x180);
	assert_names(&plan, 0xff, "", 0);
	assert_names(&plan, 0x13f, "", 0x100);
	assert_names(&plan, 0x17f, "", 0x140);
	assert_names(&plan, 0x200, "", 0x180);
}

static void an_answer_ends_where_the_next_function_begins(void **state)
{
	struct elf_plan plan = {.code = code};
	_cleanup_program_ struct program program = {-1, -1};
	struct looked_up found;

	(void)state;
	put_call(0x20, 0x100);
	put_call(0x30, 0x200);
	put_call(0x40, 0x140);
	put_jump(0x50, 0x120);
	program.fd = elf_file(&plan);
	assert_int_equal(look_up(&program, CODE_OFFSET + 0x110, &found), 0);
	assert_int_equal(found.from, CODE_OFFSET + 0x100);
	assert_int_equal(found.to, CODE_OFFSET + 0x120);
}

static void a_jump_from_another_function_is_its_last_call(void **state)
{
	struct elf_plan plan = {.code = code};
	struct native_function functions[] = {{.offset = CODE_OFFSET + 0x110},
					      {.offset = CODE_OFFSET + 0x150},
					      {.offset = CODE_OFFSET + 0x190},
					      {.offset = CODE_OFFSET + 0x1c0}};
	_cleanup_program_ struct program program;
	_cleanup_buf_ struct buf names = BUF_INIT(4096);

	(void)state;
	put_call(0x20, 0x100);
	put_jump(0x30, 0x140);
	put_jump(0x120, 0x130); /* within their functions */
	put_jump(0x160, 0x180);
	put_call(0x40, 0x1c0);
	put_jump(0x1d0, 0x1b0);
	program = (struct program){elf_file(&plan), -1};
	assert_int_equal(native_resolve(program.fd, -1, true, functions, 4, &names, NULL), 0);
	assert_int_equal(functions[0].address, CODE_ADDRESS + 0x100);
	assert_int_equal(functions[1].address, CODE_ADDRESS + 0x140);
	assert_int_equal(functions[2].address, CODE_ADDRESS + 0x140);
	assert_int_equal(functions[3].address, CODE_ADDRESS + 0x1c0);
	assert_int_equal(functions[0].to, CODE_OFFSET + 0x140);
	assert_int_equal(functions[2].from, CODE_OFFSET + 0x140);
	assert_int_equal(functions[2].to, CODE_OFFSET + 0x1b0); /* from behind, too */
}

static void no_function_begins_in_the_middle_of_code_that_goes_on(void **state)
{
	struct elf_plan plan = {.code = code};

	(void)state;
	put_call(0x20, 0x100);
	put_call(0x30, 0x125);
	assert_names(&plan, 0x130, "", 0x100);
	code[0x124] = RET;
	assert_names(&plan, 0x130, "", 0x125);
	code[0x124] = TRAP;
	assert_names(&plan, 0x130, "", 0x125);
}

static void behind_a_function_with_a_size_padding_is_skipped(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x10, 0x20)};
	static const uint8_t nops[] = {0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0,    0,    0, 0,
				       0x66, 0x90, 0x0f, 0x1f, 0x40, 0, 0x0f, 0x1f, 0};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 1, .code = code};

	(void)state;
	assert_names(&plan, 0x50, "", 0x30);
	memset(code + 0x30, TRAP, 8);
	assert_names(&plan, 0x50, "", 0x38);
	memcpy(code + 0x30, nops, sizeof(nops));
	assert_names(&plan, 0x50, "", 0x30 + sizeof(nops));
	assert_names(&plan, 0x35, "", 0x30);
}

static void a_call_into_a_function_with_a_size_changes_nothing(void **state)
{
	static const struct symbol_plan symbols[] = {FUNCTION("a", 0x40, 0x200)};
	struct elf_plan plan = {.symbols = symbols, .symbols_count = 1, .code = code};

	(void)state;
	put_call(0x20, 0x100);
	assert_names(&plan, 0x140, "a", 0x40);
	assert_names(&plan, 0x300, "", 0x240);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_label_without_a_size_ends_where_a_call_leads, clear_code),
		cmocka_unit_test_setup(
			code_without_symbols_begins_where_it_is_called_or_its_address_is_taken,
			clear_code),
		cmocka_unit_test_setup(an_answer_ends_where_the_next_function_begins, clear_code),
		cmocka_unit_test_setup(a_jump_from_another_function_is_its_last_call, clear_code),
		cmocka_unit_test_setup(no_function_begins_in_the_middle_of_code_that_goes_on,
				       clear_code),
		cmocka_unit_test_setup(behind_a_function_with_a_size_padding_is_skipped,
				       clear_code),
		cmocka_unit_test_setup(a_call_into_a_function_with_a_size_changes_nothing,
				       clear_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
