// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "flow/flow_state.h"

#define ENTRIES_MAX 4096 /* of a table of jumps */
#define BEHIND_MAX  (2 * FLOW_INSTRUCTIONS_MAX)
#define LATE_EVERY  1024 /* turns between two looks at the clock */
#define AWAY	    (-1) /* a place outside of the function */
#define TURNS_MAX   32	 /* more than a state can become less: 16 registers, the slots, two marks */

struct flow_node {
	uint32_t at;
	uint8_t bytes;
	uint8_t turns;
	bool queued;
	bool comes_back; /* a call whose way behind it was gone */
	struct flow_state state;
};

/* The way behind a call, which may never be gone. */
struct behind {
	uint32_t call; /* number of the node */
	uint32_t at;
	struct flow_state state;
};

struct flow {
	const struct flow_function *function;
	ZydisDecoder decoder;
	uint32_t *numbers; /* by distance: of the node there, + 1; 0: none */
	struct flow_node *nodes;
	size_t count, room;
	uint32_t *queue;
	size_t queued, queue_room;
	struct behind *behind; /* by their turn */
	size_t behind_count, behind_room, behind_done;
	struct flow_result *result;
};

static void flow_free(struct flow *flow)
{
	free(flow->numbers);
	free(flow->nodes);
	free(flow->queue);
	free(flow->behind);
}

/* Makes room for one more; returns NULL without memory. */
static void *grow_array(void *array, size_t count, size_t *room, size_t each)
{
	if (count < *room)
		return array;
	size_t more = *room ? *room * 2 : 64;
	void *grown = reallocarray(array, more, each);

	if (grown)
		*room = more;
	return grown;
}

static int queue_node(struct flow *flow, uint32_t number)
{
	struct flow_node *node = &flow->nodes[number];

	if (node->queued || node->turns >= TURNS_MAX)
		return 0;
	uint32_t *queue =
		grow_array(flow->queue, flow->queued, &flow->queue_room, sizeof(*flow->queue));
	if (!queue)
		return -ENOMEM;
	flow->queue = queue;
	node->queued = true;
	node->turns++;
	queue[flow->queued++] = number;
	return 0;
}

static int add_node(struct flow *flow, uint32_t at, const struct flow_state *state)
{
	if (flow->count >= FLOW_INSTRUCTIONS_MAX)
		return -EFBIG;
	struct flow_node *nodes =
		grow_array(flow->nodes, flow->count, &flow->room, sizeof(*flow->nodes));
	if (!nodes)
		return -ENOMEM;
	flow->nodes = nodes;
	nodes[flow->count] = (struct flow_node){.at = at, .state = *state};
	flow->numbers[at] = (uint32_t)++flow->count;
	return queue_node(flow, (uint32_t)flow->count - 1);
}

/* A way leads out of the function. */
static void leave_function(struct flow *flow, const struct flow_state *state)
{
	static const struct value returned = {.kind = VALUE_CFA, .offset = -8};

	flow->result->returns = true;
	if (value_is_equal(state->regs[FLOW_RSP], returned))
		flow->result->returns_as_called = true;
	else
		flow->result->is_odd = true;
}

/* A way leads to the instruction at that distance. */
static int go_to(struct flow *flow, int64_t at, const struct flow_state *state)
{
	if (at < 0 || (uint64_t)at >= flow->function->bytes) {
		flow->result->returns = flow->result->leaves = true;
		flow->result->is_longer |=
			at >= 0 && (uint64_t)at < flow->function->bytes + flow->function->beyond;
		return 0;
	}
	uint32_t number = flow->numbers[at];

	if (!number)
		return add_node(flow, (uint32_t)at, state);
	if (!flow_merge(&flow->nodes[number - 1].state, state))
		return 0;
	return queue_node(flow, number - 1);
}

static int go_behind_later(struct flow *flow, uint32_t call, int64_t at,
			   const struct flow_state *state)
{
	if (flow->behind_count >= BEHIND_MAX)
		return -EFBIG;
	struct behind *behind = grow_array(flow->behind, flow->behind_count, &flow->behind_room,
					   sizeof(*flow->behind));

	if (!behind)
		return -ENOMEM;
	flow->behind = behind;
	behind[flow->behind_count++] = (struct behind){call, (uint32_t)at, *state};
	return 0;
}

