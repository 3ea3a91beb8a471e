// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the unwinder looks things up: mappings, rows, rules, words of a stack, at every border. */
#include "unit/walk/walk_rules.h"

#include "unwind/image_row.h"

/* A mapping at every 0x3000, 0x2000 long. */
#define STRIDE 0x3000ULL
#define LENGTH 0x2000ULL

static void only_spans(uint32_t count)
{
	maker_begin();
	maker_word(MAKER_SPANS - SPAN_WORDS + 2, STRIDE); /* before them: [0, STRIDE), not theirs */
	maker_word(MAKER_SPANS - 1, SPAN_NO_TABLE << SPAN_KIND_SHIFT);
	for (uint32_t i = 1; i <= count; i++)
		maker_span((struct span){i * STRIDE, i * STRIDE + LENGTH, 0, 0,
					 SPAN_NO_TABLE << SPAN_KIND_SHIFT});
	maker.walk->spans_count = count;
}

static bool is_mapped(uint64_t pc)
{
	maker.regs.pc = pc;
	return maker_walk() == TRUNCATED_NO_TABLE;
}

static void addresses_are_found_among_any_number_of_mappings(void **state)
{
	static const uint32_t counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 100, SPANS_MAX - 1, SPANS_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		only_spans(counts[i]);
		for (uint64_t at = STRIDE; at <= counts[i] * STRIDE; at += STRIDE) {
			assert_false(is_mapped(at - 1));
			assert_true(is_mapped(at));
			assert_true(is_mapped(at + LENGTH - 1));
			assert_false(is_mapped(at + LENGTH)); /* a gap */
		}
		assert_false(is_mapped(0));
		assert_false(is_mapped(~0ULL));
		assert_int_equal(maker.walk->head.truncated, TRUNCATED_ADDRESS);
	}
}

static void without_mappings_the_tables_are_on_their_way(void **state)
{
	(void)state;
	only_spans(0);
	maker.regs.pc = STRIDE;
	expect_walk(TRUNCATED_TABLE_PENDING, STRIDE);
}

static void mappings_side_by_side_are_two(void **state)
{
	(void)state;
	maker_begin();
	maker_span((struct span){0x1000, 0x2000, 0, 0, SPAN_NO_TABLE << SPAN_KIND_SHIFT});
	maker_span((struct span){0x2000, 0x3000, 0, 0, SPAN_PENDING << SPAN_KIND_SHIFT});
	maker.regs.pc = 0x1fff;
	expect_walk(TRUNCATED_NO_TABLE, 0x1fff);
	maker.regs.pc = 0x2000;
	expect_walk(TRUNCATED_TABLE_PENDING, 0x2000);
}

static void mappings_beyond_their_chunk_are_not_there(void **state)
{
	(void)state;
	maker_begin();
	maker.walk->spans = CHUNK_WORDS - SPAN_WORDS;
	maker_span((struct span){0x1000, 0x2000, 0, 0, SPAN_NO_TABLE << SPAN_KIND_SHIFT});
	assert_true(is_mapped(0x1000));
	maker.walk->spans_count = 1000; /* ASan watches */
	is_mapped(0x1000);
	is_mapped(0x9000);
	maker.walk->spans = MAKER_CHUNKS * CHUNK_WORDS; /* in no chunk */
	assert_false(is_mapped(0x1000));
}

static void a_caller_in_code_without_its_table_ends_the_walk_with_its_cause(void **state)
{
	static const struct {
		unsigned kind, why;
	} kinds[] = {
		{SPAN_PENDING, TRUNCATED_TABLE_PENDING},
		{SPAN_NO_TABLE, TRUNCATED_NO_TABLE},
		{SPAN_KIND_MASK, TRUNCATED_NO_TABLE}, /* none that is known */
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		make_process({CODE, cfa(7, 8)});
		maker_span(
			(struct span){0x700000, 0x701000, 0, 0, kinds[i].kind << SPAN_KIND_SHIFT});
		maker_put(STACK, 0x701000); /* a call at its end */
		expect_walk(kinds[i].why, CODE, 0x701000);
		maker_put(STACK, 0x701001);
		expect_walk(TRUNCATED_ADDRESS, CODE);
		maker_put(STACK, 0x700000); /* the byte before is another's */
		expect_walk(TRUNCATED_ADDRESS, CODE);
	}
}

