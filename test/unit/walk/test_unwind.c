// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder by tables: each kind of row and rule, each way a walk ends. */
#include "unit/walk/walk_rules.h"

#define LEAF   (CODE + 0x10)
#define MIDDLE (CODE + 0x110)
#define UPPER  (CODE + 0x210)

#define LEAF_ROW                                                                                   \
	{                                                                                          \
		CODE, cfa(7, 8)                                                                    \
	}

static void a_row_by_sp_finds_the_return_address_below_the_cfa(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {CODE + 0x100, cfa(7, 32)}, {CODE + 0x200, cfa(7, 64)});
	maker.regs.pc = LEAF;
	maker_put(STACK, MIDDLE);
	maker_put(STACK + 8 + 24, UPPER);
	maker_put(STACK + 40 + 56, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, UPPER, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK + 8 + 32 + 64);
	assert_int_equal(maker.walk->fp, 1);
	assert_int_equal(frame_kind_of(0), FRAME_NATIVE);
	assert_int_equal(frame_kind_of(1), FRAME_NATIVE_RETURN);
}

static void the_largest_frame_of_a_row_is_stepped_over(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, ROW_CFA_MAX * 8)});
	maker_map(STACK + STACK_BYTES, 0x10000);
	maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES;
	maker_put(STACK + STACK_BYTES + ROW_CFA_MAX * 8 - 8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
}

static void a_row_by_fp_goes_from_the_fp_that_the_row_before_restored(void **state)
{
	(void)state;
	make_process({CODE, cfa_fp(7, 24, -24)}, {CODE + 0x100, cfa_fp(6, 16, -16)});
	maker.regs.pc = LEAF;
	maker_put(STACK, STACK + 0x400); /* the caller's fp */
	maker_put(STACK + 16, MIDDLE);
	maker_put(STACK + 0x400, STACK + 0x500);
	maker_put(STACK + 0x408, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, ROOT_AT);
	assert_int_equal(maker.walk->fp, STACK + 0x500);
	assert_int_equal(maker.walk->sp, STACK + 0x410);
}

static void fp_is_read_from_wherever_a_row_says(void **state)
{
	(void)state;
	for (int saved = 1; saved <= ROW_SAVED_MAX; saved++) {
		int32_t words = saved + 3;

		make_process({CODE, cfa_fp(7, words * 8, -(saved + 1) * 8)});
		for (int i = 0; i < words; i++)
			maker_put(STACK + (uint64_t)i * 8, 0x1000 + (uint64_t)i);
		maker_put(STACK + (uint64_t)words * 8 - 8, ROOT_AT);
		expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
		assert_int_equal(maker.walk->fp, 0x1000 + words - (saved + 1));
	}
}

static void return_addresses_are_looked_up_at_the_byte_before(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {CODE + 0x100, cfa(7, 16)}, {CODE + 0x110, {.kind = RULE_END}});
	maker.regs.pc = LEAF;
	maker_put(STACK, MIDDLE); /* where the next function begins: a call that never returns */
	maker_put(STACK + 16, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, ROOT_AT);
	maker.regs.pc = MIDDLE; /* but not an interrupted pc */
	expect_walk(TRUNCATED_NOT, MIDDLE);
}

static void a_cfa_may_lie_in_memory(void **state)
{
	struct rule rule = cfa(7, 16);

	(void)state;
	rule.cfa_deref = true;
	rule.cfa_post = 8;
	rule.fp = at_cfa(-24);
	make_process({CODE, rule});
	maker_put(STACK + 16, STACK + 0x200);
	maker_put(STACK + 0x200, ROOT_AT); /* CFA = STACK + 0x208 */
	maker_put(STACK + 0x1f0, 77);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK + 0x208);
	assert_int_equal(maker.walk->fp, 77);
	rule.cfa_post = -16;
	make_process({CODE, rule});
	maker_put(STACK + 16, STACK + 0x200);
	maker_put(STACK + 0x1e8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK + 0x1f0);
}

