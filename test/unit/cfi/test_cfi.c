// SPDX-License-Identifier: GPL-2.0-or-later
/* CFI programs, an instruction each. */
#include "unit/cfi/cfi_expect.h"
#include "unit/cfi/cfi_maker.h"

#include <zlib.h>

static void a_function_without_instructions_has_its_cies_row(void **state)
{
	(void)state;
	EXPECT({BYTES(0), "0 r7+8 u c-8, 100 none"}, {BYTES(0, 0, 0), "0 r7+8 u c-8, 100 none"});
}

static void advances_move_on_by_what_they_say(void **state)
{
	(void)state;
	EXPECT({BYTES(0x44, 0x0e, 16), "0 r7+8 u c-8, 4 r7+16 u c-8, 100 none"},
	       {BYTES(0x02, 0x80, 0x0e, 16), "0 r7+8 u c-8, 80 r7+16 u c-8, 100 none"},
	       {BYTES(0x03, 0x81, 0, 0x0e, 16), "0 r7+8 u c-8, 81 r7+16 u c-8, 100 none"},
	       {BYTES(0x04, 0x82, 0, 0, 0, 0x0e, 16), "0 r7+8 u c-8, 82 r7+16 u c-8, 100 none"},
	       {BYTES(0x1d, 0x83, 0, 0, 0, 0, 0, 0, 0, 0x0e, 16),
		"0 r7+8 u c-8, 83 r7+16 u c-8, 100 none"},
	       /* by nothing: what follows holds from the same place */
	       {BYTES(0x40, 0x0e, 16, 0x02, 0, 0x0e, 24), "0 r7+24 u c-8, 100 none"});
}

static void set_loc_moves_on_to_an_encoded_address(void **state)
{
	struct frames frames = frames_usual();

	(void)state;
	size_t entry = frames_head(&frames);
	frames_u32(&frames, CFI_CODE - (uint32_t)(CFI_FRAMES + frames.len));
	frames_u32(&frames, 0x100);
	frames_put(&frames, "\0\x01", 2);
	frames_u32(&frames, CFI_CODE + 0x20 - (uint32_t)(CFI_FRAMES + frames.len));
	frames_put(&frames, "\x0e\x10\x01", 3); /* and back: makes no sense */
	frames_u32(&frames, CFI_CODE + 0x10 - (uint32_t)(CFI_FRAMES + frames.len));
	frames_end(&frames, entry);
	assert_string_equal(frames_rows(&frames)->text, "0 r7+8 u c-8, 20 !program, 100 none");
}

static void the_cfa_is_defined_by_register_and_offset(void **state)
{
	(void)state;
	EXPECT({BYTES(0x0c, 6, 16), "0 r6+16 u c-8, 100 none"},
	       {BYTES(0x0d, 6), "0 r6+8 u c-8, 100 none"},
	       /* after an expression with the offset before it, as code is written for */
	       {BYTES(0x0e, 56, 0x0f, 2, 0x77, 8, 0x0d, 6), "0 r6+56 u c-8, 100 none"},
	       {BYTES(0x0e, 0x80, 1), "0 r7+128 u c-8, 100 none"},
	       {BYTES(0x12, 10, 0x7e), "0 r10+16 u c-8, 100 none"}, /* sf: -2 * -8 */
	       {BYTES(0x13, 0x7d), "0 r7+24 u c-8, 100 none"},
	       {BYTES(0x13, 2), "0 r7-16 u c-8, 100 none"},
	       {BYTES(0x0c, 16, 8), "0 !register, 100 none"},
	       {BYTES(0x0c, 0xff, 0xff, 3, 8), "0 !register, 100 none"},
	       {BYTES(0x0e, 0x80, 0x80, 0x80, 0x80, 8), "0 !offset, 100 none"});
}