/* ---- rows ---- */

#define ROWS_MAX 4000

static struct maker_row rows[ROWS_MAX];

/* Any rule, but not the one before it. */
static struct rule any_rule(uint64_t *seed, const struct rule *last)
{
	struct rule rule;

	do {
		uint64_t random = random_next(seed);

		memset(&rule, 0, sizeof(rule));
		switch (random % 8) {
		case 0:
			rule.kind = random & 256 ? RULE_NONE : RULE_END;
			break;
		case 1: /* a rule of its own */
			rule = cfa(random >> 8 & 15, (int32_t)(random >> 16 & 0xff) * 4 + 2);
			break;
		default:
			rule = cfa(7, (int32_t)(random >> 8 & 0x3ff) * 8);
		}
	} while (rule_is_equal(&rule, last));
	return rule;
}

/* Rows mostly close to each other, with gaps of blocks, and at blocks' borders. */
static size_t any_rows(uint64_t *seed, uint64_t bytes)
{
	struct rule last = {.kind = RULE_NONE};
	uint64_t address = CODE;
	size_t count = 0;

	while (count < ROWS_MAX && address < CODE + bytes) {
		uint64_t random = random_next(seed);

		rows[count].address = address;
		last = rows[count++].rule = any_rule(seed, &last);
		if (random % 64 == 0)
			address += random >> 8 & 0xfff;
		else if (random % 64 < 4)
			address = (address | (BLOCK_BYTES - 1)) + random % 2;
		else
			address += random >> 8 & 15;
		address += address == rows[count - 1].address;
	}
	return count;
}

static void check_row(const struct span *span, uint64_t address, const struct rule *expected)
{
	uint32_t row = row_find(0, address);
	struct rule rule;

	if ((row >> ROW_KIND_SHIFT & ROW_KIND_MASK) == ROW_RULE) {
		struct table_rule packed;

		assert_true(rule_read(span, row & ROW_PAYLOAD, &packed));
		rule_unpack(&packed, &rule);
	} else {
		row_unpack(row_format_of(MAKER_MACHINE), row, &rule);
	}
	if (!rule_is_equal(&rule, expected))
		fail_msg("at %#llx: another row", (unsigned long long)address);
}

static void check_table(uint64_t *seed, uint64_t bytes, uint32_t place)
{
	const struct rule none = {.kind = RULE_NONE};
	size_t count, next = 0;
	struct span span;

	maker_begin();
	count = any_rows(seed, bytes);
	span = maker_table(CODE, bytes, rows, count, place);
	maker.walk->span = span;
	for (uint64_t at = CODE; at < CODE + bytes; at++) {
		while (next < count && rows[next].address <= at)
			next++;
		check_row(&span, at, &rows[next - 1].rule);
	}
	check_row(&span, CODE - 1, &none);
	check_row(&span, 0, &none);
	check_row(&span, ~0ULL, &none);
	check_row(&span, CODE + 0x100000, &none);
	assert_int_equal(row_find(0, CODE + (span.what & TABLE_BLOCKS_MAX) * BLOCK_BYTES),
			 ROW_NONE);
}

static void every_address_has_the_row_that_began_at_or_before_it(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 20; i++)
		check_table(&seed, CODE_BYTES, MAKER_TABLE);
}

static void tables_are_read_wherever_they_cross_a_chunks_end(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (uint32_t before = 1; before < 200; before++)
		check_table(&seed, 0x1000, CHUNK_WORDS - before);
	for (uint32_t before = 200; before < 4000; before += 333)
		check_table(&seed, CODE_BYTES, 2 * CHUNK_WORDS - before);
}

static void a_block_may_have_a_row_at_each_of_its_bytes(void **state)
{
	struct span span;

	(void)state;
	maker_begin();
	for (uint32_t i = 0; i < 2 * BLOCK_BYTES; i++)
		rows[i] = (struct maker_row){CODE + i, cfa(7, 8 + (int32_t)(i % 7) * 8)};
	span = maker_table(CODE, 2 * BLOCK_BYTES, rows, 2 * BLOCK_BYTES, MAKER_TABLE);
	maker.walk->span = span;
	for (uint32_t i = 0; i < 2 * BLOCK_BYTES; i++)
		check_row(&span, CODE + i, &rows[i].rule);
}

/* ---- words of the stack ---- */

