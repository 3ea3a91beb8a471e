// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/uprobe_site.h"

#define LOOK_BYTES 64

#if defined(__x86_64__)

#include <Zydis/Zydis.h>

#define PUSHED_MAX 4096

struct instruction {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode_instruction(const ZydisDecoder *decoder, const uint8_t *code, size_t bytes,
			       struct instruction *instruction)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, bytes, &instruction->is,
						   instruction->operands));
}

static bool start_decoder(ZydisDecoder *decoder)
{
	return ZYAN_SUCCESS(
		ZydisDecoderInit(decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
}

/* Returns whether the instruction has a prefix besides REX (with but_bnd: and besides BND). The
 * kernel doesn't probe instructions with segment prefixes or LOCK at all; 66 changes a branch on
 * some processors only. */
static bool has_prefix(const struct instruction *instruction, bool but_bnd)
{
	for (unsigned i = 0; i < instruction->is.raw.prefix_count; i++) {
		uint8_t value = instruction->is.raw.prefixes[i].value;

		if ((value & 0xf0) != 0x40 && !(but_bnd && value == 0xf2))
			return true;
	}
	return false;
}

/* Returns whether every version of the kernel emulates the instruction; versions differ for nops of
 * more than one byte. */
static bool is_emulated(const struct instruction *instruction)
{
	const ZydisDecodedInstruction *is = &instruction->is;
	bool two_bytes = is->opcode_map == ZYDIS_OPCODE_MAP_0F;

	if (two_bytes)
		return is->opcode >= 0x80 && is->opcode <= 0x8f && !has_prefix(instruction, true);
	if (is->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return false;
	if (is->opcode == 0x90)
		return is->length == 1;
	if (is->opcode >= 0x50 && is->opcode <= 0x57)
		return is->length == 1 ||
		       (is->length == 2 && is->raw.rex.offset == 0 && is->raw.prefix_count &&
			is->raw.prefixes[0].value == 0x41);
	if (is->opcode == 0xe8 || is->opcode == 0xe9 || is->opcode == 0xeb ||
	    (is->opcode >= 0x70 && is->opcode <= 0x7f))
		return !has_prefix(instruction, true);
	return false;
}

/* Returns whether the code behind the instruction may not be reached, or may be reached with other
 * registers than at the call. */
static bool ends_line(const ZydisDecodedInstruction *is)
{
	switch (is->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
		return true;
	default:
		return false;
	}
}

static bool is_argument(ZydisRegister reg, unsigned arguments)
{
	static const ZydisRegister order[] = {ZYDIS_REGISTER_RDI, ZYDIS_REGISTER_RSI,
					      ZYDIS_REGISTER_RDX, ZYDIS_REGISTER_RCX,
					      ZYDIS_REGISTER_R8,  ZYDIS_REGISTER_R9};
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	for (unsigned i = 0; i < arguments && i < sizeof(order) / sizeof(order[0]); i++) {
		if (whole == order[i])
			return true;
	}
	return false;
}

/* Follows the stack pointer over an instruction. Returns false if the stack pointer isn't known any
 * more, or if the instruction writes to an argument. */
static bool follow_stack(const struct instruction *instruction, unsigned arguments,
			 uint32_t *pushed)
{
	const ZydisDecodedInstruction *is = &instruction->is;
	bool moves_stack = false;

	for (unsigned i = 0; i < is->operand_count; i++) {
		const ZydisDecodedOperand *operand = &instruction->operands[i];

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (is_argument(operand->reg.value, arguments))
			return false;
		moves_stack |=
			ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
							 operand->reg.value) == ZYDIS_REGISTER_RSP;
	}
	if (!moves_stack)
		return true;
	/* The search ends at a push of a register, which is emulated; here remains room for locals.
	 */
	if (is->mnemonic != ZYDIS_MNEMONIC_SUB || is->operand_width != 64 ||
	    instruction->operands[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    instruction->operands[1].imm.value.u > PUSHED_MAX - *pushed)
		return false;
	*pushed += (uint32_t)instruction->operands[1].imm.value.u;
	return true;
}

void uprobe_site_find(const uint8_t *code, size_t bytes, unsigned arguments,
		      struct uprobe_site *site)
{
	struct instruction instruction;
	ZydisDecoder decoder;
	uint32_t pushed = 0;
	size_t at = 0;

	*site = (struct uprobe_site){0};
	if (!start_decoder(&decoder))
		return;
	if (bytes > LOOK_BYTES)
		bytes = LOOK_BYTES;
	while (at < bytes && decode_instruction(&decoder, code + at, bytes - at, &instruction)) {
		if (is_emulated(&instruction)) {
			*site = (struct uprobe_site){(uint32_t)at, pushed, true};
			return;
		}
		if (ends_line(&instruction.is) || !follow_stack(&instruction, arguments, &pushed))
			return;
		at += instruction.is.length;
	}
}

/* Fills in *leap for a call or jump with a fixed target or slot; false: it is none. */
static bool leap_of(const struct instruction *instruction, uint64_t address,
		    struct uprobe_site_jump *leap)
{
	const ZydisDecodedOperand *operand = &instruction->operands[0];
	ZyanU64 to;

	if (instruction->is.meta.category != ZYDIS_CATEGORY_CALL &&
	    instruction->is.meta.category != ZYDIS_CATEGORY_COND_BR &&
	    instruction->is.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
		return false;
	leap->is_call = instruction->is.meta.category == ZYDIS_CATEGORY_CALL;
	leap->by_slot = operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
	if (leap->by_slot && operand->mem.base != ZYDIS_REGISTER_RIP)
		return false;
	if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction->is, operand, address, &to)))
		return false;
	leap->address = to;
	return true;
}

void uprobe_site_jumps(const uint8_t *code, size_t bytes, uint64_t address,
		       void (*each)(void *arg, const struct uprobe_site_jump *leap), void *arg)
{
	struct instruction instruction;
	struct uprobe_site_jump leap;
	ZydisDecoder decoder;
	size_t at = 0;

	if (!start_decoder(&decoder))
		return;
	while (at < bytes && decode_instruction(&decoder, code + at, bytes - at, &instruction)) {
		if (leap_of(&instruction, address + at, &leap))
			each(arg, &leap);
		at += instruction.is.length;
	}
}

#else /* another processor: the kernel's own rules, and its decoder, are still to be read */

void uprobe_site_find(const uint8_t *code, size_t bytes, unsigned arguments,
		      struct uprobe_site *site)
{
	(void)code;
	(void)bytes;
	(void)arguments;
	*site = (struct uprobe_site){0};
}

void uprobe_site_jumps(const uint8_t *code, size_t bytes, uint64_t address,
		       void (*each)(void *arg, const struct uprobe_site_jump *leap), void *arg)
{
	(void)code;
	(void)bytes;
	(void)address;
	(void)each;
	(void)arg;
}

#endif