static void saved_registers_are_where_instructions_say(void **state)
{
	(void)state;
	EXPECT({BYTES(0x86, 2), "0 r7+8 c-16 c-8, 100 none"},
	       {BYTES(0x05, 6, 0x82, 0), "0 r7+8 c-16 c-8, 100 none"},
	       {BYTES(0x11, 6, 0x7e), "0 r7+8 c+16 c-8, 100 none"},
	       {BYTES(0x2f, 6, 2), "0 r7+8 c+16 c-8, 100 none"},
	       {BYTES(0x83, 3), "0 r7+8 u c-8 bx c-24, 100 none"},
	       {BYTES(0x8c, 3), "0 r7+8 u c-8, 100 none"}, /* r12: nobody asks for it */
	       {BYTES(0x08, 6), "0 r7+8 u c-8, 100 none"},
	       {BYTES(0x86, 2, 0x08, 6), "0 r7+8 u c-8, 100 none"},
	       {BYTES(0x07, 6), "0 r7+8 lost c-8, 100 none"},
	       {BYTES(0x09, 6, 9), "0 r7+8 lost c-8, 100 none"},
	       {BYTES(0x14, 6, 2), "0 r7+8 lost c-8, 100 none"},
	       {BYTES(0x15, 6, 2), "0 r7+8 lost c-8, 100 none"},
	       {BYTES(0x16, 6, 1, 0x30), "0 r7+8 lost c-8, 100 none"});
}

static void the_return_address_may_be_elsewhere_or_nowhere(void **state)
{
	(void)state;
	EXPECT({BYTES(0x90, 4), "0 r7+8 u c-32, 100 none"},
	       {BYTES(0x09, 16, 5), "0 r7+8 u r5, 100 none"},
	       {BYTES(0x09, 16, 40), "0 !ra, 100 none"}, {BYTES(0x07, 16), "0 end, 100 none"},
	       {BYTES(0x08, 16), "0 !ra, 100 none"}, {BYTES(0x16, 16, 1, 0x30), "0 !ra, 100 none"},
	       {BYTES(0x10, 16, 2, 0x77, 0x10), "0 r7+8 u a+16, 100 none"},
	       {BYTES(0x10, 16, 2, 0x76, 0x10), "0 !ra, 100 none"}); /* by rbp: CFA is by rsp */
}

static void a_stack_pointer_that_is_not_the_cfa_is_marked(void **state)
{
	(void)state;
	EXPECT({BYTES(0x09, 7, 8), "0 !sp, 100 none"},
	       {BYTES(0x14, 7, 0), "0 r7+8 u c-8, 100 none"},
	       {BYTES(0x14, 7, 1), "0 !sp, 100 none"}, {BYTES(0x87, 1), "0 !sp, 100 none"},
	       /* CFA = *(rsp + 16), and rsp is saved just there */
	       {BYTES(0x0f, 3, 0x77, 16, 6, 0x10, 7, 2, 0x77, 16), "0 *(r7+16)+0 u c-8, 100 none"},
	       {BYTES(0x0f, 3, 0x77, 16, 6, 0x10, 7, 2, 0x77, 24), "0 !sp, 100 none"});
}

static void expressions_of_known_forms_are_taken(void **state)
{
	(void)state;
	EXPECT({BYTES(0x0f, 2, 0x77, 0x20), "0 r7+32 u c-8, 100 none"},
	       {BYTES(0x0f, 3, 0x76, 0x78, 6), "0 *(r6-8)+0 u c-8, 100 none"},
	       {BYTES(0x0f, 5, 0x77, 0x20, 6, 0x23, 8), "0 *(r7+32)+8 u c-8, 100 none"},
	       {BYTES(0x0f, 5, 0x77, 0x20, 6, 0x38, 0x22), "0 *(r7+32)+8 u c-8, 100 none"},
	       {BYTES(0x0f, 5, 0x77, 0x20, 6, 0x38, 0x1c), "0 *(r7+32)-8 u c-8, 100 none"},
	       {BYTES(0x0f, 6, 0x77, 0x20, 6, 8, 16, 0x22), "0 *(r7+32)+16 u c-8, 100 none"},
	       {BYTES(0x0f, 6, 0x77, 0x20, 6, 9, 0xf0, 0x22), "0 *(r7+32)-16 u c-8, 100 none"},
	       {BYTES(0x0f, 7, 0x77, 0x20, 6, 0x0b, 0, 0xff, 0x22),
		"0 *(r7+32)-256 u c-8, 100 none"},
	       {BYTES(0x0f, 4, 0x92, 10, 8, 6), "0 *(r10+8)+0 u c-8, 100 none"},
	       {BYTES(0x0f, 3, 0x76, 0x78, 6, 0x10, 6, 2, 0x76, 0),
		"0 *(r6-8)+0 a+0 c-8, 100 none"},
	       {BYTES(0x10, 6, 3, 0x77, 0, 6), "0 r7+8 lost c-8, 100 none"});
}

