// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "flow/flow_state.h"

#define WORD 8

/* The processor's number of a register -> DWARF's. */
static const uint8_t dwarf[FLOW_REGS] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* The registers in which a CFA is looked for: these first, and the others, which are known in a
 * leaf only, last. */
static const uint8_t first[] = {FLOW_RSP, FLOW_RBP};
static const uint8_t others[] = {FLOW_RBX, 10, 0, 1, 2, 6, 7, 8, 9, 11, 12, 13, 14, 15};

static bool find_plain(const struct flow_state *state, const uint8_t *regs, size_t count,
		       struct rule *rule)
{
	for (size_t i = 0; i < count; i++) {
		struct value value = state->regs[regs[i]];

		if (value.kind != VALUE_CFA)
			continue;
		rule->cfa_reg = dwarf[regs[i]];
		rule->cfa_offset = -value.offset;
		return true;
	}
	return false;
}

/* The stack pointer was aligned, and a word of the stack has what it was before. */
static bool find_saved(const struct flow_state *state, struct rule *rule, struct value *base)
{
	for (size_t i = 0; i < sizeof(first); i++) {
		struct value value = state->regs[first[i]];

		for (int s = 0; value.kind == VALUE_ALIGNED && s < FLOW_SLOTS; s++) {
			const struct kept_word *slot = &state->slots[s];

			if (slot->at.kind != VALUE_ALIGNED || slot->value.kind != VALUE_CFA)
				continue;
			rule->cfa_reg = dwarf[first[i]];
			rule->cfa_deref = true;
			rule->cfa_offset = slot->at.offset - value.offset;
			rule->cfa_post = -slot->value.offset;
			*base = value;
			return true;
		}
	}
	return false;
}

/* Where the value is that `reg` had at the function's entry; `base`: of the CFA's register. */
static struct saved saved_at(const struct flow_state *state, uint8_t reg, struct value base)
{
	struct value entry = {.kind = VALUE_ENTRY, .reg = reg};

	if (value_is_equal(state->regs[reg], entry))
		return (struct saved){.kind = SAVED_SAME};
	for (int i = 0; i < FLOW_SLOTS; i++) {
		const struct kept_word *slot = &state->slots[i];

		if (slot->at.kind == VALUE_UNKNOWN || !value_is_equal(slot->value, entry))
			continue;
		if (slot->at.kind == VALUE_CFA)
			return (struct saved){.kind = SAVED_AT_CFA, .offset = slot->at.offset};
		if (base.kind == VALUE_ALIGNED)
			return (struct saved){.kind = SAVED_AT_REG,
					      .offset = slot->at.offset - base.offset};
	}
	return (struct saved){.kind = SAVED_LOST};
}

/* The return address was popped, and the frame pointer marks the outermost frame: a new thread's
 * first function. */
static bool is_root(const struct flow_state *state)
{
	struct value sp = state->regs[FLOW_RSP];

	return state->regs[FLOW_RBP].kind == VALUE_ZERO && sp.kind == VALUE_CFA &&
	       sp.offset > -WORD;
}

void flow_rule(const struct flow_state *state, struct rule *rule)
{
	struct value base = {0};

	memset(rule, 0, sizeof(*rule));
	rule->kind = RULE_NONE;
	if (is_root(state)) {
		rule->kind = RULE_END;
		return;
	}
	if (state->regs[FLOW_RSP].kind == VALUE_CFA && state->regs[FLOW_RSP].offset > -WORD)
		return; /* it isn't a frame any more */
	if (state->ra_gone ||
	    (!find_plain(state, first, sizeof(first), rule) && !find_saved(state, rule, &base) &&
	     !find_plain(state, others, sizeof(others), rule)))
		return;
	rule->kind = RULE_CFA;
	rule->ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -WORD};
	rule->fp = saved_at(state, FLOW_RBP, base);
	rule->bx = saved_at(state, FLOW_RBX, base);
}
