// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of one function, made from its instructions. */
#include "unit/flow/code.h"

#define ADDRESS 0x10000

static struct flow_result result;
static struct rows_text rows;

static int read_table(void *arg, uint64_t address, void *to, size_t bytes)
{
	const uint8_t *code = arg;

	memcpy(to, code + (address - ADDRESS), bytes);
	return 0;
}

static bool ends_at_0x100(void *arg, uint64_t target)
{
	(void)arg;
	return target == ADDRESS + 0x100;
}

static const char *rows_by(const uint8_t *code, size_t bytes, bool (*ends)(void *, uint64_t))
{
	struct flow_function function = {
		.code = code,
		.bytes = bytes,
		.address = ADDRESS,
		.read = read_table,
		.ends = ends,
		.arg = (void *)code,
	};

	memset(&rows, 0, sizeof(rows));
	assert_int_equal(flow_rows(&function, say_row, &rows, &result), 0);
	return rows.text;
}

static const char *rows_of(const uint8_t *code, size_t bytes)
{
	return rows_by(code, bytes, NULL);
}

CODE(leaf, "mov %rdi, %rax; ret");
CODE(pushes, "push %rbx; push %rbp; sub $24, %rsp; xor %ebp, %ebp; call .+0x100; add $24, %rsp;"
	     "pop %rbp; pop %rbx; ret");
CODE(frame, "push %rbp; mov %rsp, %rbp; sub $64, %rsp; mov $1, %eax; leave; ret");
CODE(other_frame, "mov %rsp, %r11; and $-32, %rsp; nop; mov %r11, %rsp; ret");
CODE(aligned, "push %rbp; mov %rsp, %rax; sub $344, %rsp; and $-64, %rsp; mov %rax, 336(%rsp);"
	      "xor %ebp, %ebp; call .+0x100; mov 336(%rsp), %rsp; pop %rbp; ret");
CODE(variable, "push %rbp; mov %rsp, %rbp; sub %rdi, %rsp; nop; leave; ret");

static void the_stack_pointer_is_followed(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(leaf)), "0 r7+8 u c-8, 4 none");
	assert_true(result.returns && result.returns_as_called && !result.is_odd);
	assert_string_equal(rows_of(BYTES_OF(pushes)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 2 r7+24 u c-8, 6 r7+48 u c-8, "
			    "8 r7+48 c-24 c-8, 11 r7+24 c-24 c-8, 12 r7+16 u c-8, "
			    "13 r7+8 u c-8, 14 none");
}

static void a_frame_pointer_is_followed(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(frame)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 4 r7+16 c-16 c-8, 8 r7+80 c-16 c-8, "
			    "e r7+8 u c-8, f none");
	assert_string_equal(rows_of(BYTES_OF(variable)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 4 r7+16 c-16 c-8, 7 r6+16 c-16 c-8, "
			    "9 r7+8 u c-8, a none");
}

static void a_stack_that_is_aligned_is_found_by_what_was_kept(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(other_frame)),
			    "0 r7+8 u c-8, 7 r11+8 u c-8, b r7+8 u c-8, c none");
	assert_string_equal(rows_of(BYTES_OF(aligned)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, b r7+360 u c-8, f r0+16 u c-8, "
			    "17 *(r7+336)+16 u c-8, 19 *(r7+336)+16 c-16 c-8, 26 r7+16 c-16 c-8, "
			    "27 r7+8 u c-8, 28 none");
	assert_false(result.is_odd);
}

CODE(agree, "test %edi, %edi; je 1f; push %rax; pop %rcx; 1: ret");
CODE(disagree, "test %edi, %edi; je 1f; push %rax; 1: nop; ret");
CODE(over, "test %edi, %edi; je 1f; push %rax; call .+0xfb; 1: nop; ret");
CODE(never, "push %rax; call .+0xff; push %rax; ret");

static void where_ways_meet_both_have_to_agree(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(agree)),
			    "0 r7+8 u c-8, 5 r7+16 u c-8, 6 r7+8 u c-8, 7 none");
	assert_string_equal(rows_of(BYTES_OF(disagree)), "0 r7+8 u c-8, 5 none");
	assert_true(result.is_odd);
}

