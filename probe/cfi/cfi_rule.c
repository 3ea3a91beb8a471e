// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_program.h"

static void set_unsupported(struct rule *rule, enum unsupported what)
{
	*rule = (struct rule){.kind = RULE_UNSUPPORTED, .unsupported = what};
}

/* Sets *saved if the register is in memory, at an offset from the CFA or from the CFA's register.
 * Returns false if the register is elsewhere. */
static bool is_saved(const struct cfi_value *value, const struct rule *rule, struct saved *saved)
{
	struct cfi_address address;
	int64_t offset = value->number;

	if (value->how == CFI_OFFSET) {
		saved->kind = SAVED_AT_CFA;
	} else {
		if (value->how != CFI_EXPRESSION ||
		    !cfi_expression_address(&value->expression, &address) || address.deref ||
		    address.reg != rule->cfa_reg)
			return false;
		saved->kind = SAVED_AT_REG;
		offset = address.offset;
	}
	if (offset < INT32_MIN || offset > INT32_MAX)
		return false;
	saved->offset = (int32_t)offset;
	return true;
}

static void set_saved(const struct cfi_value *value, const struct rule *rule, struct saved *saved)
{
	*saved = (struct saved){.kind = SAVED_SAME};
	if (value->how == CFI_UNSPECIFIED || value->how == CFI_SAME)
		return;
	if (!is_saved(value, rule, saved))
		*saved = (struct saved){.kind = SAVED_LOST};
}

static bool set_ra(const struct cfi_machine *machine, const struct cfi_value *value,
		   const struct rule *rule, struct saved *saved)
{
	uint64_t reg = machine->link;

	*saved = (struct saved){0};
	if (is_saved(value, rule, saved))
		return true;
	if (value->how == CFI_REGISTER)
		reg = (uint64_t)value->number;
	else if (value->how != CFI_UNSPECIFIED && value->how != CFI_SAME)
		return false;
	if (reg >= machine->registers)
		return false;
	*saved = (struct saved){.kind = SAVED_LOST, .reg = (uint8_t)reg};
	return true;
}

/* Returns whether the caller's stack pointer is the CFA, which is the default. Signal frames load
 * both from the same address. */
static bool is_sp_cfa(const struct cfi_value *sp, const struct rule *rule)
{
	struct cfi_address address;

	switch (sp->how) {
	case CFI_UNSPECIFIED:
		return true;
	case CFI_AT_CFA:
		return sp->number == 0;
	case CFI_EXPRESSION:
		return cfi_expression_address(&sp->expression, &address) && !address.deref &&
		       rule->cfa_deref && !rule->cfa_post && address.reg == rule->cfa_reg &&
		       address.offset == rule->cfa_offset;
	default:
		return false;
	}
}

/* Returns whether the state is that of a PLT stub: its frame is the return address and no more. */
static bool is_plt(const struct cfi_cie *cie, const struct cfi_state *state, uint8_t *from)
{
	const struct cfi_value *ra = &state->saved[CFI_RA], *fp = &state->saved[CFI_FP];

	return cie->machine->pc != CFI_NO_REGISTER && !cie->signal &&
	       state->saved[CFI_SP].how == CFI_UNSPECIFIED && ra->how == CFI_OFFSET &&
	       ra->number == -cie->machine->word &&
	       (fp->how == CFI_UNSPECIFIED || fp->how == CFI_SAME) &&
	       cfi_expression_plt(&state->cfa, cie->machine, from);
}

/* Sets the rule's CFA; returns false if no rule can express the CFA, and *rule says so. */
static bool set_cfa(const struct cfi_machine *machine, const struct cfi_state *state,
		    struct rule *rule)
{
	struct cfi_address address = {.reg = state->cfa_reg, .offset = state->cfa_offset};

	if (state->cfa.bytes && !cfi_expression_address(&state->cfa, &address) &&
	    !cfi_expression_indexed(&state->cfa, &address, &rule->cfa_index)) {
		set_unsupported(rule, UNSUPPORTED_CFA_EXPRESSION);
	} else if (address.reg == CFI_NO_REGISTER) {
		set_unsupported(rule, UNSUPPORTED_PROGRAM);
	} else if (address.reg >= machine->registers || rule->cfa_index >= machine->registers) {
		set_unsupported(rule, UNSUPPORTED_CFA_REGISTER);
	} else if (address.offset < INT32_MIN || address.offset > INT32_MAX ||
		   address.post < -RULE_POST_MAX || address.post > RULE_POST_MAX) {
		set_unsupported(rule, UNSUPPORTED_CFA_OFFSET);
	} else {
		rule->kind = RULE_CFA;
		rule->cfa_reg = (uint8_t)address.reg;
		rule->cfa_offset = (int32_t)address.offset;
		rule->cfa_deref = address.deref;
		rule->cfa_post = (int32_t)address.post;
		return true;
	}
	return false;
}

/* Translates the rule's registers into the numbers that rules have. */
static void number_registers(const struct cfi_machine *machine, struct rule *rule)
{
	if (rule->kind != RULE_CFA)
		return;
	rule->cfa_reg = cfi_number(machine, rule->cfa_reg);
	if (rule->cfa_index)
		rule->cfa_index = cfi_number(machine, rule->cfa_index);
	if (rule->ra.kind == SAVED_LOST)
		rule->ra.reg = cfi_number(machine, rule->ra.reg);
}

void cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state, struct rule *rule)
{
	uint8_t from;

	*rule = (struct rule){0};
	if (state->saved[CFI_RA].how == CFI_UNDEFINED) {
		rule->kind = RULE_END;
		return;
	}
	if (state->cfa.bytes && is_plt(cie, state, &from)) {
		rule->kind = RULE_PLT;
		rule->plt_from = from;
		return;
	}
	if (!set_cfa(cie->machine, state, rule))
		return;
	if (!is_sp_cfa(&state->saved[CFI_SP], rule)) {
		set_unsupported(rule, UNSUPPORTED_SP);
		return;
	}
	rule->signal = cie->signal;
	set_saved(&state->saved[CFI_FP], rule, &rule->fp);
	set_saved(&state->saved[CFI_BX], rule, &rule->bx);
	if (!set_ra(cie->machine, &state->saved[CFI_RA], rule, &rule->ra) ||
	    (rule->cfa_index && rule->ra.kind == SAVED_LOST))
		set_unsupported(rule, UNSUPPORTED_RA);
	number_registers(cie->machine, rule);
}
