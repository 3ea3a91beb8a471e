// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder in LuaJIT's interpreter and in the code that LuaJIT made. */
#include "unit/walk/walk_rules.h"

#define VM	   (CODE + 0x1000)
#define CALLER	   (CODE + 0x110) /* of the interpreter */
#define AREA	   0x700000	  /* for made code */
#define AREA_BYTES 0x10000
#define TRACE	   (AREA + 0x800)
#define STATES	   0x10000000
#define STATE	   (STATES + 0x100)
#define FRAME	   (STACK + 0x1000)

/* A frame that the state knows or knew: it returns to CALLER. */
static void put_frame(uint64_t frame, uint64_t state, uint64_t before)
{
	maker_put(frame + 0x10, state);
	maker_put(frame + 0x20, before);
	maker_put(frame + 0x40, 7); /* the caller's fp */
	maker_put(frame + 0x48, CALLER);
	maker_put(frame + 0x50 + 120, ROOT_AT);
}

static void put_area(uint64_t at, uint64_t before, uint64_t bytes)
{
	maker_put(at, before);
	maker_put(at + 8, bytes);
}

/* A function of 16 words with CFI, the interpreter, an area, a state with its frame. */
static void make_luajit(void)
{
	make_process({CODE + 0x100, cfa(7, 128)}, {CODE + 0x200, {.kind = RULE_NONE}},
		     {VM, {.kind = RULE_LUAJIT}}, {VM + 0x4000, {.kind = RULE_NONE}});
	maker_map(AREA, AREA_BYTES);
	maker_span((struct span){AREA, AREA + AREA_BYTES, 0, 0,
				 SPAN_BARE << SPAN_KIND_SHIFT | SPAN_LUAJIT});
	put_area(AREA, 0, AREA_BYTES);
	maker_map(STATES, 0x1000);
	maker_put(STATE + 0x50, FRAME);
	put_frame(FRAME, STATE, 0);
	maker.regs.gpr[ARCH_SP] = FRAME;
	maker.regs.gpr[ARCH_FP] = STATE;
	maker.regs.pc = VM + 0x30;
}

static void the_interpreters_frame_is_its_states(void **state)
{
	(void)state;
	make_luajit();
	for (uint64_t below = 0; below < LUAJIT_SEARCHED * 16; below += 8) {
		maker.regs.gpr[ARCH_SP] = FRAME - below;
		expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, ROOT_AT);
		assert_int_equal(maker.walk->fp, 7);
	}
	maker.regs.gpr[ARCH_SP] =
		FRAME - LUAJIT_SEARCHED * 16; /* so far away it is another call's */
	expect_walk(TRUNCATED_RULE, VM + 0x30);
	maker.regs.gpr[ARCH_SP] = FRAME - 8;
	maker_put(STATE + 0x50, FRAME | 1); /* of a coroutine that was resumed */
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, ROOT_AT);
}

/* The interpreter calls a function, which calls into Lua again, with the same state. */
static void a_frame_before_the_newest_is_found_by_it(void **state)
{
	uint64_t outer = FRAME + 0x50 + 128;

	(void)state;
	make_luajit();
	maker_put(FRAME + 0x50 + 120, VM + 0x44); /* CALLER's frame has 16 words */
	put_frame(outer + 0x40, STATE, 0);	  /* the interpreter had put something below it */
	maker_put(FRAME + 0x20, outer + 0x40);
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, VM + 0x44, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_SP] = FRAME - 0x80;
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, VM + 0x44, CALLER, ROOT_AT);
	maker_put(FRAME + 0x20, 0); /* the state doesn't know of it */
	expect_walk(TRUNCATED_RULE, VM + 0x30, CALLER, VM + 0x44);
}

/* A coroutine's frames, of which the newest isn't the one above, lie between those of two states.
 */
