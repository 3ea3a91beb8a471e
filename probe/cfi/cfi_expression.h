/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Matcher for the DWARF expressions in CFI that compilers, linkers and libraries write. Expressions
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

/* Recognises an expression that computes a cfi_address; returns false for any other. */
bool cfi_expression_address(const struct cfi_expression *expression, struct cfi_address *address);

/* Recognises *(reg + offset + 8 * index) + post, which hand-written code uses that keeps its CFA
 * behind an array on the stack. *index is the index's register, never register 0. */
bool cfi_expression_indexed(const struct cfi_expression *expression, struct cfi_address *address,
			    uint8_t *index);

struct cfi_machine;

/* Recognises sp and a word, and a word more where pc % 16 >= *from: so linkers describe the entries
 * of x86's PLT. */
bool cfi_expression_plt(const struct cfi_expression *expression, const struct cfi_machine *machine,
			uint8_t *from);
