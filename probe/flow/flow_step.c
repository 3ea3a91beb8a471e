// SPDX-License-Identifier: GPL-2.0-or-later
/* What an instruction does to the values that are known. */
#include <string.h>

#include "flow/flow_state.h"

#define WORD	   8
#define OFFSET_MAX (1 << 24) /* of any value: no frame is larger */

static const struct value unknown = {.kind = VALUE_UNKNOWN};

/* rax, rcx, rdx, rsi, rdi, r8 to r11: a call may change them. */
static const uint8_t scratch[] = {0, 1, 2, 6, 7, 8, 9, 10, 11};

void flow_entry(struct flow_state *state)
{
	memset(state, 0, sizeof(*state));
	for (int i = 0; i < FLOW_REGS; i++)
		state->regs[i] = (struct value){.kind = VALUE_ENTRY, .reg = (uint8_t)i};
	state->regs[FLOW_RSP] = (struct value){.kind = VALUE_CFA, .offset = -WORD};
}

int flow_reg_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return -1;
	return whole - ZYDIS_REGISTER_RAX;
}

static bool is_place(struct value value)
{
	return value.kind == VALUE_CFA || value.kind == VALUE_ALIGNED;
}

static struct value place_moved(struct value value, int64_t by)
{
	if (!is_place(value) && value.kind != VALUE_ADDRESS)
		return unknown;
	int64_t offset = value.offset + by;
	if (is_place(value) ? offset > OFFSET_MAX || offset < -OFFSET_MAX
			    : offset > INT32_MAX || offset < INT32_MIN)
		return unknown;
	value.offset = (int32_t)offset;
	return value;
}

struct value flow_address_of(const struct flow_state *state,
			     const struct flow_instruction *instruction,
			     const ZydisDecodedOperand *operand)
{
	int64_t by = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0;
	struct value none = {0};

	if (operand->mem.segment == ZYDIS_REGISTER_FS || operand->mem.segment == ZYDIS_REGISTER_GS)
		return none;
	if (operand->mem.base == ZYDIS_REGISTER_RIP)
		return place_moved((struct value){.kind = VALUE_ADDRESS},
				   instruction->at + instruction->is.length + by);
	if (operand->mem.index != ZYDIS_REGISTER_NONE)
		return none;
	int base = flow_reg_of(operand->mem.base);

	return base < 0 || instruction->is.address_width != 64 ? none
							       : place_moved(state->regs[base], by);
}

static struct value load_word(const struct flow_state *state, struct value at)
{
	for (int i = 0; i < FLOW_SLOTS; i++) {
		if (state->slots[i].at.kind != VALUE_UNKNOWN &&
		    value_is_equal(state->slots[i].at, at))
			return state->slots[i].value;
	}
	return unknown;
}

static bool is_kept(struct value value)
{
	return value.kind == VALUE_CFA ||
	       (value.kind == VALUE_ENTRY && (value.reg == FLOW_RBP || value.reg == FLOW_RBX));
}

/* Writes `bytes` bytes at a place of the stack. */
static void store_word(struct flow_state *state, struct value at, struct value value,
		       unsigned bytes)
{
	struct kept_word *free = NULL;

	if (!is_place(at))
		return; /* not to a frame, unless the program is wrong */
	if (at.kind == VALUE_CFA && at.offset < 0 && at.offset + (int32_t)bytes > -WORD)
		state->ra_gone = true;
	for (int i = 0; i < FLOW_SLOTS; i++) {
		struct kept_word *slot = &state->slots[i];

		if (slot->at.kind == at.kind && slot->at.offset < at.offset + (int32_t)bytes &&
		    at.offset < slot->at.offset + WORD)
			*slot = (struct kept_word){0};
		if (slot->at.kind == VALUE_UNKNOWN)
			free = slot;
	}
	if (free && bytes == WORD && is_kept(value))
		*free = (struct kept_word){at, value};
}

static void set_reg(struct flow_state *state, int reg, struct value value)
{
	if (reg >= 0)
		state->regs[reg] = value;
}

static void move_sp(struct flow_state *state, int64_t by)
{
	state->regs[FLOW_RSP] = place_moved(state->regs[FLOW_RSP], by);
}

/* The value of an operand of 64 bits that is read. */
static struct value value_of(const struct flow_state *state,
			     const struct flow_instruction *instruction,
			     const ZydisDecodedOperand *operand)
{
	int reg =
		operand->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_reg_of(operand->reg.value) : -1;

	if (operand->size != 64)
		return unknown;
	if (reg >= 0)
		return state->regs[reg];
	if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return load_word(state, flow_address_of(state, instruction, operand));
	return unknown;
}