static void a_realigned_stack_keeps_its_cfa_below_fp(void **state)
{
	struct rule rule = cfa(6, -8);

	(void)state;
	rule.cfa_deref = true;
	rule.fp = (struct saved){.kind = SAVED_AT_REG, .offset = 0};
	make_process({CODE, rule});
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	maker_put(STACK + 0xf8, STACK + 0x300);
	maker_put(STACK + 0x100, 99);
	maker_put(STACK + 0x2f8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->fp, 99);
	assert_int_equal(maker.walk->sp, STACK + 0x300);
}

static void a_cfa_in_memory_may_be_indexed_by_a_register(void **state)
{
	struct rule rule = cfa(7, 16);

	(void)state;
	rule.cfa_deref = true;
	rule.cfa_index = 9;
	make_process({CODE, rule});
	maker.regs.gpr[9] = 5;
	maker_put(STACK + 16 + 40, STACK + 0x200);
	maker_put(STACK + 0x1f8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK + 0x200);
}

static void a_return_address_may_be_in_a_register(void **state)
{
	struct rule rule = cfa(7, 0);

	(void)state;
	rule.ra = (struct saved){.kind = SAVED_LOST, .reg = 5};
	make_process({CODE, rule}, {CODE + 0x100, rule}, {CODE + 0x200, cfa(7, 8)});
	maker.regs.gpr[5] = ROOT_AT;
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK);
	maker.regs.pc = UPPER; /* the registers of a caller are not known */
	maker_put(STACK, MIDDLE);
	expect_walk(TRUNCATED_REGISTER, UPPER, MIDDLE);
}

static void every_register_may_hold_a_leafs_cfa(void **state)
{
	(void)state;
	for (uint8_t reg = 0; reg < ARCH_REGS; reg++) {
		make_process({CODE, cfa(reg, 20)});
		for (int i = 0; i < ARCH_REGS; i++)
			maker.regs.gpr[i] = i == ARCH_SP ? STACK : STACK + 0x6000;
		maker.regs.gpr[reg] = STACK + 4;
		maker_put(STACK + 16, ROOT_AT);
		expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	}
}

static void a_callers_register_is_not_known(void **state)
{
	(void)state;
	for (uint8_t reg = 0; reg < ARCH_REGS; reg++) {
		if (reg == ARCH_SP || reg == ARCH_FP || reg == ARCH_BX)
			continue;
		make_process(LEAF_ROW, {CODE + 0x100, cfa(reg, 8)});
		maker_put(STACK, MIDDLE);
		expect_walk(TRUNCATED_REGISTER, CODE, MIDDLE);
	}
}

static void rbx_is_followed_where_a_table_needs_it(void **state)
{
	struct rule saves = cfa(7, 32), by_bx = cfa(ARCH_BX, 16), lost = cfa(7, 20);

	(void)state;
	saves.bx = at_cfa(-24);
	by_bx.bx = (struct saved){.kind = SAVED_AT_REG, .offset = -8};
	lost.bx = (struct saved){.kind = SAVED_LOST};
	make_process(LEAF_ROW, {CODE + 0x100, saves}, {CODE + 0x200, by_bx}, {CODE + 0x300, lost});
	maker.regs.gpr[ARCH_BX] = 1;
	maker_put(STACK, MIDDLE);
	maker_put(STACK + 16, STACK + 0x100); /* rbx of UPPER */
	maker_put(STACK + 32, UPPER);
	maker_put(STACK + 0xf8, 42);
	maker_put(STACK + 0x108, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, MIDDLE, UPPER, ROOT_AT);
	assert_int_equal(maker.walk->sp, STACK + 0x110);
	assert_int_equal(maker.walk->bx, 42);
	maker.regs.pc = CODE + 0x300;
	maker_put(STACK + 12, UPPER);
	expect_walk(TRUNCATED_REGISTER, CODE + 0x300, UPPER);
}

