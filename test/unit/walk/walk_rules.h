/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What unit tests of the walk have in common: a stack, code at fixed places, rules, frames. */
#pragma once

#include "unit/lib/unit.h"
#include "unit/walk/walk_maker.h"

#define STACK	    0x7ffc00000000
#define STACK_BYTES 0x8000
#define CODE	    0x400000 /* with a table */
#define BARE	    0x600000 /* without */
#define CODE_BYTES  0x10000
#define ROOT	    (CODE + 0x8000) /* that nobody called */
#define ROOT_AT	    (ROOT + 0x20)

static inline struct saved at_cfa(int32_t offset)
{
	return (struct saved){.kind = SAVED_AT_CFA, .offset = offset};
}

static inline struct rule cfa(uint8_t reg, int32_t offset)
{
	return (struct rule){
		.kind = RULE_CFA,
		.cfa_reg = reg,
		.cfa_offset = offset,
		.ra = {.kind = SAVED_AT_CFA, .offset = -8},
	};
}

static inline struct rule cfa_fp(uint8_t reg, int32_t offset, int32_t fp)
{
	struct rule rule = cfa(reg, offset);

	rule.fp = at_cfa(fp);
	return rule;
}

/* A stack, code with a table of these rows and a root behind them, code without one. */
static inline void make_process_at(const struct maker_row *rows, size_t count, uint32_t place)
{
	struct maker_row all[64];

	maker_begin();
	maker_map(STACK, STACK_BYTES);
	memcpy(all, rows, count * sizeof(*rows));
	all[count++] = (struct maker_row){ROOT, {.kind = RULE_END}};
	all[count++] = (struct maker_row){ROOT + 0x100, {.kind = RULE_NONE}};
	maker_map(CODE, CODE_BYTES);
	maker_span(maker_table(CODE, CODE_BYTES, all, count, place));
	maker_code(BARE, CODE_BYTES, SPAN_BARE);
	maker.regs.gpr[ARCH_SP] = STACK;
	maker.regs.gpr[ARCH_FP] = 1; /* no frame's */
	maker.regs.pc = CODE;
}

#define make_process(...)                                                                          \
	do {                                                                                       \
		const struct maker_row rows_[] = {__VA_ARGS__};                                    \
		make_process_at(rows_, sizeof(rows_) / sizeof(rows_[0]), MAKER_TABLE);             \
	} while (0)

static inline int process_end(void **state)
{
	(void)state;
	maker_done();
	return 0;
}

/* What the walk has to come to: the cause and the frames' addresses. */
static inline void check_walk(int line, unsigned why, const uint64_t *frames, size_t count)
{
	unsigned is = maker_walk();

	for (size_t i = 0; i < count && i < maker.walk->head.words_count; i++) {
		if ((maker.walk->words[i] & FRAME_ADDRESS) != frames[i])
			fail_msg("line %d: frame %zu is %#llx, not %#llx", line, i,
				 (unsigned long long)(maker.walk->words[i] & FRAME_ADDRESS),
				 (unsigned long long)frames[i]);
	}
	if (maker.walk->head.words_count != count || is != why)
		fail_msg("line %d: %u frames, cause %u, not %zu and %u", line,
			 maker.walk->head.words_count, is, count, why);
}

#define expect_walk(why, ...)                                                                      \
	do {                                                                                       \
		const uint64_t frames_[] = {__VA_ARGS__};                                          \
		check_walk(__LINE__, why, frames_, sizeof(frames_) / sizeof(frames_[0]));          \
	} while (0)

static inline unsigned frame_kind_of(size_t frame)
{
	return maker.walk->words[frame] >> FRAME_KIND_SHIFT;
}
