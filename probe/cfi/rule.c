// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/rule.h"

static bool saved_is_equal(const struct saved *a, const struct saved *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->reg == b->reg;
}

bool rule_is_equal(const struct rule *a, const struct rule *b)
{
	return a->cfa_offset == b->cfa_offset && a->cfa_reg == b->cfa_reg && a->kind == b->kind &&
	       saved_is_equal(&a->fp, &b->fp) && saved_is_equal(&a->bx, &b->bx) &&
	       saved_is_equal(&a->ra, &b->ra) && a->unsupported == b->unsupported &&
	       a->plt_from == b->plt_from && a->cfa_deref == b->cfa_deref &&
	       a->cfa_index == b->cfa_index && a->signal == b->signal && a->cfa_post == b->cfa_post;
}