/* Returns whether the stack is another one: the stack pointer is known to be elsewhere, and no
 * frame pointer says that both belong to one frame (alloca). */
static bool is_another_stack(const struct flow_state *a, const struct flow_state *b)
{
	struct value left = a->regs[FLOW_RSP], right = b->regs[FLOW_RSP];
	struct value frame = a->regs[FLOW_RBP];

	if (left.kind == VALUE_UNKNOWN || right.kind == VALUE_UNKNOWN ||
	    value_is_equal(left, right))
		return false;
	return frame.kind != VALUE_CFA || !value_is_equal(frame, b->regs[FLOW_RBP]);
}

/* Goes on behind a call, unless another way says that the stack is different there: then the call
 * doesn't come back. (A way that was gone once is gone again when less is known.) */
static int go_behind(struct flow *flow, const struct behind *behind)
{
	uint32_t number = behind->at < flow->function->bytes ? flow->numbers[behind->at] : 0;
	struct flow_node *call = &flow->nodes[behind->call];

	if (behind->at >= flow->function->bytes) {
		flow->result->breaks = true;
		return 0;
	}
	if (number && !call->comes_back &&
	    is_another_stack(&flow->nodes[number - 1].state, &behind->state))
		return 0;
	call->comes_back = true;
	return go_to(flow, behind->at, &behind->state);
}

/* Reads a table of jumps with entries of `each` bytes; 4: distances from the table. */
static int go_by_table(struct flow *flow, int64_t table, unsigned count, unsigned each,
		       const struct flow_state *state)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	const struct flow_function *function = flow->function;
	int r = 0;

	if (!function->read || !count || count > ENTRIES_MAX)
		return go_to(flow, AWAY, state);
	bytes = malloc((size_t)count * each);
	if (!bytes)
		return -ENOMEM;
	if (function->read(function->arg, function->address + (uint64_t)table, bytes,
			   (size_t)count * each) < 0)
		return go_to(flow, AWAY, state);
	for (unsigned i = 0; r == 0 && i < count; i++) {
		int32_t distance;
		uint64_t address;

		if (each == sizeof(distance)) {
			memcpy(&distance, bytes + i * each, each);
			r = go_to(flow, table + distance, state);
		} else {
			memcpy(&address, bytes + i * each, each);
			r = go_to(flow, (int64_t)(address - function->address), state);
		}
	}
	return r;
}

/* Sets *table to where a jump's table is. Returns the size of its entries; 0: it isn't known. */
static unsigned table_of(const struct flow *flow, const ZydisDecodedOperand *to,
			 const struct flow_state *state, int64_t *table, unsigned *count)
{
	if (to->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		int reg = flow_reg_of(to->reg.value);

		if (reg < 0 || state->regs[reg].kind != VALUE_TARGET)
			return 0;
		*table = state->regs[reg].offset;
		*count = state->regs[reg].count;
		return sizeof(int32_t);
	}
	if (to->type != ZYDIS_OPERAND_TYPE_MEMORY || to->mem.scale != 8)
		return 0;
	int index = flow_reg_of(to->mem.index), base = flow_reg_of(to->mem.base);

	if (index < 0 || state->regs[index].kind != VALUE_BOUNDED)
		return 0;
	*count = state->regs[index].count;
	*table = to->mem.disp.has_displacement ? to->mem.disp.value : 0;
	if (to->mem.base == ZYDIS_REGISTER_NONE)
		*table -= (int64_t)flow->function->address;
	else if (base >= 0 && state->regs[base].kind == VALUE_ADDRESS)
		*table += state->regs[base].offset;
	else
		return 0;
	return sizeof(uint64_t);
}

