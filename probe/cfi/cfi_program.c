// SPDX-License-Identifier: GPL-2.0-or-later
#include "cfi/cfi_program.h"

/* Depth of DW_CFA_remember_state. Compilers nest a few; each state takes some hundred bytes. */
#define REMEMBERED_MAX 32

enum {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_MIPS_ADVANCE8 = 0x1d,
	OP_AARCH64_NEGATE_RA_PC = 0x2c,
	OP_AARCH64_NEGATE_RA = 0x2d, /* SPARC: GNU_window_save */
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET = 0x2f,
	OP_ADVANCE = 0x40, /* the upper two bits; below them a number */
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_HIGH = 0xc0,
	OP_LOW = 0x3f,
};

struct program {
	const struct cfi_cie *cie;
	const struct dwarf_bases *bases;
	struct dwarf_reader reader;
	uint64_t at, end; /* addresses; the sink has no row of `at` to `end` yet */
	bool failed, over;
	row_sink sink; /* NULL: a CIE's program */
	void *arg;
	int error;
	struct cfi_state state;
	unsigned remembered_count;
	struct cfi_state *remembered; /* REMEMBERED_MAX */
};

static void hand_on(struct program *program)
{
	struct rule rule = {.kind = RULE_UNSUPPORTED, .unsupported = UNSUPPORTED_PROGRAM};

	if (!program->failed)
		cfi_rule(program->cie, &program->state, &rule);
	program->error = program->sink(program->arg, program->at, &rule);
	program->over = program->error != 0;
}

/* Ends the current state's range at `to`; an address behind the function's end is ignored. */
static void move_to(struct program *program, uint64_t to)
{
	if (!program->sink || to < program->at) {
		program->failed = true;
		return;
	}
	if (to == program->at)
		return;
	hand_on(program);
	program->at = to;
	if (to >= program->end)
		program->over = true;
}

static void advance_address(struct program *program, uint64_t factored)
{
	uint64_t by;

	if (__builtin_mul_overflow(factored, program->cie->code_factor, &by) ||
	    by >= program->end - program->at)
		by = program->end - program->at;
	move_to(program, program->at + by);
}

/* Returns where to keep a register's value; NULL if the register isn't followed. */
static struct cfi_value *value_of(struct program *program, uint64_t reg)
{
	const struct cfi_cie *cie = program->cie;

	if (reg == cie->ra)
		return &program->state.saved[CFI_RA];
	if (reg == cie->machine->fp)
		return &program->state.saved[CFI_FP];
	if (reg == cie->machine->bx)
		return &program->state.saved[CFI_BX];
	if (reg == cie->machine->sp)
		return &program->state.saved[CFI_SP];
	return NULL;
}

static void set_value(struct program *program, uint64_t reg, enum cfi_how how, int64_t number)
{
	struct cfi_value *value = value_of(program, reg);

	if (value)
		*value = (struct cfi_value){.how = how, .number = number};
}

static int64_t apply_data_factor(struct program *program, int64_t value)
{
	if (__builtin_mul_overflow(value, program->cie->data_factor, &value))
		program->failed = true;
	return value;
}

static void set_offset(struct program *program, uint64_t reg, enum cfi_how how, int64_t value)
{
	set_value(program, reg, how, apply_data_factor(program, value));
}

static void restore_value(struct program *program, uint64_t reg)
{
	struct cfi_value *value = value_of(program, reg);

	if (value)
		*value = program->cie->state.saved[value - program->state.saved];
}

static struct cfi_expression read_expression(struct program *program)
{
	uint64_t bytes = dwarf_uleb(&program->reader);
	struct cfi_expression expression = {program->reader.at, bytes};

	dwarf_skip(&program->reader, bytes);
	return expression;
}

static void set_expression(struct program *program, uint64_t reg, enum cfi_how how)
{
	struct cfi_expression expression = read_expression(program);
	struct cfi_value *value = value_of(program, reg);

	if (value)
		*value = (struct cfi_value){.how = how, .expression = expression};
}