static void rbx_is_not_known_behind_a_table_that_does_not_follow_it(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {CODE + 0x100, cfa(7, 20)});
	struct maker_row rows[] = {{0x800000, cfa(ARCH_BX, 16)}, {0x800100, cfa(7, 8)}};
	maker_map(0x800000, 0x1000);
	maker_span(maker_table(0x800000, 0x1000, rows, 2, 8192));
	maker.regs.gpr[ARCH_BX] = STACK + 0x100;
	maker_put(STACK, 0x800010);
	maker_put(STACK + 0x108, ROOT_AT);
	expect_walk(TRUNCATED_REGISTER, CODE, 0x800010);
	maker.regs.pc = CODE + 0x100; /* nor behind a rule of it */
	maker_put(STACK + 12, 0x800010);
	expect_walk(TRUNCATED_REGISTER, CODE + 0x100, 0x800010);
	maker_put(STACK, 0x800010);
	maker.regs.pc = 0x800110; /* which does */
	expect_walk(TRUNCATED_NOT, 0x800110, 0x800010, ROOT_AT);
}

static void a_lost_fp_ends_the_walk_where_it_is_needed(void **state)
{
	struct rule loses = cfa(7, 20);

	(void)state;
	loses.fp = (struct saved){.kind = SAVED_LOST};
	make_process({CODE, loses}, {CODE + 0x100, cfa(6, 16)}, {CODE + 0x200, cfa_fp(7, 16, -16)});
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	maker_put(STACK + 12, MIDDLE);
	expect_walk(TRUNCATED_REGISTER, CODE, MIDDLE);
	maker_put(STACK + 12, UPPER); /* it comes back when a frame has saved one */
	maker_put(STACK + 20, STACK + 0x200);
	maker_put(STACK + 28, MIDDLE);
	maker_put(STACK + 0x208, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, UPPER, MIDDLE, ROOT_AT);
}

/* glibc's description of the code that a signal handler returns to. */
static struct rule signal_rule(void)
{
	struct rule rule = cfa(7, 160);

	rule.cfa_deref = rule.signal = true;
	rule.ra = (struct saved){.kind = SAVED_AT_REG, .offset = 168};
	rule.fp = (struct saved){.kind = SAVED_AT_REG, .offset = 120};
	rule.bx = (struct saved){.kind = SAVED_AT_REG, .offset = 128};
	return rule;
}

#define RESTORER     (CODE + 0x1000)
#define INTERRUPTED  (CODE + 0x100) /* a function's first instruction */
#define SIGNAL_STACK (STACK + 0x4000)

static void behind_a_signal_all_registers_are_known(void **state)
{
	/* struct sigcontext, arch/x86/include/uapi/asm/sigcontext.h, by DWARF numbers */
	static const uint8_t slots[ARCH_REGS] = {13, 12, 14, 11, 9, 8, 10, 15,
						 0,  1,	 2,  3,	 4, 5, 6,  7};

	(void)state;
	for (uint8_t reg = 0; reg < ARCH_REGS; reg++) {
		make_process(LEAF_ROW, {INTERRUPTED, cfa(reg, 20)}, {RESTORER, signal_rule()});
		maker.regs.gpr[ARCH_SP] = SIGNAL_STACK;
		maker_put(SIGNAL_STACK, RESTORER + 1);
		for (uint64_t i = 0; i < 16; i++)
			maker_put(SIGNAL_STACK + 8 + 40 + i * 8, STACK + 0x3000);
		maker_put(SIGNAL_STACK + 8 + 160, STACK + 0x100); /* below: an alternate stack */
		maker_put(SIGNAL_STACK + 8 + 40 + slots[reg] * 8, STACK + 0x104);
		maker_put(SIGNAL_STACK + 8 + 168, INTERRUPTED);
		maker_put(STACK + 0x110, ROOT_AT);
		expect_walk(TRUNCATED_NOT, CODE, RESTORER + 1, INTERRUPTED, ROOT_AT);
		assert_int_equal(frame_kind_of(2), FRAME_NATIVE);
		assert_int_equal(frame_kind_of(3), FRAME_NATIVE_RETURN);
	}
}

