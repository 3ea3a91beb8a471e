/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a caller by the row of the code in the unwind tables: the CFA, and from it the return
 * address and the registers that the code has saved. */
#pragma once

#include "bpf/unwind/unwind_regs.h"

int caller_by_rule(uint32_t level, uint32_t number);
int caller_of_plt(uint32_t level);

/* Finds the caller by a row of kind ROW_SP or ROW_FP, which 32-bit code has none of. */
static __always_inline int caller_by_row(struct walk *walk, uint32_t row, struct caller *caller)
{
	uint32_t saved = row >> ROW_CFA_BITS & ROW_SAVED_MAX;
	uint64_t from = walk->sp;

	if (row >> ROW_KIND_SHIFT == ROW_FP) {
		if (!(walk->known & WALK_FP))
			return TRUNCATED_REGISTER;
		from = walk->fp;
		walk->used |= WALK_FP;
	} else if (!sp_is_known(walk)) {
		return TRUNCATED_REGISTER;
	}
	caller->sp = from + (row & ROW_CFA_MAX) * ARCH_WORD;
	caller->known = walk->known & WALK_FP;
	caller->fp = walk->fp;
	if (walk->span.what & SPAN_TRACKS_BX) {
		caller->known |= walk->known & WALK_BX;
		caller->bx = walk->bx;
	}
	if (saved) {
		if (!read_wide_word(walk, caller->sp - (saved + 1) * ARCH_WORD, &caller->fp))
			return TRUNCATED_MEMORY;
		caller->known |= WALK_FP;
	}
	if (ARCH_RETURN_REG < ARCH_REGS && !saved)
		return reg_value(walk, ARCH_RETURN_REG, &caller->pc);
	if (!read_wide_word(walk, caller->sp - ARCH_RETURN_WORDS(saved) * ARCH_WORD, &caller->pc))
		return TRUNCATED_MEMORY;
	return STEP_ON;
}

/* Reads a register of the caller by a rule. SAVED_SAME leaves *value as it is; SAVED_LOST clears
 * *known. */
static __always_inline int saved_value(struct walk *walk, uint32_t kind, int32_t offset,
				       uint64_t cfa, uint64_t base, uint64_t *value,
				       uint32_t *known)
{
	uint64_t address = (kind == SAVED_AT_CFA ? cfa : base) + (uint64_t)(int64_t)offset;

	if (kind == SAVED_LOST)
		*known = 0;
	if (kind == SAVED_SAME || kind == SAVED_LOST)
		return STEP_ON;
	if (!read_word(walk, address, value))
		return TRUNCATED_MEMORY;
	*known = ~0U;
	return STEP_ON;
}

static __always_inline int return_address(struct walk *walk, const struct table_rule *rule,
					  uint64_t base, struct caller *caller)
{
	uint32_t kind = rule->how >> RULE_RA_SHIFT & RULE_SAVED_MASK;
	uint32_t known = 0;

	if (kind == SAVED_LOST)
		return reg_value(walk, rule->how >> RULE_RA_REG_SHIFT & RULE_REG, &caller->pc);
	if (kind == SAVED_SAME)
		return TRUNCATED_RULE;
	return saved_value(walk, kind, rule->ra, caller->sp, base, &caller->pc, &known);
}

__noinline int caller_by_rule(uint32_t level, uint32_t number)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;
	struct table_rule *rule;
	uint64_t base = 0, words = 0;
	uint32_t fp_known, bx_known, index;
	int r;

	if (!walk)
		return TRUNCATED_NO_TABLE;
	caller = &walk->caller;
	rule = &walk->rule;
	fp_known = bx_known = walk->known;
	if (!rule_read(&walk->span, number, rule))
		return TRUNCATED_NO_TABLE;
	r = reg_value(walk, rule->how & RULE_REG, &base);
	if (r)
		return r;
	caller->sp = base + (uint64_t)(int64_t)rule->cfa;
	index = rule->how >> RULE_RA_REG_SHIFT & RULE_REG;
	if (rule->how & RULE_DEREF) {
		if (index && (rule->how >> RULE_RA_SHIFT & RULE_SAVED_MASK) != SAVED_LOST) {
			r = reg_value(walk, index, &words);
			if (r)
				return r;
			caller->sp += words * ARCH_WORD;
		}
		if (!read_word(walk, caller->sp, &caller->sp))
			return TRUNCATED_MEMORY;
		caller->sp += (uint64_t)(int64_t)((int32_t)rule->how >> RULE_POST_SHIFT);
	}
	caller->fp = walk->fp;
	caller->bx = walk->bx;
	r = saved_value(walk, rule->how >> RULE_FP_SHIFT & RULE_SAVED_MASK, rule->fp, caller->sp,
			base, &caller->fp, &fp_known);
	if (!r)
		r = saved_value(walk, rule->how >> RULE_BX_SHIFT & RULE_SAVED_MASK, rule->bx,
				caller->sp, base, &caller->bx, &bx_known);
	if (!r)
		r = return_address(walk, rule, base, caller);
	if (!(walk->span.what & SPAN_TRACKS_BX))
		bx_known = 0;
	caller->known = (fp_known & WALK_FP) | (bx_known & WALK_BX);
	if (rule->how & RULE_SIGNAL) {
		caller->known |= WALK_EXACT;
		caller->may_be_below = true;
		if ((rule->how & RULE_REG) == ARCH_SP && rule->how & RULE_DEREF &&
		    rule->cfa == ARCH_CONTEXT_SP && rule->ra == ARCH_CONTEXT_PC &&
		    !walk_is_narrow(walk)) {
			caller->context = base + ARCH_CONTEXT;
			walk_name_exactly(walk); /* nobody calls the return from a handler */
		}
	}
	return r;
}

/* Finds the caller of an entry of the PLT, which has pushed a word from that instruction on. */
__noinline int caller_of_plt(uint32_t level)
{
	struct walk *walk = walk_at(level);
	struct caller *caller;
	uint32_t from;

	if (!walk)
		return TRUNCATED_NO_TABLE;
	caller = &walk->caller;
	from = (walk->row & ROW_PAYLOAD) >> ROW_SPECIAL_SHIFT;
	caller->sp = walk->sp + walk->word;
	if ((walk->pc & 15) >= from)
		caller->sp += walk->word;
	caller->fp = walk->fp;
	caller->bx = walk->bx;
	caller->known = walk->known & (WALK_FP | WALK_BX);
	return read_word(walk, caller->sp - walk->word, &caller->pc) ? STEP_ON : TRUNCATED_MEMORY;
}