static void no_frame_of_another_state_takes_its_place(void **state)
{
	uint64_t inner = FRAME - 0x100, other = FRAME + 0x50;

	(void)state;
	make_luajit();
	maker_put(STATE + 0x50, inner);
	put_frame(inner, STATE, FRAME);
	put_frame(other, STATES + 0x200, 0);
	maker_put(STATES + 0x200 + 0x50, other | 1);
	maker_put(FRAME + 0x48, VM + 0x50); /* it was resumed there */
	expect_walk(TRUNCATED_NOT, VM + 0x30, VM + 0x50, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_SP] = FRAME - 0x10; /* (not through the inner frame) */
	expect_walk(TRUNCATED_NOT, VM + 0x30, VM + 0x50, CALLER, ROOT_AT);
	maker_put(inner + 0x20, FRAME - 0x10); /* what can't be followed is no frame */
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, ROOT_AT);
}

static void what_looks_like_a_frame_is_none_without_its_state(void **state)
{
	(void)state;
	make_luajit();
	maker.regs.gpr[ARCH_SP] = FRAME - 0x100;
	put_frame(FRAME - 0x100, STATE, 0); /* an old one: the state has another frame now */
	maker_put(FRAME - 0x100 + 0x20, FRAME + 0x100); /* (and had another one before) */
	put_frame(FRAME - 0xa0, STATES + 0x3, 0);
	put_frame(FRAME - 0x50, 0x5000, 0); /* no memory there */
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, ROOT_AT);
	maker_put(FRAME + 0x20, FRAME - 0x10); /* the frame before lies above */
	expect_walk(TRUNCATED_RULE, VM + 0x30);
}

static void made_code_is_walked_where_an_area_for_it_is(void **state)
{
	(void)state;
	make_luajit();
	maker.regs.pc = TRACE;
	maker.regs.gpr[ARCH_SP] = FRAME - 0x60;
	expect_walk(TRUNCATED_NOT, TRACE, CALLER, ROOT_AT);
	maker_put(STATE + 0x50, FRAME + 0x10);
	maker.regs.gpr[ARCH_FP] = 0; /* a value of the trace */
	expect_walk(TRUNCATED_RULE, TRACE);
	maker_put(STATE + 0x50, FRAME);
	put_area(AREA, AREA + AREA_BYTES, 0x400); /* of two areas, the second has it */
	put_area(AREA + 0x400, 0, AREA_BYTES - 0x400);
	expect_walk(TRUNCATED_FRAME_POINTER, TRACE); /* not of whole pages */
	put_area(AREA, AREA + 0x5000, 0x1000);
	expect_walk(TRUNCATED_NOT, TRACE, CALLER, ROOT_AT);
	maker.regs.pc = AREA + 0x1800;
	expect_walk(TRUNCATED_FRAME_POINTER, AREA + 0x1800);
	put_area(AREA + 0x1000, AREA, AREA_BYTES - 0x1000);
	expect_walk(TRUNCATED_NOT, AREA + 0x1800, CALLER, ROOT_AT);
	put_area(AREA + 0x1000, AREA, AREA_BYTES); /* beyond the mapping */
	expect_walk(TRUNCATED_FRAME_POINTER, AREA + 0x1800);
	put_area(AREA + 0x1000, AREA + 3, AREA_BYTES - 0x1000);
	expect_walk(TRUNCATED_FRAME_POINTER, AREA + 0x1800);
}

/* Many calls into Lua of one state, one in the other. */
static void each_of_many_frames_of_a_state_is_there(void **state)
{
	enum { CALLS = 40, CALL_BYTES = 0x50 + 128 };
	uint64_t frame = FRAME;

	(void)state;
	make_luajit();
	for (int i = 0; i < CALLS; i++, frame += CALL_BYTES) {
		put_frame(frame, STATE, i + 1 < CALLS ? frame + CALL_BYTES : 0);
		maker_put(frame + 0x50 + 120, i + 1 < CALLS ? VM + 0x44 : ROOT_AT);
	}
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(maker.walk->head.words_count, 2 * CALLS + 1);
}

