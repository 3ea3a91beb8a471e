// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_expression.h"

#include "cfi/cfi_program.h"

/* Bytes. Every expression that is recognised is shorter; the bound is there because each row reads
 * its expressions again. */
#define EXPRESSION_MAX 64

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

static bool read_register(struct dwarf_reader *reader, uint64_t *reg, int64_t *offset)
{
	uint8_t op = dwarf_u8(reader);

	if (op == OP_BREGX)
		*reg = dwarf_uleb(reader);
	else if (op >= OP_BREG0 && op <= OP_BREG31)
		*reg = op - OP_BREG0;
	else
		return false;
	*offset = dwarf_sleb(reader);
	return !reader->failed;
}

/* Reads the operand of an operation that pushes a constant; false: `op` is no such operation. */
static bool read_constant(struct dwarf_reader *reader, uint8_t op, int64_t *value)
{
	switch (op) {
	case OP_CONST1U:
		*value = dwarf_u8(reader);
		return true;
	case OP_CONST1S:
		*value = (int64_t)(dwarf_u8(reader) ^ 0x80) - 0x80; /* sign-extends */
		return true;
	case OP_CONST2U:
		*value = dwarf_u16(reader);
		return true;
	case OP_CONST2S:
		*value = (int16_t)dwarf_u16(reader);
		return true;
	case OP_CONST4U:
		*value = dwarf_u32(reader);
		return true;
	case OP_CONST4S:
		*value = (int32_t)dwarf_u32(reader);
		return true;
	case OP_CONSTU:
		*value = (int64_t)dwarf_uleb(reader);
		return true;
	case OP_CONSTS:
		*value = dwarf_sleb(reader);
		return true;
	default:
		*value = op - OP_LIT0;
		return op >= OP_LIT0 && op <= OP_LIT31;
	}
}

/* Reads plus_uconst, or a constant with plus or minus, and applies it to *sum. */
static bool read_addition(struct dwarf_reader *reader, int64_t *sum)
{
	uint8_t op = dwarf_u8(reader);
	int64_t value;

	if (op == OP_PLUS_UCONST) {
		value = (int64_t)dwarf_uleb(reader);
	} else {
		if (!read_constant(reader, op, &value))
			return false;
		op = dwarf_u8(reader);
		if (op == OP_MINUS)
			return !reader->failed && !__builtin_sub_overflow(*sum, value, sum);
		if (op != OP_PLUS)
			return false;
	}
	return !reader->failed && !__builtin_add_overflow(*sum, value, sum);
}

bool cfi_expression_address(const struct cfi_expression *expression, struct cfi_address *address)
{
	struct dwarf_reader reader = {expression->at, expression->at + expression->bytes, false};

	*address = (struct cfi_address){0};
	if (expression->bytes > EXPRESSION_MAX ||
	    !read_register(&reader, &address->reg, &address->offset))
		return false;
	while (reader.at < reader.end) {
		if (*reader.at == OP_DEREF && !address->deref) {
			reader.at++;
			address->deref = true;
		} else if (!read_addition(&reader,
					  address->deref ? &address->post : &address->offset)) {
			return false;
		}
	}
	return true;
}

bool cfi_expression_indexed(const struct cfi_expression *expression, struct cfi_address *address,
			    uint8_t *index)
{
	static const uint8_t middle[] = {OP_LIT0 + 8, OP_MUL, OP_PLUS, OP_DEREF};
	struct dwarf_reader reader = {expression->at, expression->at + expression->bytes, false};
	uint64_t reg;
	int64_t none;

	*address = (struct cfi_address){.deref = true};
	if (!read_register(&reader, &address->reg, &address->offset) ||
	    !read_register(&reader, &reg, &none) || none || !reg || reg > UINT8_MAX)
		return false;
	for (size_t i = 0; i < sizeof(middle); i++)
		if (dwarf_u8(&reader) != middle[i])
			return false;
	*index = (uint8_t)reg;
	return read_addition(&reader, &address->post) && reader.at == reader.end;
}

bool cfi_expression_plt(const struct cfi_expression *expression, const struct cfi_machine *machine,
			uint8_t *from)
{
	/* breg(sp) word; breg(pc) 0; lit15; and; lit(from); ge; lit(log2 of word); shl; plus */
	const uint8_t before[] = {OP_BREG0 + (uint8_t)machine->sp,
				  machine->word,
				  OP_BREG0 + (uint8_t)machine->pc,
				  0,
				  OP_LIT0 + 15,
				  OP_AND};
	const uint8_t after[] = {OP_GE, OP_LIT0 + (uint8_t)__builtin_ctz(machine->word), OP_SHL,
				 OP_PLUS};
	const uint8_t *at = expression->at;

	if (expression->bytes != sizeof(before) + 1 + sizeof(after) ||
	    memcmp(at, before, sizeof(before)) != 0 ||
	    memcmp(at + sizeof(before) + 1, after, sizeof(after)) != 0)
		return false;
	*from = (uint8_t)(at[sizeof(before)] - OP_LIT0);
	return *from < 16;
}