static void a_signal_frame_that_cannot_be_read_ends_the_walk(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {RESTORER, signal_rule()});
	maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - 128;
	maker_put(STACK + STACK_BYTES - 128, RESTORER + 1);
	expect_walk(TRUNCATED_MEMORY, CODE, RESTORER + 1);
}

static void a_plt_stub_has_pushed_from_its_threshold_on(void **state)
{
	(void)state;
	make_process({CODE, {.kind = RULE_PLT, .plt_from = 11}});
	maker_put(STACK, ROOT_AT);
	maker_put(STACK + 8, ROOT_AT + 1);
	for (uint64_t at = CODE; at < CODE + 64; at++) {
		bool pushed = at % 16 >= 11;

		maker.regs.pc = at;
		expect_walk(TRUNCATED_NOT, at, pushed ? ROOT_AT + 1 : ROOT_AT);
		assert_int_equal(maker.walk->sp, STACK + (pushed ? 16 : 8));
	}
}

static void an_interrupted_root_is_a_whole_stack(void **state)
{
	(void)state;
	make_process(LEAF_ROW);
	maker.regs.pc = ROOT;
	expect_walk(TRUNCATED_NOT, ROOT);
}

static void what_no_rule_expresses_ends_the_walk(void **state)
{
	struct rule same = cfa(7, 20);

	(void)state;
	same.ra = (struct saved){.kind = SAVED_SAME};
	make_process({CODE, {.kind = RULE_UNSUPPORTED, .unsupported = UNSUPPORTED_SP}},
		     {CODE + 0x100, same});
	expect_walk(TRUNCATED_RULE, CODE);
	maker.regs.pc = MIDDLE;
	expect_walk(TRUNCATED_RULE, MIDDLE);
}

static void return_address_0_ends_a_whole_stack(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {CODE + 0x100, cfa(7, 16)});
	maker_put(STACK, MIDDLE);
	expect_walk(TRUNCATED_NOT, CODE, MIDDLE);
}

static void a_callers_frame_lies_above(void **state)
{
	struct rule stays = cfa(7, 0), below = cfa(7, 16);

	(void)state;
	stays.ra = (struct saved){.kind = SAVED_AT_CFA, .offset = 0};
	below.cfa_deref = true;
	make_process(LEAF_ROW, {CODE + 0x100, stays}, {CODE + 0x200, below});
	maker_put(STACK, MIDDLE);
	maker_put(STACK + 8, UPPER);
	expect_walk(TRUNCATED_ORDER, CODE, MIDDLE);
	maker.regs.pc = MIDDLE; /* a leaf's may be where it was */
	maker_put(STACK, ROOT_AT);
	expect_walk(TRUNCATED_NOT, MIDDLE, ROOT_AT);
	maker.regs.pc = UPPER;
	maker.regs.gpr[ARCH_SP] = STACK + 0x100;
	maker_put(STACK + 0x110, STACK + 0xf8);
	maker_put(STACK + 0xf0, ROOT_AT);
	expect_walk(TRUNCATED_ORDER, UPPER);
	maker_put(STACK + 0x110, STACK + 0x100);
	maker_put(STACK + 0xf8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, UPPER, ROOT_AT);
}