/* While it is set up or left, what lies above it is another call's. */
static void a_frame_that_its_state_does_not_know_ends_the_walk(void **state)
{
	(void)state;
	make_luajit();
	put_frame(FRAME - 0x60, STATE, FRAME);
	maker.regs.gpr[ARCH_SP] = FRAME - 0x60;
	expect_walk(TRUNCATED_RULE, VM + 0x30);
	maker.regs.pc = TRACE; /* a value of a trace */
	expect_walk(TRUNCATED_NOT, TRACE, CALLER, ROOT_AT);
}

/* The interpreter has functions of C that others call, and calls parts of itself. */
static void a_leaf_that_was_called_returns_to_that_call(void **state)
{
	(void)state;
	make_luajit();
	maker.regs.gpr[ARCH_SP] = FRAME - 8 - 128;
	maker_put(FRAME - 8 - 128, CALLER);
	maker_call(CALLER, VM + 0x30);
	maker_put(FRAME - 8, VM + 0x50);
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, VM + 0x50, CALLER, ROOT_AT);
	maker_call(CALLER, VM + 0x40); /* it went behind pc: the word is a value */
	expect_walk(TRUNCATED_NOT, VM + 0x30, CALLER, ROOT_AT);
}

static void a_stack_of_what_looks_like_frames_is_looked_at_for_a_while(void **state)
{
	uint64_t reads;

	(void)state;
	make_luajit();
	for (uint64_t at = FRAME; at + 0x60 < STACK + STACK_BYTES; at += 0x10) {
		maker_put(at, STATE);
		maker_put(at + 8, STATE);
	}
	for (uint64_t at = FRAME; at + 0x60 < STACK + STACK_BYTES; at += 0x10)
		maker_put(at + 0x8, at + 0x100);
	maker_put(STATE + 0x50, STACK);
	reads = maker.reads;
	maker_walk_as(0);
	assert_true(maker.reads - reads < LUAJIT_LOOKS / LUAJIT_READ + 100);
	assert_int_not_equal(maker.walk->head.truncated, TRUNCATED_NOT);
}

/* A regular expression's, say, which a trace called by way of other functions. */
static void other_made_code_is_not_luajits(void **state)
{
	(void)state;
	make_luajit();
	put_area(AREA, AREA_BYTES, 0);
	maker.regs.pc = TRACE;
	maker.regs.gpr[ARCH_SP] = FRAME - 0x60;
	expect_walk(TRUNCATED_FRAME_POINTER, TRACE);
	maker.regs.pc = BARE + 0x800; /* of a mapping without the flag */
	put_area(BARE, 0, CODE_BYTES);
	expect_walk(TRUNCATED_FRAME_POINTER, BARE + 0x800);
}

static void a_call_from_made_code_comes_back_there(void **state)
{
	(void)state;
	make_luajit();
	maker.regs.pc = CODE + 0x104;
	maker.regs.gpr[ARCH_SP] = FRAME - 0x40 - 128;
	maker_put(FRAME - 0x40 - 8, TRACE);
	expect_walk(TRUNCATED_NOT, CODE + 0x104, TRACE, CALLER, ROOT_AT);
	assert_int_equal(frame_kind_of(1), FRAME_NATIVE_RETURN);
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(the_interpreters_frame_is_its_states),
		WALK(a_frame_before_the_newest_is_found_by_it),
		WALK(no_frame_of_another_state_takes_its_place),
		WALK(what_looks_like_a_frame_is_none_without_its_state),
		WALK(made_code_is_walked_where_an_area_for_it_is),
		WALK(each_of_many_frames_of_a_state_is_there),
		WALK(a_frame_that_its_state_does_not_know_ends_the_walk),
		WALK(a_leaf_that_was_called_returns_to_that_call),
		WALK(a_stack_of_what_looks_like_frames_is_looked_at_for_a_while),
		WALK(other_made_code_is_not_luajits),
		WALK(a_call_from_made_code_comes_back_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