static int jump_indirectly(struct flow *flow, const struct flow_instruction *instruction,
			   const struct flow_state *state)
{
	int64_t table;
	unsigned count, each = table_of(flow, &instruction->operands[0], state, &table, &count);

	if (each)
		return go_by_table(flow, table, count, each, state);
	flow->result->returns = flow->result->leaves = true; /* a call at the function's end? */
	return 0;
}

/* Below which number the compared register is on the two ways of a jump; 0: it isn't known. */
static void bounds_of(const struct flow_instruction *instruction, const struct flow_state *state,
		      unsigned *jumped, unsigned *passed)
{
	unsigned number = state->compared_with;

	*jumped = *passed = 0;
	if (!state->compared)
		return;
	switch (instruction->is.mnemonic) {
	case ZYDIS_MNEMONIC_JNBE:
		*passed = number + 1;
		break;
	case ZYDIS_MNEMONIC_JBE:
		*jumped = number + 1;
		break;
	case ZYDIS_MNEMONIC_JNB:
		*passed = number;
		break;
	case ZYDIS_MNEMONIC_JB:
		*jumped = number;
		break;
	default:
		break;
	}
}

/* Notes that a register is below a number, unless it is one that the frame is found by. */
static void note_bound(struct flow_state *state, int reg, unsigned count)
{
	struct value *value = &state->regs[reg];
	bool is_saved = value->kind == VALUE_ENTRY && (reg == FLOW_RBX || reg == FLOW_RBP);

	if (!is_saved && value->kind != VALUE_CFA && value->kind != VALUE_ALIGNED)
		*value = (struct value){.kind = VALUE_BOUNDED, .count = (uint16_t)count};
}

static int jump_perhaps(struct flow *flow, const struct flow_instruction *instruction, int64_t to,
			struct flow_state *state)
{
	struct flow_state there = *state;
	unsigned jumped, passed;

	bounds_of(instruction, state, &jumped, &passed);
	if (jumped)
		note_bound(&there, state->compared - 1, jumped);
	if (passed)
		note_bound(state, state->compared - 1, passed);
	int r = go_to(flow, to, &there);

	return r ? r : go_to(flow, instruction->at + instruction->is.length, state);
}

static int go_on_behind_call(struct flow *flow, const struct flow_instruction *instruction,
			     bool is_direct, int64_t to, struct flow_state *state)
{
	const struct flow_function *function = flow->function;
	int64_t next = instruction->at + instruction->is.length;

	if (is_direct && to == next) { /* how old code finds its own address */
		struct value *sp = &state->regs[FLOW_RSP];

		if (sp->kind == VALUE_CFA || sp->kind == VALUE_ALIGNED)
			sp->offset -= 8;
		return go_to(flow, next, state);
	}
	if (is_direct && function->calls)
		function->calls(function->arg, function->address + (uint64_t)to);
	if (is_direct && function->ends &&
	    function->ends(function->arg, function->address + (uint64_t)to)) {
		flow->result->stops = true;
		return 0;
	}
	return go_behind_later(flow, flow->numbers[instruction->at] - 1, next, state);
}

static int go_on(struct flow *flow, const struct flow_instruction *instruction,
		 struct flow_state *state)
{
	const ZydisDecodedInstruction *is = &instruction->is;
	int64_t next = instruction->at + is->length;
	bool is_direct = is->raw.imm[0].size && is->raw.imm[0].is_relative;
	int64_t to = next + is->raw.imm[0].value.s;

	switch (is->meta.category) {
	case ZYDIS_CATEGORY_RET:
		leave_function(flow, state);
		return 0;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is_direct ? go_to(flow, to, state)
				 : jump_indirectly(flow, instruction, state);
	case ZYDIS_CATEGORY_COND_BR:
		return jump_perhaps(flow, instruction, to, state);
	case ZYDIS_CATEGORY_CALL:
		return go_on_behind_call(flow, instruction, is_direct, to, state);
	case ZYDIS_CATEGORY_SYSRET:
		return 0;
	case ZYDIS_CATEGORY_SYSCALL:
		flow->result->asks_kernel = true;
		break;
	default:
		break;
	}
	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_HLT:
		flow->result->stops = true;
		return 0;
	case ZYDIS_MNEMONIC_XBEGIN:
		return jump_perhaps(flow, instruction, to, state);
	default:
		return go_to(flow, next, state);
	}
}

