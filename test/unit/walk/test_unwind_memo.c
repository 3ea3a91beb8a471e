// SPDX-License-Identifier: GPL-2.0-or-later
/* Reuse of stacks: a walk is known when nothing that it came from has changed, and only then. */
#include "unit/walk/walk_rules.h"

#define HELPER (CODE + 0x10)
#define CALLER (CODE + 0x110)
#define OTHER  (CODE + 0x210) /* of the same frame size */
#define WORDS  12

/* Reads words 0, 3 and 4. */
static void make_stack(void)
{
	make_process({CODE, cfa(7, 8)}, {CODE + 0x100, cfa_fp(7, 32, -16)});
	maker.regs.pc = HELPER;
	maker_put(STACK, CALLER);
	maker_put(STACK + 24, STACK + 0x1000);
	maker_put(STACK + 32, ROOT_AT);
}

static void walk_it(void)
{
	make_stack();
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
}

static void the_same_registers_and_words_are_the_same_stack(void **state)
{
	uint64_t hash;

	(void)state;
	make_stack();
	assert_false(maker_is_known());
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	hash = maker.walk->head.key.hash;
	for (int i = 0; i < 3; i++)
		assert_true(maker_is_known());
	assert_int_equal(memo_at(maker.walk->memo)->user_hash, hash);
	assert_int_equal(memo_at(maker.walk->memo)->truncated, TRUNCATED_NOT);
}

static void each_word_that_was_read_counts_and_no_other(void **state)
{
	(void)state;
	walk_it();
	for (uint64_t word = 0; word < WORDS; word++) {
		uint64_t was;

		memcpy(&was, maker_memory(STACK + word * 8, 8), 8);
		for (int bit = 0; bit < 64; bit++) {
			maker_put(STACK + word * 8, was ^ 1ULL << bit);
			assert_int_equal(maker_is_known(), word != 0 && word != 3 && word != 4);
		}
		maker_put(STACK + word * 8, was);
		assert_true(maker_is_known());
	}
}

static void expect_counting(int one)
{
	for (int reg = 0; reg < ARCH_REGS; reg++) {
		maker.regs.gpr[reg] += 8;
		assert_int_equal(maker_is_known(), reg != ARCH_SP && reg != one);
		maker.regs.gpr[reg] -= 8;
	}
	assert_true(maker_is_known());
}

static void each_register_that_the_walk_looked_at_counts_and_no_other(void **state)
{
	static const int used[] = {ARCH_FP, ARCH_BX};

	(void)state;
	walk_it();
	expect_counting(ARCH_SP);
	maker.regs.pc++;
	assert_false(maker_is_known());
	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		process_end(state);
		make_process({CODE, cfa(used[i], 16)});
		maker.regs.pc = HELPER;
		maker.regs.gpr[used[i]] = STACK;
		maker_put(STACK + 8, ROOT_AT);
		expect_walk(TRUNCATED_NOT, HELPER, ROOT_AT);
		expect_counting(used[i]);
	}
}

static void each_word_of_a_deep_stack_counts(void **state)
{
	const int frames = 40;

	(void)state;
	make_process({CODE, cfa(7, 16)});
	maker.regs.pc = HELPER;
	for (int i = 0; i < frames; i++)
		maker_put(STACK + 16 * i + 8, i < frames - 1 ? HELPER : ROOT_AT);
	maker_walk();
	assert_int_equal(maker.walk->head.truncated, TRUNCATED_NOT);
	assert_int_equal(maker.walk->head.words_count, frames + 1);
	for (int i = 0; i < frames; i++) {
		maker_put(STACK + 16 * i + 8, HELPER + 4);
		assert_false(maker_is_known());
		maker_put(STACK + 16 * i + 8, i < frames - 1 ? HELPER : ROOT_AT);
		assert_true(maker_is_known());
	}
}

static void a_helper_called_from_another_function_is_another_stack(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, 8)}, {CODE + 0x100, cfa(7, 32)}, {CODE + 0x200, cfa(7, 32)});
	maker.regs.pc = HELPER;
	maker_put(STACK, CALLER);
	maker_put(STACK + 32, ROOT_AT);
	expect_walk(TRUNCATED_NOT, HELPER, CALLER, ROOT_AT);
	maker_put(STACK, OTHER); /* the same pc and sp */
	assert_false(maker_is_known());
	expect_walk(TRUNCATED_NOT, HELPER, OTHER, ROOT_AT);
	assert_true(maker_is_known());
	maker_put(STACK, CALLER); /* of two, the last walk counts */
	assert_false(maker_is_known());
}

