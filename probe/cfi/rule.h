/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An unwind rule: how to find a function's caller from one of the function's instructions. Rules
 * are CFI (DWARF 5, 6.4) cut down to what the unwinder can do. A row is a rule and the address, as
 * the file was linked, from which the rule holds; the rule holds until the next row.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/shared/packed.h"

enum rule_kind {
	RULE_NONE,   /* no CFI for this code */
	RULE_FRAMES, /* no CFI for this code, but the code keeps frame pointers
			(cfi/no_cfi_regions.h) */
	RULE_END,    /* no caller: the return address is undefined */
	RULE_PLT,    /* CFA = sp and a word, and one more where pc % 16 >= plt_from */
	RULE_LUAJIT, /* LuaJIT's interpreter (luajit/luajit_rows.h) */
	RULE_UNSUPPORTED,
	RULE_CFA,
};

/* Why a rule can't express the CFI: such code ends a walk, and is counted. */
enum unsupported {
	UNSUPPORTED_CFA_EXPRESSION, /* the CFA's expression has another form */
	UNSUPPORTED_CFA_REGISTER,   /* the CFA's register isn't a general register */
	UNSUPPORTED_CFA_OFFSET,	    /* the CFA's offset is out of range */
	UNSUPPORTED_RA,		    /* the return address is found in another way */
	UNSUPPORTED_SP,		    /* the caller's stack pointer isn't the CFA */
	UNSUPPORTED_PROGRAM,	    /* an instruction is unknown, or makes no sense */
	UNSUPPORTED_COUNT
};

/* Where a register of the caller is. SAVED_LOST of the return address means: in register `reg`. */
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

	/* RULE_CFA: CFA = cfa_reg + cfa_offset, or, with cfa_deref,
	 * *(cfa_reg + cfa_offset + 8 * cfa_index) + cfa_post */
	uint8_t cfa_reg;   /* DWARF number; of i386, that of x86-64 */
	uint8_t cfa_index; /* DWARF number; 0: none, as where a register has the return address */
	bool cfa_deref;
	bool signal; /* the caller was interrupted: its pc is no return address */
	int32_t cfa_offset, cfa_post;
	struct saved fp, ra, bx; /* bx: x86-64's rbx, which some code keeps its CFA in */
};

bool rule_is_equal(const struct rule *a, const struct rule *b);

/* Gets rows in order of their addresses. A result other than 0 ends the reading, which returns it.
 */
typedef int (*row_sink)(void *arg, uint64_t address, const struct rule *rule);
