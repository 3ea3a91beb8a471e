// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks through functions that the kernel has probes on: their return addresses aren't on the
 * stack, and their instructions may be executed elsewhere. */
#include "unit/walk/walk_rules.h"

#define HELPER	   (CODE + 0x10)
#define CALLER	   (CODE + 0x110)
#define TRAMPOLINE 0x7fffffffe000ULL /* in no mapping that is known */

/* A function of 8 words called by one of 32, and code without CFI. */
static void make_stack(void)
{
	make_process({CODE, cfa(7, 64)}, {CODE + 0x100, cfa(7, 256)},
		     {CODE + 0x200, {.kind = RULE_NONE}});
	maker.regs.pc = HELPER;
	maker_put(STACK + 56, CALLER);
	maker_put(STACK + 64 + 248, ROOT_AT);
}

static void hide(size_t number, uint64_t at, uint64_t address)
{
	maker_put(at, TRAMPOLINE);
	maker.returns[number][0] = at;
	maker.returns[number][1] = address;
}

static void a_probed_return_is_gone_through(void **state)
{
	(void)state;
	make_stack();
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	hide(0, STACK + 56, CALLER);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	hide(1, STACK + 64 + 248, ROOT_AT); /* an outer one, too */
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
}

static void it_is_told_by_where_it_lies(void **state)
{
	(void)state;
	make_stack();
	hide(0, STACK + 56, CALLER);
	maker.returns[0][0] = STACK + 48;
	expect_walk(TRUNCATED_ADDRESS, HELPER);
	maker.returns[0][0] = STACK + 64;
	expect_walk(TRUNCATED_ADDRESS, HELPER);
	/* That of a function that was left without a return (longjmp). */
	maker.returns[0][0] = STACK + 16;
	hide(1, STACK + 56, CALLER);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
}

static void what_it_hides_may_be_no_code(void **state)
{
	(void)state;
	make_stack();
	hide(0, STACK + 56, 0x1234);
	expect_walk(TRUNCATED_ADDRESS, HELPER);
	hide(0, STACK + 56, TRAMPOLINE);
	expect_walk(TRUNCATED_ADDRESS, HELPER);
}

static void an_address_that_is_codes_is_not_asked_for(void **state)
{
	(void)state;
	make_stack();
	hide(0, STACK + 56, ROOT_AT);
	maker_put(STACK + 56, CALLER);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
}

/* The words on the stack don't tell which return address that is. */
static void such_a_stack_is_never_the_same_again(void **state)
{
	(void)state;
	make_stack();
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	assert_true(maker_is_known());
	hide(0, STACK + 56, CALLER);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	assert_false(maker_is_known());
	hide(0, STACK + 56, CALLER + 1);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER + 1, ROOT_AT);
}

static void code_without_cfi_is_gone_through(void **state)
{
	(void)state;
	make_stack();
	maker.regs.pc = BARE + 0x100;
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	maker_put(STACK + 0x100, 7);
	maker_call(CALLER, BARE);
	hide(0, STACK + 0x108, CALLER);
	maker_put(STACK + 0x110 + 248, ROOT_AT);
	expect_walk(TRUNCATED_NOT, BARE + 0x100, CALLER, ROOT_AT);
	maker.returns[0][0] = STACK + 0x100;
	expect_walk(TRUNCATED_FRAME_POINTER, BARE + 0x100);
}

/* A leaf right after the call that led to it: its return address lies on top. */
static void a_leaf_without_cfi_is_gone_through(void **state)
{
	(void)state;
	make_stack();
	maker.regs.pc = CODE + 0x300;
	maker_call(CALLER, CODE + 0x2f0);
	hide(0, STACK, CALLER);
	maker_put(STACK + 8 + 248, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE + 0x300, CALLER, ROOT_AT);
}

/* The function has returned to the kernel's page, which hasn't gone on yet, and has pushed some
 * registers. */
static void a_return_under_way_is_the_callers(void **state)
{
	(void)state;
	make_stack();
	hide(0, STACK + 56, CALLER);
	maker.regs.pc = TRAMPOLINE + 4;
	for (uint64_t pushed = 0; pushed <= 24; pushed += 8) {
		maker.page = TRAMPOLINE;
		maker.regs.gpr[ARCH_SP] = STACK + 64 - pushed;
		expect_walk(TRUNCATED_NOT, CALLER, ROOT_AT);
		assert_int_equal(maker.walk->words[0] >> FRAME_KIND_SHIFT, FRAME_NATIVE);
		assert_false(maker_is_known());
		maker.page = 0; /* other code that is in no mapping */
		expect_walk(TRUNCATED_ADDRESS, TRAMPOLINE + 4);
	}
	maker.page = TRAMPOLINE;
	maker.regs.gpr[ARCH_SP] = STACK + 72;
	expect_walk(TRUNCATED_ADDRESS, TRAMPOLINE + 4);
}

/* The kernel has put the return address on the stack again, the page's code goes there. */
static void a_return_that_was_seen_is_the_callers(void **state)
{
	static const uint8_t code[] = {0x90, 0x41, 0x5b, 0x59, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90};
	static const struct {
		uint64_t at, words;
	} steps[] = {{1, 2}, {3, 1}, {4, 0}};

	(void)state;
	make_stack();
	maker_map(TRAMPOLINE, 4096);
	maker_poke(TRAMPOLINE, code, sizeof(code));
	maker.page = TRAMPOLINE;
	maker_put(STACK + 56, CALLER);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		maker.regs.pc = TRAMPOLINE + steps[i].at;
		maker.regs.gpr[ARCH_SP] = STACK + 56 - steps[i].words * 8;
		expect_walk(TRUNCATED_NOT, CALLER, ROOT_AT);
	}
	maker.regs.pc = TRAMPOLINE;
	expect_walk(TRUNCATED_ADDRESS, TRAMPOLINE);
}

static void an_instruction_executed_elsewhere_is_where_it_stands(void **state)
{
	(void)state;
	make_stack();
	maker.page = TRAMPOLINE;
	maker.place[0] = TRAMPOLINE + 128;
	maker.place[1] = HELPER - 3;
	maker.regs.pc = TRAMPOLINE + 131;
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	maker.regs.pc = TRAMPOLINE + 128 + 16;
	expect_walk(TRUNCATED_ADDRESS, TRAMPOLINE + 128 + 16);
}

#define WALK(test) cmocka_unit_test_teardown(test, process_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WALK(a_probed_return_is_gone_through),
		WALK(it_is_told_by_where_it_lies),
		WALK(what_it_hides_may_be_no_code),
		WALK(an_address_that_is_codes_is_not_asked_for),
		WALK(such_a_stack_is_never_the_same_again),
		WALK(code_without_cfi_is_gone_through),
		WALK(a_leaf_without_cfi_is_gone_through),
		WALK(a_return_under_way_is_the_callers),
		WALK(a_return_that_was_seen_is_the_callers),
		WALK(an_instruction_executed_elsewhere_is_where_it_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