static void behind_a_call_that_never_returns_is_another_stack(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(over)),
			    "0 r7+8 u c-8, 5 r7+16 u c-8, a r7+8 u c-8, c none");
	assert_false(result.is_odd);
	rows_of(BYTES_OF(never));
	assert_true(result.is_odd);
	assert_string_equal(rows_by(BYTES_OF(never), ends_at_0x100),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 6 none");
	assert_false(result.returns);
}

CODE(distances, "push %rax; cmp $1, %edi; ja 9f; mov %edi, %edi; lea 8f(%rip), %rdx;"
		"movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax;"
		"8: .long 1f-8b, 2f-8b; 1: nop; nop; 2: pop %rcx; ret; 9: pop %rcx; ret");
CODE(unbounded, "lea 8f(%rip), %rdx; movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax;"
		"8: .long 1f-8b; 1: ret");

static void a_table_of_jumps_is_followed_if_its_length_is_known(void **state)
{
	(void)state;
	rows_of(BYTES_OF(distances));
	assert_int_equal(result.instructions, 14);
	assert_false(result.is_odd || result.leaves);
	rows_of(BYTES_OF(unbounded));
	assert_int_equal(result.instructions, 4);
	assert_true(result.leaves && !result.returns_as_called);
}

CODE(begins_thread, "xor %ebp, %ebp; pop %rdi; call *%r9; hlt");
CODE(popped, "pop %rdi; nop; push %rdi; ret");
CODE(overwrites, "mov %rax, (%rsp); ret");

static void a_frame_without_its_return_address_has_no_row(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(begins_thread)),
			    "0 r7+8 u c-8, 2 r7+8 lost c-8, 3 end, 7 none");
	assert_string_equal(rows_of(BYTES_OF(popped)), "0 r7+8 u c-8, 1 none");
	assert_string_equal(rows_of(BYTES_OF(overwrites)), "0 r7+8 u c-8, 4 none");
}

CODE(middle, "jmp .+3; .byte 0x48; push %rax; pop %rax; ret");
CODE(nothing, ".byte 0x06, 0x06, 0x06");
CODE(far, "push %rax; pop %rax; jmp .+0x200");

static void code_that_is_none_is_bounded(void **state)
{
	struct flow_function function = {.code = nothing_, .bytes = FLOW_BYTES_MAX + 1};

	(void)state;
	rows_of(BYTES_OF(middle));
	assert_false(result.is_odd);
	assert_string_equal(rows_of(BYTES_OF(nothing)), "");
	rows_of(BYTES_OF(far));
	assert_true(result.leaves && !result.is_longer);
	assert_int_equal(flow_rows(&function, say_row, &rows, &result), -EFBIG);
	function = (struct flow_function){.code = far_, .bytes = 7, .beyond = 0x1000};
	assert_int_equal(flow_rows(&function, say_row, &rows, &result), 0);
	assert_true(result.is_longer);
}

static int refuse(void *arg, uint64_t address, const struct rule *rule)
{
	(void)arg;
	(void)address;
	(void)rule;
	return 7;
}

static void what_the_sink_says_is_returned(void **state)
{
	struct flow_function function = {.code = leaf_, .bytes = 4};

	(void)state;
	assert_int_equal(flow_rows(&function, refuse, NULL, &result), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_pointer_is_followed),
		cmocka_unit_test(a_frame_pointer_is_followed),
		cmocka_unit_test(a_stack_that_is_aligned_is_found_by_what_was_kept),
		cmocka_unit_test(where_ways_meet_both_have_to_agree),
		cmocka_unit_test(behind_a_call_that_never_returns_is_another_stack),
		cmocka_unit_test(a_table_of_jumps_is_followed_if_its_length_is_known),
		cmocka_unit_test(a_frame_without_its_return_address_has_no_row),
		cmocka_unit_test(code_that_is_none_is_bounded),
		cmocka_unit_test(what_the_sink_says_is_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