static void a_stack_that_cannot_be_read_ends_the_walk(void **state)
{
	(void)state;
	make_process(LEAF_ROW, {CODE + 0x100, cfa_fp(7, 32, -16)});
	maker.regs.gpr[ARCH_SP] = STACK - 8;
	expect_walk(TRUNCATED_MEMORY, CODE);
	maker.regs.gpr[ARCH_SP] = 0;
	expect_walk(TRUNCATED_MEMORY, CODE);
	maker.regs.gpr[ARCH_SP] = ~0ULL & ~7ULL;
	expect_walk(TRUNCATED_MEMORY, CODE);
	maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - 8;
	maker_put(STACK + STACK_BYTES - 8, MIDDLE);
	expect_walk(TRUNCATED_MEMORY, CODE, MIDDLE);
}

static void frames_deeper_than_are_walked_are_cut(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, 8)});
	for (uint64_t i = 0; i < STACK_BYTES / 8; i++)
		maker_put(STACK + i * 8, CODE + 0x10 + i % 8);
	maker_put(STACK + (USER_FRAMES_MAX - 2) * 8, ROOT_AT);
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(maker.walk->head.words_count, USER_FRAMES_MAX);
	assert_int_equal(maker.walk->words[USER_FRAMES_MAX - 1] & FRAME_ADDRESS, ROOT_AT);
	maker_put(STACK + (USER_FRAMES_MAX - 2) * 8, CODE + 1);
	assert_int_equal(maker_walk(), TRUNCATED_DEPTH);
	assert_in_range(maker.walk->head.words_count, USER_FRAMES_MAX, USER_FRAMES_MAX + 1);
	for (size_t i = 1; i < USER_FRAMES_MAX - 1; i++)
		assert_int_equal(maker.walk->words[i] & FRAME_ADDRESS, CODE + 0x10 + (i - 1) % 8);
}

static void a_buffer_that_the_kernel_filled_cuts_the_walk(void **state)
{
	(void)state;
	make_process(LEAF_ROW);
	for (uint64_t i = 0; i < STACK_BYTES / 8; i++)
		maker_put(STACK + i * 8, CODE + 1);
	maker.walk->head.words_count = NATIVE_WORDS_MAX - 2;
	maker.walk->frames_max = USER_FRAMES_MAX;
	maker.walk->user = maker.regs;
	assert_true(unwind_begin(maker.walk->level));
	unwind_user(maker.walk);
	assert_int_equal(maker.walk->head.truncated, TRUNCATED_DEPTH);
	assert_int_equal(maker.walk->head.words_count, NATIVE_WORDS_MAX);
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(a_row_by_sp_finds_the_return_address_below_the_cfa),
		WALK(the_largest_frame_of_a_row_is_stepped_over),
		WALK(a_row_by_fp_goes_from_the_fp_that_the_row_before_restored),
		WALK(fp_is_read_from_wherever_a_row_says),
		WALK(return_addresses_are_looked_up_at_the_byte_before),
		WALK(a_cfa_may_lie_in_memory),
		WALK(a_realigned_stack_keeps_its_cfa_below_fp),
		WALK(a_cfa_in_memory_may_be_indexed_by_a_register),
		WALK(a_return_address_may_be_in_a_register),
		WALK(every_register_may_hold_a_leafs_cfa),
		WALK(a_callers_register_is_not_known),
		WALK(rbx_is_followed_where_a_table_needs_it),
		WALK(rbx_is_not_known_behind_a_table_that_does_not_follow_it),
		WALK(a_lost_fp_ends_the_walk_where_it_is_needed),
		WALK(behind_a_signal_all_registers_are_known),
		WALK(a_signal_frame_that_cannot_be_read_ends_the_walk),
		WALK(a_plt_stub_has_pushed_from_its_threshold_on),
		WALK(an_interrupted_root_is_a_whole_stack),
		WALK(what_no_rule_expresses_ends_the_walk),
		WALK(return_address_0_ends_a_whole_stack),
		WALK(a_callers_frame_lies_above),
		WALK(a_stack_that_cannot_be_read_ends_the_walk),
		WALK(frames_deeper_than_are_walked_are_cut),
		WALK(a_buffer_that_the_kernel_filled_cuts_the_walk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