static void a_cfa_behind_an_array_is_found_by_the_arrays_length(void **state)
{
	(void)state;
	EXPECT({BYTES(0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 6, 0x23, 8),
		"0 *(r7+8+8*r9)+8 u c-8, 100 none"},
	       /* by register 0; by a changed one; by another length of word; not read */
	       {BYTES(0x0f, 10, 0x77, 8, 0x70, 0, 0x38, 0x1e, 0x22, 6, 0x23, 8),
		"0 !expression, 100 none"},
	       {BYTES(0x0f, 10, 0x77, 8, 0x79, 1, 0x38, 0x1e, 0x22, 6, 0x23, 8),
		"0 !expression, 100 none"},
	       {BYTES(0x0f, 10, 0x77, 8, 0x79, 0, 0x34, 0x1e, 0x22, 6, 0x23, 8),
		"0 !expression, 100 none"},
	       {BYTES(0x0f, 7, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22), "0 !expression, 100 none"},
	       /* with the return address in a register */
	       {BYTES(0x09, 16, 2, 0x0f, 10, 0x77, 8, 0x79, 0, 0x38, 0x1e, 0x22, 6, 0x23, 8),
		"0 !ra, 100 none"});
}

static void the_plts_expression_is_a_rule_of_its_own(void **state)
{
#define PLT(from) 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + (from), 0x2a, 0x33, 0x24, 0x22
	(void)state;
	EXPECT({BYTES(PLT(11)), "0 plt11, 100 none"}, {BYTES(PLT(10)), "0 plt10, 100 none"},
	       {BYTES(PLT(16)), "0 !expression, 100 none"},
	       {BYTES(PLT(11), 0x86, 2), "0 !expression, 100 none"}, /* no stub saves rbp */
	       {BYTES(PLT(11), 0x07, 16), "0 end, 100 none"});
#undef PLT
}

static void expressions_of_other_forms_are_marked(void **state)
{
	(void)state;
	EXPECT({BYTES(0x0f, 1, 0x30), "0 !expression, 100 none"},
	       {BYTES(0x0f, 1, 0x77), "0 !expression, 100 none"}, /* its offset is missing */
	       {BYTES(0x0f, 4, 0x77, 8, 6, 6), "0 !expression, 100 none"},
	       {BYTES(0x0f, 3, 0x77, 8, 0x38), "0 !expression, 100 none"},
	       {BYTES(0x0f, 4, 0x77, 8, 0x38, 0x1e), "0 !expression, 100 none"}, /* mul */
	       {BYTES(0x0f, 7, 0x77, 0, 6, 0x0a, 0xff, 0xff, 0x22), "0 !offset, 100 none"},
	       {BYTES(0x0f, 0), "0 !program, 100 none"},
	       /* the offset alone, where the CFA has an expression */
	       {BYTES(0x0f, 2, 0x77, 8, 0x0e, 16), "0 !program, 100 none"});
}

static void restoring_goes_back_to_the_cies_rule(void **state)
{
	(void)state;
	EXPECT({BYTES(0x86, 2, 0x41, 0xc6), "0 r7+8 c-16 c-8, 1 r7+8 u c-8, 100 none"},
	       {BYTES(0x07, 16, 0x41, 0xd0), "0 end, 1 r7+8 u c-8, 100 none"},
	       {BYTES(0x86, 2, 0x41, 0x06, 6), "0 r7+8 c-16 c-8, 1 r7+8 u c-8, 100 none"});
}

