// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder in 32-bit code: words of four bytes, by tables and by frame pointers. */
#include "unit/walk/walk_rules.h"

#define LOW_STACK 0xffc00000 /* a 32-bit process's */
#define LEAF	  (CODE + 0x10)
#define MIDDLE	  (CODE + 0x110)
#define JUNK	  0xdeadbeef /* what lies beside a word isn't part of it */

static struct rule narrow_cfa(uint8_t reg, int32_t offset)
{
	struct rule rule = cfa(reg, offset);

	rule.ra = at_cfa(-4);
	return rule;
}

static void put_word(uint64_t address, uint32_t word)
{
	maker_poke(address, &word, sizeof(word));
}

/* As make_process(). */
static void make_narrow(const struct maker_row *rows, size_t count)
{
	struct maker_row all[8];

	maker_begin();
	maker.narrow = true;
	maker.regs.wide = false;
	maker_map(LOW_STACK, STACK_BYTES);
	for (uint64_t at = 0; at < STACK_BYTES; at += 4)
		put_word(LOW_STACK + at, JUNK);
	memcpy(all, rows, count * sizeof(*rows));
	all[count++] = (struct maker_row){ROOT, {.kind = RULE_END}};
	all[count++] = (struct maker_row){ROOT + 0x100, {.kind = RULE_NONE}};
	maker_map(CODE, CODE_BYTES);
	maker_span(maker_table(CODE, CODE_BYTES, all, count, MAKER_TABLE));
	maker_code(BARE, CODE_BYTES, SPAN_BARE);
	maker.regs.gpr[ARCH_SP] = LOW_STACK;
	maker.regs.gpr[ARCH_FP] = 1;
	maker.regs.pc = LEAF;
}

#define make_narrow(...)                                                                           \
	do {                                                                                       \
		const struct maker_row rows_[] = {__VA_ARGS__};                                    \
		make_narrow(rows_, sizeof(rows_) / sizeof(rows_[0]));                              \
	} while (0)

static void return_addresses_are_words_of_four_bytes(void **state)
{
	(void)state;
	make_narrow({CODE, narrow_cfa(7, 4)}, {CODE + 0x100, narrow_cfa(7, 20)});
	put_word(LOW_STACK, MIDDLE);
	put_word(LOW_STACK + 4 + 16,
		 ROOT_AT); /* in the lower half of eight bytes, then the upper */
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, ROOT_AT);
	assert_int_equal(maker.walk->sp, LOW_STACK + 4 + 20);
	maker.regs.gpr[ARCH_SP] = LOW_STACK + 4;
	put_word(LOW_STACK + 4, MIDDLE);
	put_word(LOW_STACK + 8 + 16, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, ROOT_AT);
}

static void fp_is_followed_where_a_rule_says_so(void **state)
{
	struct rule saves = narrow_cfa(7, 12);

	(void)state;
	saves.fp = at_cfa(-12);
	make_narrow({CODE, saves}, {CODE + 0x100, narrow_cfa(6, 8)});
	put_word(LOW_STACK, LOW_STACK + 0x404);
	put_word(LOW_STACK + 8, MIDDLE);
	put_word(LOW_STACK + 0x408, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, MIDDLE, ROOT_AT);
}

static void a_cfa_may_lie_in_memory(void **state)
{
	struct rule rule = narrow_cfa(6, -4);

	(void)state;
	rule.cfa_deref = true;
	make_narrow({CODE, rule});
	maker.regs.gpr[ARCH_FP] = LOW_STACK + 0x100;
	put_word(LOW_STACK + 0xfc, LOW_STACK + 0x20c);
	put_word(LOW_STACK + 0x208, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, ROOT_AT);
}

static void entries_of_the_plt_push_words_of_four_bytes(void **state)
{
	(void)state;
	make_narrow({CODE, {.kind = RULE_PLT, .plt_from = 11}});
	maker.regs.pc = CODE;
	put_word(LOW_STACK, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	maker.regs.pc = CODE + 12;
	put_word(LOW_STACK, JUNK);
	put_word(LOW_STACK + 4, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE + 12, ROOT_AT);
}

static void a_word_at_the_end_of_memory_is_read(void **state)
{
	(void)state;
	make_narrow({CODE, narrow_cfa(7, 4)});
	maker.regs.gpr[ARCH_SP] = LOW_STACK + STACK_BYTES - 4;
	put_word(LOW_STACK + STACK_BYTES - 4, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, ROOT_AT);
	maker.regs.gpr[ARCH_SP] = LOW_STACK + STACK_BYTES;
	expect_walk(TRUNCATED_MEMORY, LEAF);
}

static void code_without_rows_is_walked_by_frame_pointers(void **state)
{
	static const uint8_t body[] = {0x90, 0x90}, pushed[] = {0x89, 0xe5};
	static const uint8_t thunk[] = {0x8b, 0x1c, 0x24, 0xc3};

	(void)state;
	make_narrow({CODE, narrow_cfa(7, 4)});
	maker.regs.pc = BARE + 0x40;
	maker_poke(BARE + 0x40, body, sizeof(body));
	maker_call(ROOT_AT, BARE);
	maker.regs.gpr[ARCH_FP] = LOW_STACK + 0x24;
	put_word(LOW_STACK + 0x24, LOW_STACK + 0x104);
	put_word(LOW_STACK + 0x28, ROOT_AT);
	expect_walk(TRUNCATED_NOT, BARE + 0x40, ROOT_AT);
	assert_int_equal(maker.walk->fp, LOW_STACK + 0x104);
	maker_poke(BARE + 0x40, pushed, sizeof(pushed));
	put_word(LOW_STACK, LOW_STACK + 0x24);
	put_word(LOW_STACK + 4, ROOT_AT);
	expect_walk(TRUNCATED_NOT, BARE + 0x40, ROOT_AT);
	assert_int_equal(maker.walk->sp, LOW_STACK + 8);
	maker_poke(BARE + 0x40, thunk, sizeof(thunk));
	put_word(LOW_STACK, ROOT_AT);
	expect_walk(TRUNCATED_NOT, BARE + 0x40, ROOT_AT);
	assert_int_equal(maker.walk->sp, LOW_STACK + 4);
}

static void a_stack_is_never_taken_for_the_same_again(void **state)
{
	(void)state;
	make_narrow({CODE, narrow_cfa(7, 4)});
	put_word(LOW_STACK, ROOT_AT);
	expect_walk(TRUNCATED_NOT, LEAF, ROOT_AT);
	assert_false(maker_is_known()); /* memos count in words of eight bytes */
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(return_addresses_are_words_of_four_bytes),
		WALK(fp_is_followed_where_a_rule_says_so),
		WALK(a_cfa_may_lie_in_memory),
		WALK(entries_of_the_plt_push_words_of_four_bytes),
		WALK(a_word_at_the_end_of_memory_is_read),
		WALK(code_without_rows_is_walked_by_frame_pointers),
		WALK(a_stack_is_never_taken_for_the_same_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