/* Everything that the instruction writes is unknown. */
static void write_unknown(struct flow_state *state, const struct flow_instruction *instruction)
{
	for (unsigned i = 0; i < instruction->is.operand_count; i++) {
		const ZydisDecodedOperand *operand = &instruction->operands[i];

		if (!(operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER)
			set_reg(state, flow_reg_of(operand->reg.value), unknown);
		else if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
			store_word(state, flow_address_of(state, instruction, operand), unknown,
				   operand->size / 8);
	}
}

static void step_mov(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *to = &instruction->operands[0], *from = to + 1;
	struct value value = value_of(state, instruction, from);
	int source = from->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_reg_of(from->reg.value) : -1;

	/* mov eax, ecx: a number below a bound stays one */
	if (value.kind == VALUE_UNKNOWN && source >= 0 && state->regs[source].kind == VALUE_BOUNDED)
		value = state->regs[source];
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER)
		set_reg(state, flow_reg_of(to->reg.value), to->size < 32 ? unknown : value);
	else if (to->type == ZYDIS_OPERAND_TYPE_MEMORY)
		store_word(state, flow_address_of(state, instruction, to), value, to->size / 8);
}

/* movsxd rax, [rcx + rdx * 4]: an entry of a table of distances. */
static void step_movsxd(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *to = &instruction->operands[0], *from = to + 1;
	struct value value = {0};

	if (from->type == ZYDIS_OPERAND_TYPE_MEMORY && from->mem.scale == 4 &&
	    !(from->mem.disp.has_displacement && from->mem.disp.value)) {
		int base = flow_reg_of(from->mem.base), index = flow_reg_of(from->mem.index);

		if (base >= 0 && index >= 0 && state->regs[base].kind == VALUE_ADDRESS &&
		    state->regs[index].kind == VALUE_BOUNDED)
			value = (struct value){.kind = VALUE_LOADED,
					       .count = state->regs[index].count,
					       .offset = state->regs[base].offset};
	}
	set_reg(state, flow_reg_of(to->reg.value), value);
}

static void step_add(struct flow_state *state, const struct flow_instruction *instruction, int sign)
{
	const ZydisDecodedOperand *to = &instruction->operands[0], *from = to + 1;
	int reg = to->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_reg_of(to->reg.value) : -1;

	if (reg < 0 || to->size != 64) {
		write_unknown(state, instruction);
		return;
	}
	struct value before = state->regs[reg], value = {0};

	if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		value = place_moved(before, sign * from->imm.value.s);
	} else if (from->type == ZYDIS_OPERAND_TYPE_REGISTER && sign > 0) {
		int other = flow_reg_of(from->reg.value);
		struct value added = other >= 0 ? state->regs[other] : value;

		if (before.kind == VALUE_ADDRESS) {
			value = before;
			before = added;
			added = value;
		}
		value = unknown;
		if (before.kind == VALUE_LOADED && added.kind == VALUE_ADDRESS &&
		    before.offset == added.offset) {
			value = before;
			value.kind = VALUE_TARGET;
		}
	}
	state->regs[reg] = value;
}

static void step_and(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *to = &instruction->operands[0], *from = to + 1;
	int reg = to->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_reg_of(to->reg.value) : -1;

	write_unknown(state, instruction);
	if (reg < 0 || from->type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return;
	int64_t mask = from->imm.value.s;

	if (reg == FLOW_RSP && to->size == 64 && mask < 0) {
		/* What lay at the old alignment is no longer known. */
		for (int i = 0; i < FLOW_REGS; i++) {
			if (state->regs[i].kind == VALUE_ALIGNED)
				state->regs[i] = unknown;
		}
		for (int i = 0; i < FLOW_SLOTS; i++) {
			if (state->slots[i].at.kind == VALUE_ALIGNED)
				state->slots[i] = (struct kept_word){0};
		}
		state->aligned_at = (uint32_t)instruction->at;
		state->regs[reg] = (struct value){.kind = VALUE_ALIGNED};
	} else if (reg != FLOW_RSP && to->size >= 32 && mask >= 0 && mask < UINT16_MAX) {
		state->regs[reg] =
			(struct value){.kind = VALUE_BOUNDED, .count = (uint16_t)(mask + 1)};
	}
}

/* xor ebp, ebp is how a program marks its outermost frame. */
static void step_xor(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *to = &instruction->operands[0], *from = to + 1;
	bool is_zero = to->type == ZYDIS_OPERAND_TYPE_REGISTER && to->size >= 32 &&
		       from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       from->reg.value == to->reg.value;

	write_unknown(state, instruction);
	if (is_zero)
		set_reg(state, flow_reg_of(to->reg.value), (struct value){.kind = VALUE_ZERO});
}

static void step_push(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *from = &instruction->operands[0];
	unsigned bytes = instruction->is.operand_width / 8;
	struct value value = value_of(state, instruction, from);

	if (bytes != WORD && bytes != 2)
		bytes = WORD;
	move_sp(state, -(int64_t)bytes);
	store_word(state, state->regs[FLOW_RSP], value, bytes);
}

static void step_pop(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *to = &instruction->operands[0];
	unsigned bytes = instruction->is.operand_width == 16 ? 2 : WORD;
	struct value value = load_word(state, state->regs[FLOW_RSP]);

	move_sp(state, bytes);
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER)
		set_reg(state, flow_reg_of(to->reg.value), bytes == WORD ? value : unknown);
	else
		store_word(state, flow_address_of(state, instruction, to), unknown, bytes);
}

