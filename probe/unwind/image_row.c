// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/image_row.h"

#include <elf.h>
#include <stddef.h>

#define WORD 8 /* bytes on a stack */

const struct row_format *row_format_of(uint16_t machine)
{
	static const struct row_format x86_64 = {.sp = 7, .fp = 6};
	static const struct row_format arm64 = {.sp = 31, .fp = 29, .link = 30};
	static const struct row_format i386 = {.sp = 7, .fp = 6, .narrow = true}; /* cfi/cfi.c */

	return machine == EM_X86_64    ? &x86_64
	       : machine == EM_AARCH64 ? &arm64
	       : machine == EM_386     ? &i386
				       : NULL;
}

static uint32_t pack_special(enum row_special what, uint32_t more)
{
	return (uint32_t)ROW_SPECIAL << ROW_KIND_SHIFT | more << ROW_SPECIAL_SHIFT | what;
}

/* Sets where fp and the return address are if a row has `saved`: bpf/shared/packed.h. */
static void saved_of_row(const struct row_format *format, int32_t saved, struct rule *rule)
{
	if (saved)
		rule->fp = (struct saved){.kind = SAVED_AT_CFA, .offset = -(saved + 1) * WORD};
	if (!format->link)
		rule->ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -WORD};
	else if (saved)
		rule->ra = (struct saved){.kind = SAVED_AT_CFA, .offset = -saved * WORD};
	else
		rule->ra = (struct saved){.kind = SAVED_LOST, .reg = format->link};
}

static bool pack_cfa(const struct row_format *format, const struct rule *rule, uint32_t *row)
{
	struct rule same = {.kind = RULE_CFA, .cfa_reg = rule->cfa_reg};
	int32_t cfa = rule->cfa_offset / WORD, saved = 0;

	if ((rule->cfa_reg != format->sp && rule->cfa_reg != format->fp) || cfa < 0 ||
	    cfa > (int32_t)ROW_CFA_MAX)
		return false;
	if (rule->fp.kind == SAVED_AT_CFA)
		saved = -(rule->fp.offset / WORD) - 1;
	if (saved < 0 || saved > ROW_SAVED_MAX)
		return false;
	same.cfa_offset = cfa * WORD;
	saved_of_row(format, saved, &same);
	if (!rule_is_equal(&same, rule))
		return false;
	*row = (uint32_t)(rule->cfa_reg == format->sp ? ROW_SP : ROW_FP) << ROW_KIND_SHIFT |
	       (uint32_t)saved << ROW_CFA_BITS | (uint32_t)cfa;
	return true;
}

bool row_pack(const struct row_format *format, const struct rule *rule, uint32_t *row)
{
	switch (rule->kind) {
	case RULE_NONE:
		*row = pack_special(SPECIAL_NONE, 0);
		return true;
	case RULE_FRAMES:
		*row = pack_special(SPECIAL_FRAMES, 0);
		return true;
	case RULE_END:
		*row = pack_special(SPECIAL_END, 0);
		return true;
	case RULE_PLT:
		*row = pack_special(SPECIAL_PLT, rule->plt_from);
		return true;
	case RULE_LUAJIT:
		*row = pack_special(SPECIAL_LUAJIT, 0);
		return true;
	case RULE_UNSUPPORTED:
		*row = pack_special(SPECIAL_UNSUPPORTED, rule->unsupported);
		return true;
	case RULE_CFA:
		break;
	}
	return !format->narrow && pack_cfa(format, rule, row);
}

static void unpack_special(uint32_t payload, struct rule *rule)
{
	uint32_t more = payload >> ROW_SPECIAL_SHIFT;

	switch (payload & ROW_SPECIAL_MASK) {
	case SPECIAL_FRAMES:
		rule->kind = RULE_FRAMES;
		break;
	case SPECIAL_END:
		rule->kind = RULE_END;
		break;
	case SPECIAL_PLT:
		rule->kind = RULE_PLT;
		rule->plt_from = (uint8_t)more;
		break;
	case SPECIAL_LUAJIT:
		rule->kind = RULE_LUAJIT;
		break;
	case SPECIAL_UNSUPPORTED:
		rule->kind = RULE_UNSUPPORTED;
		rule->unsupported = (enum unsupported)more;
		break;
	default:
		rule->kind = RULE_NONE;
	}
}

void row_unpack(const struct row_format *format, uint32_t row, struct rule *rule)
{
	uint32_t payload = row & ROW_PAYLOAD, kind = row >> ROW_KIND_SHIFT & ROW_KIND_MASK;

	*rule = (struct rule){0};
	if (kind == ROW_SPECIAL) {
		unpack_special(payload, rule);
		return;
	}
	rule->kind = RULE_CFA;
	rule->cfa_reg = kind == ROW_SP ? format->sp : format->fp;
	rule->cfa_offset = (int32_t)(payload & ROW_CFA_MAX) * WORD;
	saved_of_row(format, (int32_t)(payload >> ROW_CFA_BITS), rule);
}

void rule_pack(const struct rule *rule, struct table_rule *to)
{
	to->how = rule->cfa_reg | (rule->cfa_deref ? RULE_DEREF : 0) |
		  (rule->signal ? RULE_SIGNAL : 0) | (uint32_t)rule->fp.kind << RULE_FP_SHIFT |
		  (uint32_t)rule->ra.kind << RULE_RA_SHIFT |
		  (uint32_t)rule->bx.kind << RULE_BX_SHIFT |
		  (uint32_t)(rule->ra.reg | rule->cfa_index) << RULE_RA_REG_SHIFT |
		  (uint32_t)rule->cfa_post << RULE_POST_SHIFT;
	to->cfa = rule->cfa_offset;
	to->fp = rule->fp.offset;
	to->ra = rule->ra.offset;
	to->bx = rule->bx.offset;
}

static struct saved saved_of_rule(uint32_t how, unsigned shift, int32_t offset)
{
	return (struct saved){.kind = (enum saved_kind)(how >> shift & RULE_SAVED_MASK),
			      .offset = offset};
}

void rule_unpack(const struct table_rule *from, struct rule *rule)
{
	*rule = (struct rule){
		.kind = RULE_CFA,
		.cfa_reg = from->how & RULE_REG,
		.cfa_deref = from->how & RULE_DEREF,
		.signal = from->how & RULE_SIGNAL,
		.cfa_offset = from->cfa,
		.cfa_post = (int32_t)from->how >> RULE_POST_SHIFT,
		.fp = saved_of_rule(from->how, RULE_FP_SHIFT, from->fp),
		.ra = saved_of_rule(from->how, RULE_RA_SHIFT, from->ra),
		.bx = saved_of_rule(from->how, RULE_BX_SHIFT, from->bx),
	};
	if (rule->ra.kind == SAVED_LOST)
		rule->ra.reg = from->how >> RULE_RA_REG_SHIFT & RULE_REG;
	else
		rule->cfa_index = from->how >> RULE_RA_REG_SHIFT & RULE_REG;
}
