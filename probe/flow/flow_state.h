/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known before an instruction of where the frame lies: the values of the registers and of
 * some words of the stack, as far as they come from the function's entry. Private to the room, and
 * for test/cfi, which compares each state with CFI.
 */
#pragma once

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi/rule.h"

#define FLOW_REGS  16 /* by the processor's numbers: rsp is 4, rbp 5 */
#define FLOW_SLOTS 6

enum flow_reg { FLOW_RBX = 3, FLOW_RSP = 4, FLOW_RBP = 5 };

enum value_kind {
	VALUE_UNKNOWN,
	VALUE_CFA,     /* CFA + offset */
	VALUE_ALIGNED, /* the stack pointer after it was aligned, + offset */
	VALUE_ZERO,    /* 0, by xor with itself */
	VALUE_ENTRY,   /* what register `reg` had at the function's entry */
	VALUE_ADDRESS, /* the function's first address + offset, linked there */
	VALUE_BOUNDED, /* an unsigned number below `count` */
	VALUE_LOADED,  /* an entry of the table of `count` 4-byte distances at VALUE_ADDRESS */
	VALUE_TARGET,  /* the same, with the table's address added */
};

struct value {
	uint8_t kind;
	uint8_t reg;
	uint16_t count;
	int32_t offset;
};

/* A word of the stack that has a value: VALUE_CFA, or VALUE_ENTRY of rbp or rbx. */
struct kept_word {
	struct value at; /* VALUE_CFA or VALUE_ALIGNED; VALUE_UNKNOWN: the slot is free */
	struct value value;
};

struct flow_state {
	struct value regs[FLOW_REGS];
	struct kept_word slots[FLOW_SLOTS];
	uint32_t aligned_at; /* distance of the instruction that aligned the stack pointer */
	uint8_t compared;    /* the register of the last comparison with a number, + 1; 0: none */
	bool ra_gone;	     /* the return address was overwritten */
	uint16_t compared_with;
};

struct flow_instruction {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	int64_t at; /* distance from the function's first instruction */
};

static inline bool value_is_equal(struct value a, struct value b)
{
	return a.kind == b.kind && a.reg == b.reg && a.count == b.count && a.offset == b.offset;
}

/* The state of a function's first instruction: right after a call. */
void flow_entry(struct flow_state *state);

/* Changes the state to that behind the instruction, if the instruction goes on to the next. */
void flow_step(struct flow_state *state, const struct flow_instruction *instruction);

/* Leaves what is known in both; returns whether *state is changed. */
bool flow_merge(struct flow_state *state, const struct flow_state *other);

/* Sets *rule to the row of that state: RULE_CFA, or RULE_NONE if the CFA isn't known. */
void flow_rule(const struct flow_state *state, struct rule *rule);

/* Returns the number of a general register, whatever part of it is meant; -1: it is none. */
int flow_reg_of(ZydisRegister reg);

/* Returns the value of a memory operand's address. */
struct value flow_address_of(const struct flow_state *state,
			     const struct flow_instruction *instruction,
			     const ZydisDecodedOperand *operand);

struct flow_function;
struct flow_result;

/* Gets each instruction that was reached, by address. NULL: nobody asks. */
typedef int (*flow_visit)(void *arg, uint64_t address, unsigned bytes,
			  const struct flow_state *state);

/* Does what flow_rows() does, but gives the states; result->claimed is not set. */
int flow_visit_all(const struct flow_function *function, flow_visit visit, void *arg,
		   struct flow_result *result);