static void define_cfa(struct program *program, uint64_t reg, int64_t offset)
{
	program->state.cfa_reg = reg;
	program->state.cfa_offset = offset;
	program->state.cfa.bytes = 0;
}

/* Changes the CFA's register and keeps its offset. DWARF doesn't define this after a CFA by
 * expression, but GCC's unwinder accepts it, and assembly (libgcrypt's) relies on that. */
static void change_cfa_register(struct program *program, uint64_t reg)
{
	if (!program->state.cfa.bytes && program->state.cfa_reg == CFI_NO_REGISTER)
		program->failed = true;
	else
		define_cfa(program, reg, program->state.cfa_offset);
}

static void change_cfa_offset(struct program *program, int64_t offset)
{
	if (program->state.cfa_reg == CFI_NO_REGISTER)
		program->failed = true;
	else
		program->state.cfa_offset = offset;
}

static void define_cfa_expression(struct program *program)
{
	program->state.cfa = read_expression(program);
	program->state.cfa_reg = CFI_NO_REGISTER;
	program->failed |= program->state.cfa.bytes == 0;
}

static void remember_state(struct program *program)
{
	if (program->remembered_count == REMEMBERED_MAX)
		program->failed = true;
	else
		program->remembered[program->remembered_count++] = program->state;
}

static void recall_state(struct program *program)
{
	if (program->remembered_count == 0)
		program->failed = true;
	else
		program->state = program->remembered[--program->remembered_count];
}

static void run_place(struct program *program, uint8_t op)
{
	struct dwarf_reader *reader = &program->reader;

	switch (op) {
	case OP_SET_LOC:
		move_to(program, dwarf_pointer(reader, program->cie->encoding, program->bases));
		break;
	case OP_ADVANCE1:
		advance_address(program, dwarf_u8(reader));
		break;
	case OP_ADVANCE2:
		advance_address(program, dwarf_u16(reader));
		break;
	case OP_ADVANCE4:
		advance_address(program, dwarf_u32(reader));
		break;
	case OP_MIPS_ADVANCE8:
		advance_address(program, dwarf_u64(reader));
		break;
	case OP_AARCH64_NEGATE_RA_PC:
	case OP_AARCH64_NEGATE_RA:
		program->failed |= !program->cie->machine->negates_ra;
		break;
	case OP_GNU_ARGS_SIZE:
		dwarf_uleb(reader);
		break;
	case OP_NOP:
		break;
	default:
		program->failed = true;
	}
}

static void run_cfa(struct program *program, uint8_t op)
{
	struct dwarf_reader *reader = &program->reader;
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = dwarf_uleb(reader);
		define_cfa(program, reg, (int64_t)dwarf_uleb(reader));
		break;
	case OP_DEF_CFA_SF:
		reg = dwarf_uleb(reader);
		define_cfa(program, reg, apply_data_factor(program, dwarf_sleb(reader)));
		break;
	case OP_DEF_CFA_REGISTER:
		change_cfa_register(program, dwarf_uleb(reader));
		break;
	case OP_DEF_CFA_OFFSET:
		change_cfa_offset(program, (int64_t)dwarf_uleb(reader));
		break;
	case OP_DEF_CFA_OFFSET_SF:
		change_cfa_offset(program, apply_data_factor(program, dwarf_sleb(reader)));
		break;
	case OP_DEF_CFA_EXPRESSION:
		define_cfa_expression(program);
		break;
	default:
		run_place(program, op);
	}
}

