/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DWARF expressions that stand in CFI, as far as compilers, linkers and libraries write them: they
 * are recognised, not run.
 *
 * Source: DWARF 5, 2.5 and 7.7.1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_expression {
	const uint8_t *at;
	size_t bytes;
};

/* reg + offset, or *(reg + offset) + post */
struct cfi_address {
	uint64_t reg;
	int64_t offset, post;
	bool deref;
};

bool cfi_expression_address(const struct cfi_expression *expression, struct cfi_address *address);

/* *(reg + offset + 8 * index) + post: hand-written code that keeps its CFA behind an array on the
 * stack. The index is never register 0. */
bool cfi_expression_indexed(const struct cfi_expression *expression, struct cfi_address *address,
			    uint8_t *index);

/* sp + 8, and 8 more where pc % 16 >= *from: entries of x86-64's PLT, as linkers describe them. */
bool cfi_expression_plt(const struct cfi_expression *expression, uint8_t *from);