static void step_call(struct flow_state *state)
{
	struct value sp = state->regs[FLOW_RSP];

	state->compared = 0;
	/* the call's own return address is put there */
	state->ra_gone |= sp.kind == VALUE_CFA && sp.offset > -WORD;
	for (size_t i = 0; i < sizeof(scratch); i++)
		state->regs[scratch[i]] = unknown;
	for (int i = 0; i < FLOW_SLOTS; i++) { /* the callee writes there */
		struct kept_word *slot = &state->slots[i];

		if (slot->at.kind == sp.kind && slot->at.offset < sp.offset)
			*slot = (struct kept_word){0};
	}
}

static bool is_second_byte(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

/* Remembers `cmp reg, number` until the flags change. */
static void note_comparison(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *left = &instruction->operands[0], *right = left + 1;

	if (instruction->is.mnemonic == ZYDIS_MNEMONIC_CMP) {
		state->compared = 0;
		int reg = left->type == ZYDIS_OPERAND_TYPE_REGISTER ? flow_reg_of(left->reg.value)
								    : -1;
		if (reg >= 0 && !is_second_byte(left->reg.value) &&
		    right->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && right->imm.value.s >= 0 &&
		    right->imm.value.s < UINT16_MAX) {
			state->compared = (uint8_t)(reg + 1);
			state->compared_with = (uint16_t)right->imm.value.s;
		}
	} else if (instruction->is.cpu_flags &&
		   (instruction->is.cpu_flags->modified | instruction->is.cpu_flags->set_0 |
		    instruction->is.cpu_flags->set_1 | instruction->is.cpu_flags->undefined)) {
		state->compared = 0;
	}
	for (unsigned i = 0; state->compared && i < instruction->is.operand_count; i++) {
		const ZydisDecodedOperand *operand = &instruction->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    flow_reg_of(operand->reg.value) == state->compared - 1)
			state->compared = 0;
	}
}

void flow_step(struct flow_state *state, const struct flow_instruction *instruction)
{
	const ZydisDecodedOperand *operands = instruction->operands;

	note_comparison(state, instruction);
	switch (instruction->is.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
		step_mov(state, instruction);
		return;
	case ZYDIS_MNEMONIC_MOVSXD:
		step_movsxd(state, instruction);
		return;
	case ZYDIS_MNEMONIC_LEA:
		set_reg(state, flow_reg_of(operands[0].reg.value),
			operands[0].size == 64 ? flow_address_of(state, instruction, &operands[1])
					       : unknown);
		return;
	case ZYDIS_MNEMONIC_ADD:
		step_add(state, instruction, 1);
		return;
	case ZYDIS_MNEMONIC_SUB:
		step_add(state, instruction, -1);
		return;
	case ZYDIS_MNEMONIC_AND:
		step_and(state, instruction);
		return;
	case ZYDIS_MNEMONIC_XOR:
		step_xor(state, instruction);
		return;
	case ZYDIS_MNEMONIC_PUSH:
		step_push(state, instruction);
		return;
	case ZYDIS_MNEMONIC_POP:
		step_pop(state, instruction);
		return;
	case ZYDIS_MNEMONIC_PUSHFQ:
		move_sp(state, -WORD);
		store_word(state, state->regs[FLOW_RSP], unknown, WORD);
		return;
	case ZYDIS_MNEMONIC_POPFQ:
		move_sp(state, WORD);
		return;
	case ZYDIS_MNEMONIC_LEAVE:
		state->regs[FLOW_RSP] = state->regs[FLOW_RBP];
		state->regs[FLOW_RBP] = load_word(state, state->regs[FLOW_RSP]);
		move_sp(state, WORD);
		return;
	case ZYDIS_MNEMONIC_CALL:
		step_call(state);
		return;
	case ZYDIS_MNEMONIC_RET: /* the state at it is what counts */
		return;
	default:
		write_unknown(state, instruction);
	}
}

bool flow_merge(struct flow_state *state, const struct flow_state *other)
{
	struct flow_state before = *state;
	bool aligned = state->aligned_at == other->aligned_at;

	for (int i = 0; i < FLOW_REGS; i++) {
		if (!value_is_equal(state->regs[i], other->regs[i]) ||
		    (!aligned && state->regs[i].kind == VALUE_ALIGNED))
			state->regs[i] = unknown;
	}
	for (int i = 0; i < FLOW_SLOTS; i++) {
		struct kept_word *slot = &state->slots[i];

		if (slot->at.kind != VALUE_UNKNOWN &&
		    (!value_is_equal(load_word(other, slot->at), slot->value) ||
		     (!aligned && slot->at.kind == VALUE_ALIGNED)))
			*slot = (struct kept_word){0};
	}
	if (state->compared != other->compared || state->compared_with != other->compared_with)
		state->compared = 0;
	state->ra_gone |= other->ra_gone;
	return memcmp(&before, state, sizeof(before)) != 0;
}