/* Runs an instruction whose first operand is a register. */
static void run_register(struct program *program, uint8_t op)
{
	struct dwarf_reader *reader = &program->reader;
	uint64_t reg = dwarf_uleb(reader);

	switch (op) {
	case OP_OFFSET_EXTENDED:
		set_offset(program, reg, CFI_OFFSET, (int64_t)dwarf_uleb(reader));
		break;
	case OP_OFFSET_EXTENDED_SF:
		set_offset(program, reg, CFI_OFFSET, dwarf_sleb(reader));
		break;
	case OP_GNU_NEGATIVE_OFFSET:
		set_offset(program, reg, CFI_OFFSET, (int64_t)-dwarf_uleb(reader));
		break;
	case OP_VAL_OFFSET:
		set_offset(program, reg, CFI_AT_CFA, (int64_t)dwarf_uleb(reader));
		break;
	case OP_VAL_OFFSET_SF:
		set_offset(program, reg, CFI_AT_CFA, dwarf_sleb(reader));
		break;
	case OP_RESTORE_EXTENDED:
		restore_value(program, reg);
		break;
	case OP_UNDEFINED:
		set_value(program, reg, CFI_UNDEFINED, 0);
		break;
	case OP_SAME_VALUE:
		set_value(program, reg, CFI_SAME, 0);
		break;
	case OP_REGISTER:
		set_value(program, reg, CFI_REGISTER, (int64_t)dwarf_uleb(reader));
		break;
	case OP_EXPRESSION:
		set_expression(program, reg, CFI_EXPRESSION);
		break;
	default: /* OP_VAL_EXPRESSION */
		set_expression(program, reg, CFI_VALUE);
	}
}

static void run_extended(struct program *program, uint8_t op)
{
	switch (op) {
	case OP_REMEMBER:
		remember_state(program);
		break;
	case OP_RESTORE_STATE:
		recall_state(program);
		break;
	case OP_OFFSET_EXTENDED:
	case OP_RESTORE_EXTENDED:
	case OP_UNDEFINED:
	case OP_SAME_VALUE:
	case OP_REGISTER:
	case OP_EXPRESSION:
	case OP_OFFSET_EXTENDED_SF:
	case OP_VAL_OFFSET:
	case OP_VAL_OFFSET_SF:
	case OP_VAL_EXPRESSION:
	case OP_GNU_NEGATIVE_OFFSET:
		run_register(program, op);
		break;
	default:
		run_cfa(program, op);
	}
}

static void run_program(struct program *program)
{
	while (program->reader.at < program->reader.end && !program->over && !program->failed) {
		uint8_t op = *program->reader.at++;

		switch (op & OP_HIGH) {
		case OP_ADVANCE:
			advance_address(program, op & OP_LOW);
			break;
		case OP_OFFSET:
			set_offset(program, op & OP_LOW, CFI_OFFSET,
				   (int64_t)dwarf_uleb(&program->reader));
			break;
		case OP_RESTORE:
			restore_value(program, op & OP_LOW);
			break;
		default:
			run_extended(program, op);
		}
		program->failed |= program->reader.failed;
	}
}

void cfi_run_cie(struct cfi_cie *cie, const struct dwarf_reader *reader,
		 const struct dwarf_bases *bases)
{
	struct cfi_state remembered[REMEMBERED_MAX];

	cie->state = (struct cfi_state){.cfa_reg = CFI_NO_REGISTER};
	struct program program = {
		.cie = cie,
		.bases = bases,
		.reader = *reader,
		.state = cie->state,
		.remembered = remembered,
	};
	run_program(&program);
	cie->state = program.state;
	cie->failed = program.failed;
}

int cfi_run(const struct cfi_cie *cie, const struct cfi_function *function,
	    const struct dwarf_bases *bases, row_sink sink, void *arg)
{
	struct cfi_state remembered[REMEMBERED_MAX];
	struct program program = {
		.cie = cie,
		.bases = bases,
		.reader = function->program,
		.at = function->start,
		.end = function->end,
		.failed = cie->failed,
		.sink = sink,
		.arg = arg,
		.state = cie->state,
		.remembered = remembered,
	};

	run_program(&program);
	if (!program.over)
		hand_on(&program);
	return program.error;
}