static void words_are_read_up_to_a_mappings_end(void **state)
{
	(void)state;
	for (uint64_t words = 1; words <= 3 * WINDOW_WORDS; words++) {
		make_process({CODE, cfa(7, 8)});
		maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - words * 8;
		for (uint64_t i = 0; i < words; i++)
			maker_put(maker.regs.gpr[ARCH_SP] + i * 8, CODE + 0x10 + i % 0x1000);
		maker_put(STACK + STACK_BYTES - 8, ROOT_AT);
		assert_int_equal(maker_walk(), TRUNCATED_NOT);
		assert_int_equal(maker.walk->head.words_count, words + 1);
		for (uint64_t i = 0; i + 1 < words; i++)
			assert_int_equal(maker.walk->words[i + 1] & FRAME_ADDRESS,
					 CODE + 0x10 + i % 0x1000);
		maker_put(STACK + STACK_BYTES - 8, CODE + 1); /* and not behind it */
		assert_int_equal(maker_walk(), TRUNCATED_MEMORY);
	}
}

static void words_are_read_across_windows_and_pages_at_any_step(void **state)
{
	(void)state;
	for (int32_t step = 8; step <= 1200; step += 8) {
		uint64_t reads, count = 20;

		make_process({CODE, cfa(7, step)});
		maker.regs.gpr[ARCH_SP] = STACK + (uint64_t)step % 512;
		for (uint64_t i = 1; i <= count; i++)
			maker_put(maker.regs.gpr[ARCH_SP] + i * (uint64_t)step - 8,
				  i < count ? CODE + 0x10 + i : ROOT_AT);
		reads = maker.reads;
		assert_int_equal(maker_walk(), TRUNCATED_NOT);
		assert_int_equal(maker.walk->head.words_count, count + 1);
		for (uint64_t i = 1; i < count; i++)
			assert_int_equal(maker.walk->words[i] & FRAME_ADDRESS, CODE + 0x10 + i);
		assert_true(maker.reads - reads <= 2 + count * (uint64_t)step / 448);
	}
}

static void a_word_may_be_read_from_a_window_left_before(void **state)
{
	struct rule far = cfa(7, 16);

	(void)state;
	far.cfa_deref = true;
	far.fp = (struct saved){.kind = SAVED_AT_REG, .offset = 0}; /* back where the first lay */
	make_process({CODE, far});
	maker_put(STACK, 55);
	maker_put(STACK + 16, STACK + 0x2008);
	maker_put(STACK + 0x2000, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE, ROOT_AT);
	assert_int_equal(maker.walk->fp, 55);
}

static void a_stack_need_not_be_aligned(void **state)
{
	(void)state;
	for (uint64_t off = 1; off < 8; off++) {
		make_process({CODE, cfa_fp(7, 24, -16)});
		for (uint64_t at = STACK + off; at < STACK + 0x1000; at += 24) {
			maker_put(at + 8, at);
			maker_put(at + 16, at < STACK + 0xf00 ? CODE + at % 0x1000 : ROOT_AT);
		}
		maker.regs.gpr[ARCH_SP] = STACK + off;
		assert_int_equal(maker_walk(), TRUNCATED_NOT);
		assert_int_equal(maker.walk->head.words_count, 2 + 0xf00 / 24);
		assert_int_equal(maker.walk->words[5] & FRAME_ADDRESS,
				 CODE + (STACK + off + 4 * 24) % 0x1000);
		maker.regs.gpr[ARCH_SP] = STACK + STACK_BYTES - 24 + off;
		expect_walk(TRUNCATED_MEMORY, CODE);
	}
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(addresses_are_found_among_any_number_of_mappings),
		WALK(without_mappings_the_tables_are_on_their_way),
		WALK(mappings_side_by_side_are_two),
		WALK(mappings_beyond_their_chunk_are_not_there),
		WALK(a_caller_in_code_without_its_table_ends_the_walk_with_its_cause),
		WALK(every_address_has_the_row_that_began_at_or_before_it),
		WALK(tables_are_read_wherever_they_cross_a_chunks_end),
		WALK(a_block_may_have_a_row_at_each_of_its_bytes),
		WALK(words_are_read_up_to_a_mappings_end),
		WALK(words_are_read_across_windows_and_pages_at_any_step),
		WALK(a_word_may_be_read_from_a_window_left_before),
		WALK(a_stack_need_not_be_aligned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