static void a_stack_is_a_threads_a_processs_and_a_windows_own(void **state)
{
	struct walk *walk;

	(void)state;
	walk_it();
	walk = maker.walk;
	walk->tid += MEMO_SLOTS; /* of the same place */
	assert_false(maker_is_known());
	walk->tid -= MEMO_SLOTS - 1; /* of the next one */
	assert_false(maker_is_known());
	walk->tid--;
	assert_true(maker_is_known());
	walk->head.target_id++;
	assert_false(maker_is_known());
	walk->head.target_id--;
	walk->head.window++;
	assert_false(maker_is_known());
	walk->head.window--;
	walk->spans += SPAN_WORDS;
	assert_false(maker_is_known());
	walk->spans -= SPAN_WORDS;
	assert_true(maker_is_known());
}

static void a_later_thread_takes_an_earlier_ones_place(void **state)
{
	(void)state;
	walk_it();
	maker.walk->tid += MEMO_SLOTS;
	maker_walk();
	assert_true(maker_is_known());
	maker.walk->tid -= MEMO_SLOTS;
	assert_false(maker_is_known());
	maker.walk->tid += 1;
	maker_walk();
	maker.walk->tid -= 1;
	maker_walk();
	assert_true(maker_is_known());
	maker.walk->tid += 1;
	assert_true(maker_is_known());
}

static void a_stack_that_is_gone_is_not_known(void **state)
{
	(void)state;
	walk_it();
	maker.pieces[0].start += STACK_BYTES;
	assert_false(maker_is_known());
	maker.pieces[0].start -= STACK_BYTES;
	assert_true(maker_is_known());
}

static void a_walk_after_a_comparison_that_failed_reads_for_itself(void **state)
{
	struct walk *walk;

	(void)state;
	walk_it();
	walk = maker.walk;
	maker.pieces[0].start += STACK_BYTES;
	assert_false(maker_is_known());
	walk->head.words_count = 0;
	unwind_user(walk);
	assert_int_equal(walk->head.truncated, TRUNCATED_MEMORY);
	assert_int_equal(walk->head.words_count, 1);
}

static void a_stack_at_its_mappings_end_is_known(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, 8)});
	maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - 8;
	maker_put(STACK + STACK_BYTES - 8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_true(maker_is_known());
}

static void walks_that_read_code_leave_nothing(void **state)
{
	(void)state;
	walk_it();
	maker.regs.pc = BARE + 0x100;
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	maker_put(STACK + 0x108, CALLER);
	maker_call(CALLER, BARE);
	maker_put(STACK + 0x110 + 24, ROOT_AT);
	expect_walk(TRUNCATED_NOT, BARE + 0x100, CALLER, ROOT_AT);
	assert_false(maker_is_known());
}

static void walks_by_other_registers_leave_nothing(void **state)
{
	(void)state;
	make_process({CODE, cfa(12, 8)});
	maker.regs.gpr[12] = STACK;
	maker_put(STACK, ROOT_AT);
	maker.regs.gpr[ARCH_SP] = STACK - 64;
	maker_map(STACK - 64, 64);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_false(maker_is_known());
}

