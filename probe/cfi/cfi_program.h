/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreter of the CFA programs of CIEs and FDEs, which say instruction by instruction where a
 * function's caller is. Only the registers that a walk needs are followed: the CFA, the return
 * address, the frame pointer, x86-64's rbx, and the stack pointer (to tell whether it is the CFA).
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
	uint64_t link;	   /* holds the return address by default; CFI_NO_REGISTER: none does */
	uint64_t pc;	   /* the register that PLT expressions use */
	uint8_t registers; /* number of general registers */
	uint8_t word;	   /* bytes of an address */
	/* The numbers that rules have for these registers; NULL: the same. */
	const uint8_t *numbers;
	bool negates_ra; /* the processor has DW_CFA_AARCH64_negate_ra_state */
};

/* Returns the number that rules have for a general register of the machine. */
static inline uint8_t cfi_number(const struct cfi_machine *machine, uint64_t reg)
{
	return machine->numbers ? machine->numbers[reg] : (uint8_t)reg;
}

struct elf_image;

/* Returns the machine of the image's processor; NULL if the processor is unknown. */
const struct cfi_machine *cfi_machine_of(const struct elf_image *image);

/* Where the caller's value of a register is. */
enum cfi_how {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,	/* still in the register */
	CFI_OFFSET,	/* in memory at CFA + number */
	CFI_REGISTER,	/* in the register `number` */
	CFI_EXPRESSION, /* in memory, at an address that an expression computes */
	CFI_AT_CFA,	/* the value is CFA + number */
	CFI_VALUE,	/* the value is that of an expression; such a register isn't followed */
};

struct cfi_value {
	enum cfi_how how;
	int64_t number;
	struct cfi_expression expression;
};

enum { CFI_FP, CFI_RA, CFI_BX, CFI_SP, CFI_FOLLOWED };

struct cfi_state {
	uint64_t cfa_reg; /* CFI_NO_REGISTER: CFA not defined yet, or defined by an expression */
	int64_t cfa_offset;
	struct cfi_expression cfa; /* bytes = 0: the CFA is cfa_reg + cfa_offset */
	struct cfi_value saved[CFI_FOLLOWED];
};

struct cfi_cie {
	const struct cfi_machine *machine;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t ra;	  /* the return address's column */
	uint8_t encoding; /* of pointers in FDEs: POINTER_… */
	bool sized;	  /* augmentation 'z': FDEs have augmentation data, with its size */
	bool signal;	  /* augmentation 'S': signal frame */
	bool failed;	  /* the CIE's program makes no sense, and so no program of its FDEs does */
	struct cfi_state state; /* after the CIE's program */
};

/* One FDE: the function's addresses as linked, and the program that gives its rows. */
struct cfi_function {
	uint64_t start, end;
	struct dwarf_reader program;
};

/* Runs a CIE's program into cie->state. */
void cfi_run_cie(struct cfi_cie *cie, const struct dwarf_reader *program,
		 const struct dwarf_bases *bases);

/* Runs a function's program and calls `sink` for each of its rows. Returns 0, or the first result
 * of the sink that isn't 0. */
int cfi_run(const struct cfi_cie *cie, const struct cfi_function *function,
	    const struct dwarf_bases *bases, row_sink sink, void *arg);

/* Translates a state into *rule; RULE_UNSUPPORTED where a rule can't express the state. */
void cfi_rule(const struct cfi_cie *cie, const struct cfi_state *state, struct rule *rule);