static void remembered_states_come_back_in_turn(void **state)
{
	(void)state;
	EXPECT({BYTES(0x0a, 0x0e, 16, 0x41, 0x0a, 0x0e, 24, 0x41, 0x0b, 0x41, 0x0b),
		"0 r7+16 u c-8, 1 r7+24 u c-8, 2 r7+16 u c-8, 3 r7+8 u c-8, 100 none"},
	       {BYTES(0x41, 0x0b), "0 r7+8 u c-8, 1 !program, 100 none"});
}

static void too_many_remembered_states_are_marked(void **state)
{
	uint8_t program[80] = {0x41};

	(void)state;
	memset(program + 1, 0x0a, 32);
	program[33] = 0x41;
	expect(&(struct example){program, 34, "0 r7+8 u c-8, 100 none"}, 1);
	program[33] = 0x0a;
	expect(&(struct example){program, 34, "0 r7+8 u c-8, 1 !program, 100 none"}, 1);
}

static void what_says_nothing_of_the_caller_is_ignored(void **state)
{
	(void)state;
	EXPECT({BYTES(0x2e, 0x90, 1, 0, 0), "0 r7+8 u c-8, 100 none"});
}

static void what_makes_no_sense_is_marked_from_its_place_on(void **state)
{
	(void)state;
	EXPECT({BYTES(0x17), "0 !program, 100 none"},
	       {BYTES(0x42, 0x3f), "0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x2d), "0 r7+8 u c-8, 2 !program, 100 none"}, /* not of x86-64 */
	       {BYTES(0x42, 0x0e), "0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x0e, 0x80), "0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x0f, 9, 0x77), "0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x0f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0x77),
		"0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		"0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x86, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"0 r7+8 u c-8, 2 !program, 100 none"},
	       {BYTES(0x42, 0x04, 1), "0 r7+8 u c-8, 2 !program, 100 none"});
}

static void rows_behind_the_functions_end_are_nobodys(void **state)
{
	(void)state;
	EXPECT({BYTES(0x03, 0, 1, 0x0e, 16), "0 r7+8 u c-8, 100 none"},
	       {BYTES(0x1d, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0e, 16),
		"0 r7+8 u c-8, 100 none"},
	       {BYTES(0x02, 0xff, 0x0e, 16), "0 r7+8 u c-8, ff r7+16 u c-8, 100 none"});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_without_instructions_has_its_cies_row),
		cmocka_unit_test(advances_move_on_by_what_they_say),
		cmocka_unit_test(set_loc_moves_on_to_an_encoded_address),
		cmocka_unit_test(the_cfa_is_defined_by_register_and_offset),
		cmocka_unit_test(saved_registers_are_where_instructions_say),
		cmocka_unit_test(the_return_address_may_be_elsewhere_or_nowhere),
		cmocka_unit_test(a_stack_pointer_that_is_not_the_cfa_is_marked),
		cmocka_unit_test(expressions_of_known_forms_are_taken),
		cmocka_unit_test(a_cfa_behind_an_array_is_found_by_the_arrays_length),
		cmocka_unit_test(the_plts_expression_is_a_rule_of_its_own),
		cmocka_unit_test(expressions_of_other_forms_are_marked),
		cmocka_unit_test(restoring_goes_back_to_the_cies_rule),
		cmocka_unit_test(remembered_states_come_back_in_turn),
		cmocka_unit_test(too_many_remembered_states_are_marked),
		cmocka_unit_test(what_says_nothing_of_the_caller_is_ignored),
		cmocka_unit_test(what_makes_no_sense_is_marked_from_its_place_on),
		cmocka_unit_test(rows_behind_the_functions_end_are_nobodys),
	};

	return cmocka_run_group_tests_name("cfi", tests, NULL, NULL);
}