static int take_turn(struct flow *flow, uint32_t number)
{
	struct flow_node *node = &flow->nodes[number];
	const struct flow_function *function = flow->function;
	struct flow_instruction instruction = {.at = node->at};
	struct flow_state state = node->state;

	node->queued = false;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&flow->decoder, function->code + node->at,
						 function->bytes - node->at, &instruction.is,
						 instruction.operands))) {
		flow->result->breaks = true; /* nobody comes here, or it is no code */
		return 0;
	}
	node->bytes = instruction.is.length;
	flow_step(&state, &instruction);
	return go_on(flow, &instruction, &state);
}

static int follow_all(struct flow *flow)
{
	struct flow_state entry;
	int r;

	flow_entry(&entry);
	r = go_to(flow, 0, &entry);
	for (size_t turns = 0; r == 0 && (flow->queued || flow->behind_count); turns++) {
		if (turns % LATE_EVERY == LATE_EVERY - 1 && flow->function->is_late &&
		    flow->function->is_late(flow->function->arg))
			return -ETIMEDOUT;
		if (flow->queued) {
			r = take_turn(flow, flow->queue[--flow->queued]);
			continue;
		}
		struct behind behind = flow->behind[flow->behind_done++];

		if (flow->behind_done == flow->behind_count)
			flow->behind_done = flow->behind_count = 0;
		r = go_behind(flow, &behind);
	}
	return r;
}

int flow_visit_all(const struct flow_function *function, flow_visit visit, void *arg,
		   struct flow_result *result)
{
	_cleanup_(flow_free) struct flow flow = {.function = function, .result = result};

	*result = (struct flow_result){0};
	if (function->bytes > FLOW_BYTES_MAX)
		return -EFBIG;
	flow.numbers = calloc(function->bytes + 1, sizeof(*flow.numbers));
	if (!flow.numbers)
		return -ENOMEM;
	ZydisDecoderInit(&flow.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	int r = follow_all(&flow);
	for (size_t at = 0; r == 0 && at < function->bytes; at++) {
		const struct flow_node *node =
			flow.numbers[at] ? &flow.nodes[flow.numbers[at] - 1] : NULL;

		if (!node || !node->bytes)
			continue;
		result->instructions++;
		r = !visit ? 0 : visit(arg, function->address + at, node->bytes, &node->state);
	}
	return r;
}

bool flow_ends_in_jump(const uint8_t bytes[FLOW_JUMP_BYTES])
{
	return bytes[0] == 0xff && (bytes[1] & 0xf8) == 0xe0;
}

struct rows {
	row_sink sink;
	void *arg;
	struct rule last;
	uint64_t end; /* of the last instruction */
	bool begun;
	struct flow_result *result;
};

static int give_rule(struct rows *rows, uint64_t address, const struct rule *rule)
{
	if (rows->begun && rule_is_equal(rule, &rows->last))
		return 0;
	rows->begun = true;
	rows->last = *rule;
	return rows->sink(rows->arg, address, rule);
}

static int give_row(void *arg, uint64_t address, unsigned bytes, const struct flow_state *state)
{
	static const struct rule none = {.kind = RULE_NONE};
	struct rows *rows = arg;
	struct rule rule;
	int r = rows->begun && address > rows->end ? give_rule(rows, rows->end, &none) : 0;

	flow_rule(state, &rule);
	rows->result->claimed += rule.kind != RULE_NONE;
	if (address + bytes > rows->end)
		rows->end = address + bytes;
	return r ? r : give_rule(rows, address, &rule);
}

int flow_rows(const struct flow_function *function, row_sink sink, void *arg,
	      struct flow_result *result)
{
	static const struct rule none = {.kind = RULE_NONE};
	struct rows rows = {.sink = sink, .arg = arg, .end = function->address, .result = result};
	int r = flow_visit_all(function, give_row, &rows, result);

	return r || !rows.begun ? r : give_rule(&rows, rows.end, &none);
}