static void walks_off_the_aligned_stack_leave_nothing(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, 8)});
	maker.regs.gpr[ARCH_SP] = STACK + 3;
	maker_put(STACK + 3, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_false(maker_is_known());
	make_process({CODE, cfa(6, 20)}); /* an unaligned word above an aligned sp */
	maker.regs.gpr[ARCH_FP] = STACK;
	maker_put(STACK + 12, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_false(maker_is_known());
	make_process({CODE, cfa(6, 16)}); /* an aligned word above an unaligned sp */
	maker.regs.gpr[ARCH_SP] = STACK + 3;
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	maker_put(STACK + 0x100, ROOT_AT);
	maker_put(STACK + 0x108, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	maker_put(STACK + 0x108, CODE + 1);
	assert_false(maker_is_known());
	make_process({CODE, cfa(6, 16)}); /* below sp */
	maker.regs.gpr[ARCH_SP] = STACK + 16;
	maker.regs.gpr[ARCH_FP] = STACK;
	maker_put(STACK + 8, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_false(maker_is_known());
}

static void walks_of_more_words_than_are_kept_leave_nothing(void **state)
{
	(void)state;
	make_process({CODE, cfa(7, 8)});
	for (uint64_t i = 0; i < MEMO_WORDS; i++)
		maker_put(STACK + i * 8, CODE + 1);
	maker_put(STACK + (MEMO_WORDS - 1) * 8, ROOT_AT);
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_true(maker_is_known());
	maker_put(STACK + (MEMO_WORDS - 1) * 8, CODE + 1);
	assert_false(maker_is_known());
	maker_put(STACK + MEMO_WORDS * 8, ROOT_AT);
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_false(maker_is_known());
}

static void words_are_kept_up_to_a_distance_from_sp(void **state)
{
	uint64_t far = STACK + (MEMO_AT_MAX - 1) * 8ULL;

	(void)state;
	for (int i = 0; i < 2; i++, far += 8) {
		make_process({CODE, cfa(6, 16)});
		maker_map(far - 0x1000, 0x2000);
		maker.regs.gpr[ARCH_FP] = far;
		maker_put(far + 8, ROOT_AT);
		maker_put(STACK, ROOT_AT); /* 0x10000 words below */
		expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
		assert_int_equal(maker_is_known(), i == 0);
		maker_put(far + 8, ROOT_AT + 1);
		assert_false(maker_is_known());
	}
}

static void what_was_cut_is_cut_again_while_the_mappings_are_the_same(void **state)
{
	(void)state;
	walk_it();
	maker_put(STACK, 0x1234567);
	expect_walk(TRUNCATED_ADDRESS, HELPER);
	assert_true(maker_is_known());
	assert_int_equal(memo_at(maker.walk->memo)->truncated, TRUNCATED_ADDRESS);
	maker.walk->spans += SPAN_WORDS; /* others, read in the meantime */
	assert_false(maker_is_known());
	maker.walk->spans = 0;
	maker.walk->spans_count = 0;
	expect_walk(TRUNCATED_TABLE_PENDING, HELPER);
	assert_true(maker_is_known());
	assert_int_equal(memo_at(maker.walk->memo)->truncated, TRUNCATED_TABLE_PENDING);
	maker.walk->spans = MAKER_SPANS;
	maker.walk->spans_count = maker.spans_count;
	assert_false(maker_is_known());
}

static void a_walk_that_could_not_read_leaves_nothing(void **state)
{
	(void)state;
	make_stack();
	maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - 8;
	maker_put(STACK + STACK_BYTES - 8, CALLER);
	expect_walk(TRUNCATED_MEMORY, HELPER, CALLER);
	assert_false(maker_is_known());
}

static void a_signals_walk_is_known_where_it_stays_on_one_stack(void **state)
{
	struct rule rule = cfa(7, 160);
	uint64_t frame = STACK + 8;

	(void)state;
	rule.cfa_deref = rule.signal = true;
	rule.ra = (struct saved){.kind = SAVED_AT_REG, .offset = 168};
	rule.fp = (struct saved){.kind = SAVED_AT_REG, .offset = 120};
	for (int other = 0; other < 2; other++) { /* a register of the frame that it interrupted */
		make_process({CODE, cfa(7, 8)}, {CODE + 0x100, cfa(other ? 8 : 7, 8)},
			     {CODE + 0x200, rule});
		maker_put(STACK, CODE + 0x201);
		maker_put(frame + 40, STACK + 0x1000);	/* r8 */
		maker_put(frame + 160, STACK + 0x1000); /* sp */
		maker_put(frame + 168, CODE + 0x100);	/* pc */
		maker_put(STACK + 0x1000, ROOT_AT);
		expect_walk(TRUNCATED_NOT, CODE, CODE + 0x201, CODE + 0x100, ROOT_AT);
		assert_int_equal(maker_is_known(), !other);
	}
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(the_same_registers_and_words_are_the_same_stack),
		WALK(each_word_that_was_read_counts_and_no_other),
		WALK(each_word_of_a_deep_stack_counts),
		WALK(each_register_that_the_walk_looked_at_counts_and_no_other),
		WALK(a_helper_called_from_another_function_is_another_stack),
		WALK(a_stack_is_a_threads_a_processs_and_a_windows_own),
		WALK(a_later_thread_takes_an_earlier_ones_place),
		WALK(a_stack_that_is_gone_is_not_known),
		WALK(a_walk_after_a_comparison_that_failed_reads_for_itself),
		WALK(a_stack_at_its_mappings_end_is_known),
		WALK(walks_that_read_code_leave_nothing),
		WALK(walks_by_other_registers_leave_nothing),
		WALK(walks_off_the_aligned_stack_leave_nothing),
		WALK(walks_of_more_words_than_are_kept_leave_nothing),
		WALK(words_are_kept_up_to_a_distance_from_sp),
		WALK(what_was_cut_is_cut_again_while_the_mappings_are_the_same),
		WALK(a_walk_that_could_not_read_leaves_nothing),
		WALK(a_signals_walk_is_known_where_it_stays_on_one_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
