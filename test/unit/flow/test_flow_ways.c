// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of one function: other frames, other tables of jumps, and what the result says. */
#include "unit/flow/code.h"

#define ADDRESS 0x10000

static struct flow_result result;
static struct rows_text rows;
static uint64_t called;

static int read_table(void *arg, uint64_t address, void *to, size_t bytes)
{
	const uint8_t *code = arg;

	memcpy(to, code + (address - ADDRESS), bytes);
	return 0;
}

static int refuse_to_read(void *arg, uint64_t address, void *to, size_t bytes)
{
	(void)arg;
	(void)address;
	(void)to;
	(void)bytes;
	return -EIO;
}

static void note_call(void *arg, uint64_t target)
{
	(void)arg;
	called = target;
}

static struct flow_function function_of(const uint8_t *code, size_t bytes)
{
	return (struct flow_function){
		.code = code,
		.bytes = bytes,
		.address = ADDRESS,
		.read = read_table,
		.calls = note_call,
		.arg = (void *)code,
	};
}

static const char *rows_by(const struct flow_function *function)
{
	memset(&rows, 0, sizeof(rows));
	assert_int_equal(flow_rows(function, say_row, &rows, &result), 0);
	return rows.text;
}

static const char *rows_of(const uint8_t *code, size_t bytes)
{
	struct flow_function function = function_of(code, bytes);

	return rows_by(&function);
}

CODE(by_rbx, "push %rbx; mov %rsp, %rbx; sub %rax, %rsp; call .+0x100; mov %rbx, %rsp;"
	     "pop %rbx; ret");
CODE(overwritten, "push %rbp; xor %ebp, %ebp; movl $0, 4(%rsp); pop %rbp; ret");
CODE(small, "push %ax; pop %ax; ret");
CODE(swapped, "xchg %rsp, %rax; nop; ret");

static void a_frame_in_rbx_outlives_a_call(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(by_rbx)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 4 r7+16 u c-8 bx c-16, "
			    "7 r3+16 u c-8 bx c-16, f r7+16 u c-8 bx c-16, 10 r7+8 u c-8, "
			    "11 none");
	assert_true(result.returns_as_called);
}

static void a_saved_register_is_lost_where_its_word_is_overwritten(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(overwritten)),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, 3 r7+16 c-16 c-8, b r7+16 lost c-8, "
			    "c r7+8 lost c-8, d none");
}

static void a_stack_pointer_that_moves_otherwise_is_followed_or_given_up(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(small)),
			    "0 r7+8 u c-8, 2 r7+10 u c-8, 4 r7+8 u c-8, 5 none");
	assert_string_equal(rows_of(BYTES_OF(swapped)), "0 r7+8 u c-8, 2 none");
	assert_true(result.is_odd && !result.returns_as_called);
}

CODE(own_address, "call 1f; 1: pop %rax; ret");
CODE(calls, "push %rax; call .+0x100; pop %rcx; ret");

static void a_call_of_the_next_instruction_is_a_push(void **state)
{
	(void)state;
	called = 0;
	assert_string_equal(rows_of(BYTES_OF(own_address)),
			    "0 r7+8 u c-8, 5 r7+16 u c-8, 6 r7+8 u c-8, 7 none");
	assert_int_equal(called, 0);
}

static void who_is_called_is_told(void **state)
{
	(void)state;
	rows_of(BYTES_OF(calls));
	assert_int_equal(called, ADDRESS + 0x101);
	assert_int_equal(result.instructions, 4);
	assert_int_equal(result.claimed, 4);
	assert_true(result.returns && !result.leaves);
}

/* At 0xd the jump's table begins, at 0x20 the code it leads to. */
CODE(addresses, "push %rax; cmp $1, %edi; ja 9f; jmp *0x10000+(8f-addresses_)(,%rdi,8);"
		".balign 8; 8: .quad 0x10000+(1f-addresses_), 0x10000+(2f-addresses_);"
		"1: nop; nop; 2: pop %rcx; ret; 9: pop %rcx; ret");
CODE(unbounded, "jmp *0x10010(,%rdi,8)");

static void a_table_of_addresses_is_followed_if_its_length_is_known(void **state)
{
	struct flow_function function = function_of(BYTES_OF(addresses));

	(void)state;
	assert_string_equal(rows_by(&function),
			    "0 r7+8 u c-8, 1 r7+16 u c-8, d none, 20 r7+16 u c-8, "
			    "23 r7+8 u c-8, 24 r7+16 u c-8, 25 r7+8 u c-8, 26 none");
	assert_false(result.leaves);
	rows_of(BYTES_OF(unbounded));
	assert_int_equal(result.instructions, 1);
	assert_true(result.leaves);
}

static void a_table_that_cannot_be_read_leads_nowhere(void **state)
{
	struct flow_function function = function_of(BYTES_OF(addresses));

	(void)state;
	function.read = refuse_to_read;
	rows_by(&function);
	assert_int_equal(result.instructions, 6);
	function.read = NULL;
	rows_by(&function);
	assert_int_equal(result.instructions, 6);
}

CODE(odd, "push %rbx; ret");
CODE(inside, "test %edi, %edi; je .+3; mov $0x90909050, %eax; ret"); /* 0x50: push %rax */

static void a_return_at_another_height_is_odd(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(odd)), "0 r7+8 u c-8, 1 r7+16 u c-8, 2 none");
	assert_true(result.returns && result.is_odd && !result.returns_as_called);
}

static void two_ways_may_read_the_same_bytes_differently(void **state)
{
	(void)state;
	assert_string_equal(rows_of(BYTES_OF(inside)), "0 r7+8 u c-8, 6 r7+16 u c-8, 9 none");
	assert_true(result.is_odd);
}

CODE(long, ".fill 32769, 1, 0x90; ret");

static void a_function_has_so_many_instructions(void **state)
{
	struct flow_function function = function_of(BYTES_OF(long));

	(void)state;
	assert_int_equal(flow_rows(&function, say_row, &rows, &result), -EFBIG);
}

CODE(allocates, "push %rbp; mov %rsp, %rbp; sub $16, %rsp; test %edi, %edi; je 1f; sub $80, %rsp;"
		"call .+0x100; 1: nop; leave; ret");

static void a_frame_of_two_heights_is_one_frame(void **state)
{
	(void)state;
	assert_non_null(strstr(rows_of(BYTES_OF(allocates)), "15 r6+16 c-16 c-8"));
	assert_false(result.is_odd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_of_two_heights_is_one_frame),
		cmocka_unit_test(a_frame_in_rbx_outlives_a_call),
		cmocka_unit_test(a_saved_register_is_lost_where_its_word_is_overwritten),
		cmocka_unit_test(a_stack_pointer_that_moves_otherwise_is_followed_or_given_up),
		cmocka_unit_test(a_call_of_the_next_instruction_is_a_push),
		cmocka_unit_test(who_is_called_is_told),
		cmocka_unit_test(a_table_of_addresses_is_followed_if_its_length_is_known),
		cmocka_unit_test(a_table_that_cannot_be_read_leads_nowhere),
		cmocka_unit_test(a_return_at_another_height_is_odd),
		cmocka_unit_test(two_ways_may_read_the_same_bytes_differently),
		cmocka_unit_test(a_function_has_so_many_instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
