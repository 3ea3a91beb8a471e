/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs the programs of CIEs and FDEs: they say instruction by instruction where a function's
 * caller is. Only the registers that a walk needs are followed: the CFA, the return address, the
 * frame pointer, x86-64's rbx, and the stack pointer (is it the CFA?).
 *
 * Source: DWARF 5, 6.4.2 and 7.24; LSB 5.0 core, 10.5 and 10.6.
 */
#pragma once

#include "proc/elf.h"
#include "cfi/cfi_expression.h"
#include "cfi/dwarf_reader.h"
#include "cfi/rule.h"

#define CFI_NO_REGISTER UINT64_MAX

/* DWARF's numbers of a processor's registers. */
struct cfi_machine {
	uint64_t sp, fp, bx;
	uint64_t link; /* where the return address is unless said; CFI_NO_REGISTER: nowhere */
	uint64_t pc;   /* what PLT expressions use */
	uint8_t registers;
	bool negates_ra; /* has DW_CFA_AARCH64_negate_ra_state */
};

struct elf_image;

/* NULL: of a processor that isn't known. */
const struct cfi_machine *cfi_machine_of(const struct elf_image *image);

enum cfi_how {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	/* in memory at CFA + number */
	CFI_REGISTER,	/* in the register `number` */
	CFI_EXPRESSION, /* in memory at an address by expression */
	CFI_AT_CFA,	/* it is CFA + number */
	CFI_VALUE,	/* it is the value of an expression: nothing that we follow */
};

struct cfi_value {
	enum cfi_how how;
	int64_t number;
	struct cfi_expression expression;
};

enum { CFI_FP, CFI_RA, CFI_BX, CFI_SP, CFI_FOLLOWED };

struct cfi_state {
	uint64_t cfa_reg; /* CFI_NO_REGISTER: not said yet, or by expression */
	int64_t cfa_offset;
	struct cfi_expression cfa; /* bytes = 0: by register and offset */
	struct cfi_value saved[CFI_FOLLOWED];
};

struct cfi_cie {
	const struct cfi_machine *machine;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t ra; /* the return address's column */
	uint8_t encoding;
	bool sized; /* augmentation 'z': FDEs have a sized field of more */
	bool signal;
	bool failed; /* its program makes no sense: nor do those of its FDEs */
	struct cfi_state state;
};

/* What a function's rows are made from. */
struct cfi_function {
	uint64_t start, end;
	struct dwarf_reader program;
};

/* Runs a CIE's program into cie->state. */
void cfi_run_cie(struct cfi_cie *cie, const struct dwarf_reader *program,
		 const struct dwarf_bases *bases);

/* Hands on a function's rows; the sink's errors. */
int cfi_run(const struct cfi_cie *cie, const struct cfi_function *function,
	    const struct dwarf_bases *bases, row_sink sink, void *arg);

/* The rule that a state means. */
void cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state, struct rule *rule);
