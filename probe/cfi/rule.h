/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a function's caller is found from one of its instructions: what CFI (DWARF 5, 6.4) says of
 * it, cut down to what the unwinder can do. A row is a rule and the address from which it holds,
 * as the file was linked; it holds until the next row.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/packed.h"

enum rule_kind {
	RULE_NONE,   /* no CFI for this code */
	RULE_FRAMES, /* neither, but it keeps frame pointers (cfi/gaps.h) */
	RULE_END,    /* no caller: the return address is undefined */
	RULE_PLT,    /* CFA = sp + 8, and 8 more where pc % 16 >= plt_from */
	RULE_UNSUPPORTED,
	RULE_CFA,
};

/* What can't be expressed: such code ends a walk, and is counted. */
enum unsupported {
	UNSUPPORTED_CFA_EXPRESSION, /* CFA by an expression of another form */
	UNSUPPORTED_CFA_REGISTER,   /* by a register that isn't one of the general ones */
	UNSUPPORTED_CFA_OFFSET,	    /* out of range */
	UNSUPPORTED_RA,		    /* the return address in another way */
	UNSUPPORTED_SP,		    /* the caller's stack pointer isn't the CFA */
	UNSUPPORTED_PROGRAM,	    /* an instruction that isn't known, or makes no sense */
	UNSUPPORTED_COUNT
};

/* Where a register of the caller is; SAVED_LOST for the return address: in `reg`. */
struct saved {
	enum saved_kind kind;
	int32_t offset;
	uint8_t reg;
};

/* Unused fields are 0, so that rules can be compared by their bytes after a memset(). */
struct rule {
	enum rule_kind kind;
	enum unsupported unsupported; /* RULE_UNSUPPORTED */
	uint8_t plt_from;	      /* RULE_PLT */

	/* RULE_CFA: CFA = cfa_reg + cfa_offset, or *(cfa_reg + cfa_offset) + cfa_post; there words
	 * may be added to the address, as many as a register says */
	uint8_t cfa_reg;   /* DWARF number */
	uint8_t cfa_index; /* that register; 0: none. Not where the return address is in one */
	bool cfa_deref;
	bool signal; /* the caller was interrupted: its pc is no return address */
	int32_t cfa_offset, cfa_post;
	struct saved fp, ra, bx; /* bx: x86-64's rbx, which some code keeps its CFA in */
};

bool rule_is_equal(const struct rule *a, const struct rule *b);

/* Takes rows in order of their addresses. Non-zero ends the reading with that. */
typedef int (*row_sink)(void *arg, uint64_t address, const struct rule *rule);
