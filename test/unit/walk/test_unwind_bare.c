// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder in code without CFI: frame pointers, what lies on top of the stack, made roots. */
#include "unit/walk/walk_rules.h"

#define HOLE   (CODE + 0x4000) /* code without CFI in a file with a table */
#define FRAMES (CODE + 0x6000) /* the same, and it keeps frame pointers */
#define CALLER (CODE + 0x110)
#define JIT    (BARE + 0x100)

/* A function of 16 words with CFI, and two holes. */
static void make_bare(void)
{
	make_process({CODE + 0x100, cfa(7, 128)}, {CODE + 0x200, {.kind = RULE_NONE}},
		     {FRAMES, {.kind = RULE_FRAMES}});
	maker.regs.pc = JIT;
}

/* A frame record and the call that its return address is behind. */
static void put_frame(uint64_t at, uint64_t fp, uint64_t return_address)
{
	maker_put(at, fp);
	maker_put(at + 8, return_address);
	maker_call(return_address, BARE);
}

static void code_without_cfi_is_walked_by_its_frame_pointer(void **state)
{
	(void)state;
	make_bare();
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, STACK + 0x200, BARE + 0x210);
	put_frame(STACK + 0x200, 7, CALLER);
	maker_put(STACK + 0x210 + 120, ROOT_AT);
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210, CALLER, ROOT_AT);
	assert_int_equal(maker.walk->fp, 7);
	maker.regs.pc = FRAMES;
	expect_walk(TRUNCATED_NOT, FRAMES, BARE + 0x210, CALLER, ROOT_AT);
}

/* In hand-written code fp is a caller's: the walk would go past that. */
static void a_frame_pointer_that_may_be_a_callers_is_not_followed(void **state)
{
	(void)state;
	make_bare();
	maker.regs.pc = HOLE + 100;
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 7, CALLER);
	maker_put(STACK + 0x110 + 120, ROOT_AT);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	maker_call(CALLER, HOLE + 101); /* behind it, too */
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	maker_call(CALLER, HOLE + 100); /* that call led here: fp is this function's */
	expect_walk(TRUNCATED_NOT, HOLE + 100, CALLER, ROOT_AT);
}

/* CODE + 0x100 is called from made code, which ends behind that call: fp is somebody else's. */
static void a_call_that_a_function_ends_behind_needs_no_frame_pointer(void **state)
{
	static const uint8_t leaves[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}; /* add $8, %rsp; ret */
	static const uint8_t stays[] = {0x48, 0x83, 0xc4, 0x08, 0x90};

	(void)state;
	make_bare();
	maker.regs.pc = CODE + 0x104;
	maker.regs.gpr[ARCH_FP] = 7;
	maker_put(maker.regs.gpr[ARCH_SP] + 120, JIT);
	maker_call(JIT, CODE + 0x100);
	maker_poke(JIT, leaves, sizeof(leaves));
	maker_put(maker.regs.gpr[ARCH_SP] + 128 + 8, CALLER);
	maker_call(CALLER, BARE);
	maker_put(maker.regs.gpr[ARCH_SP] + 128 + 16 + 120, ROOT_AT);
	expect_walk(TRUNCATED_NOT, CODE + 0x104, JIT, CALLER, ROOT_AT);
	assert_int_equal(maker.walk->fp, 7);
	maker_poke(JIT, stays, sizeof(stays));
	expect_walk(TRUNCATED_FRAME_POINTER, CODE + 0x104, JIT);
	maker_poke(JIT, leaves, sizeof(leaves));
	maker_put(maker.regs.gpr[ARCH_SP] + 128 + 8, CALLER + 1); /* no call is before that */
	expect_walk(TRUNCATED_FRAME_POINTER, CODE + 0x104, JIT);
}

static void the_first_frame_has_fp_0_or_returns_to_0(void **state)
{
	(void)state;
	make_bare();
	maker.regs.gpr[ARCH_FP] = 0; /* an interrupted function may have anything there */
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 0, BARE + 0x210);
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210);
	maker_put(STACK + 0x100, STACK + 0x200);
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210);
}

static void an_implausible_frame_pointer_is_not_followed(void **state)
{
	(void)state;
	make_bare();
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 0, BARE + 0x210);
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210);
	maker.regs.gpr[ARCH_SP] = STACK + 0x110; /* below sp */
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	maker.regs.gpr[ARCH_SP] = STACK + 0x100;
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210);
	maker.regs.gpr[ARCH_FP] = STACK + 0x104; /* misaligned */
	put_frame(STACK + 0x104, 0, BARE + 0x210);
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	maker.regs.gpr[ARCH_FP] = STACK + STACK_BYTES - 8; /* half of it readable */
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	maker.regs.gpr[ARCH_FP] = STACK + STACK_BYTES;
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
}

static void a_return_address_is_behind_a_call_in_executable_memory(void **state)
{
	static const uint8_t nops[8] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};

	(void)state;
	make_bare();
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 0, BARE + 0x210);
	maker_poke(BARE + 0x208, nops, 8);
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	put_frame(STACK + 0x100, 0, STACK + 0x1000); /* not executable */
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	maker_span((struct span){0x700000, 0x701000, 0, 0, SPAN_BARE << SPAN_KIND_SHIFT});
	maker_put(STACK + 0x108, 0x700010); /* executable, can't be read */
	expect_walk(TRUNCATED_FRAME_POINTER, JIT);
	put_frame(STACK + 0x100, 0, BARE + CODE_BYTES); /* a call that never returns, at the end */
	expect_walk(TRUNCATED_NOT, JIT, BARE + CODE_BYTES);
}

static void a_caller_without_cfi_and_without_fp_ends_the_walk(void **state)
{
	struct rule loses = cfa(7, 20);

	(void)state;
	loses.fp = (struct saved){.kind = SAVED_LOST};
	make_process({CODE, loses}, {CODE + 0x100, cfa(7, 128)},
		     {CODE + 0x200, {.kind = RULE_NONE}});
	maker_put(STACK + 12, JIT);
	maker_put(STACK + 20, CALLER); /* only a leaf's may lie on top */
	maker_call(CALLER, JIT);
	expect_walk(TRUNCATED_FRAME_POINTER, CODE, JIT);
	maker_put(STACK + 12, HOLE + 8);
	maker_call(CALLER, HOLE);
	expect_walk(TRUNCATED_FRAME_POINTER, CODE, HOLE + 8);
	maker.regs.gpr[ARCH_FP] = 0; /* this was lost */
	expect_walk(TRUNCATED_FRAME_POINTER, CODE, HOLE + 8);
	maker.regs.gpr[ARCH_FP] = STACK + 0x100; /* and this */
	put_frame(STACK + 0x100, 0, BARE + 0x210);
	maker_call(BARE + 0x210, HOLE);
	expect_walk(TRUNCATED_FRAME_POINTER, CODE, HOLE + 8);
}

static void a_leaf_without_cfi_returns_to_the_call_that_led_near_it(void **state)
{
	(void)state;
	make_bare();
	maker.regs.pc = HOLE + 100;
	maker_put(STACK, CALLER);
	maker_put(STACK + 8 + 120, ROOT_AT);
	for (uint64_t away = 0; away < 4096; away += 4095) {
		maker_call(CALLER, HOLE + 100 - away);
		expect_walk(TRUNCATED_NOT, HOLE + 100, CALLER, ROOT_AT);
	}
	assert_int_equal(maker.walk->fp, 1);
	maker_put(STACK, JIT); /* that caller needs no CFI */
	maker_call(JIT, HOLE);
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 0, CALLER);
	maker_put(STACK + 0x110 + 120, ROOT_AT);
	expect_walk(TRUNCATED_NOT, HOLE + 100, JIT, CALLER, ROOT_AT);
	assert_int_equal(maker.walk->fp, 0);
}

static void a_leafs_caller_by_another_call_is_confirmed_by_the_frame_after_it(void **state)
{
	static const uint8_t call_rax[] = {0xff, 0xd0};

	(void)state;
	make_bare();
	maker.regs.pc = HOLE + 100;
	maker_put(STACK, CALLER);
	maker_poke(CALLER - 2, call_rax, 2);
	maker_put(STACK + 8 + 120, ROOT_AT);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100); /* ROOT_AT is behind no call */
	maker_call(ROOT_AT, BARE);
	expect_walk(TRUNCATED_NOT, HOLE + 100, CALLER, ROOT_AT);
	maker_put(STACK + 8 + 120, STACK);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	maker_put(STACK, ROOT_AT); /* a root needs no more */
	expect_walk(TRUNCATED_NOT, HOLE + 100, ROOT_AT);
	maker_put(STACK, JIT); /* a caller without CFI confirms nothing */
	maker_poke(JIT - 2, call_rax, 2);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	maker_put(STACK, HOLE + 0x200);
	maker_poke(HOLE + 0x1fe, call_rax, 2);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	maker.regs.gpr[ARCH_FP] = STACK + 0x200; /* the frame pointer tells another, for sure */
	put_frame(STACK + 0x200, 0, CALLER);
	maker_call(CALLER, HOLE);
	maker_put(STACK + 0x210 + 120, ROOT_AT + 1);
	expect_walk(TRUNCATED_NOT, HOLE + 100, CALLER, ROOT_AT + 1);
	maker_put(STACK, JIT);
	expect_walk(TRUNCATED_NOT, HOLE + 100, CALLER, ROOT_AT + 1);
}

static void a_frame_that_was_not_confirmed_leaves_no_trace(void **state)
{
	uint64_t hash;

	(void)state;
	make_bare();
	maker.regs.pc = HOLE + 100;
	maker_put(STACK, 0);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	hash = maker.walk->head.key.hash;
	maker_put(STACK, CALLER);
	maker_call(CALLER, BARE); /* it went elsewhere */
	maker_put(STACK + 8 + 120, ROOT_AT);
	expect_walk(TRUNCATED_FRAME_POINTER, HOLE + 100);
	assert_int_equal(maker.walk->head.key.hash, hash);
}

static void code_made_at_run_time_prefers_its_frame_pointer(void **state)
{
	(void)state;
	make_bare();
	maker_put(STACK, CALLER);
	maker_call(CALLER, JIT);
	maker_put(STACK + 8 + 120, ROOT_AT);
	expect_walk(TRUNCATED_NOT, JIT, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, 0, BARE + 0x210);
	expect_walk(TRUNCATED_NOT, JIT, BARE + 0x210);
}

static void at_a_functions_first_and_last_instruction_the_top_is_the_return_address(void **state)
{
	static const struct {
		const char *code;
		bool pushed, is;
	} places[] = {
		{"\x55\x48\x89\xe5", false, true},		   /* push rbp */
		{"\xc3", false, true},				   /* ret */
		{"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5", false, true}, /* endbr64; push rbp */
		{"\x48\x89\xe5", true, true},			   /* mov rbp, rsp */
		{"\x48\x8b\xec", true, true},			   /* by the other encoding */
		{"\x48\x89\xec", true, false},			   /* mov rsp, rbp */
		{"\xf3\x0f\x1e\xfa\x53", false, false},		   /* endbr64; push rbx */
		{"\x53", false, false},				   /* push rbx */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		uint64_t top = STACK + 0x10;

		make_bare();
		maker.regs.gpr[ARCH_SP] = top;
		maker.regs.gpr[ARCH_FP] = STACK + 0x200;
		put_frame(STACK + 0x200, 0, BARE + 0x310);
		maker_poke(JIT, places[i].code, strlen(places[i].code));
		if (places[i].pushed) {
			maker_put(top, STACK + 0x200);
			maker.regs.gpr[ARCH_FP] = places[i].is ? 1 : STACK + 0x200;
		}
		maker_put(top + (places[i].pushed ? 8 : 0), BARE + 0x410);
		maker_call(BARE + 0x410, CODE);
		if (places[i].is)
			expect_walk(TRUNCATED_NOT, JIT, BARE + 0x410, BARE + 0x310);
		else
			expect_walk(TRUNCATED_NOT, JIT, BARE + 0x310);
	}
}

static void only_an_interrupted_frame_is_at_its_first_instruction(void **state)
{
	(void)state;
	make_bare();
	maker.regs.gpr[ARCH_FP] = STACK + 0x100;
	put_frame(STACK + 0x100, STACK + 0x200, JIT + 0x100);
	maker_poke(JIT + 0x100, "\xc3", 1);
	maker_put(STACK + 0x110, CALLER); /* on its top */
	maker_call(CALLER, BARE);
	put_frame(STACK + 0x200, 0, BARE + 0x310);
	expect_walk(TRUNCATED_NOT, JIT, JIT + 0x100, BARE + 0x310);
}

/* ---- roots that makecontext() made ---- */

#define MADE (CODE + 0x3000)

static void make_context(struct rule before, struct rule first)
{
	make_process({CODE, cfa(7, 8)}, {MADE - 0x100, before}, {MADE, first},
		     {MADE + 4, cfa(7, 16)});
	maker_put(STACK, MADE);
	maker_put(STACK + 8, 0x1234567); /* no code */
	maker_put(STACK + 16, 0x1234567);
}

static void a_function_that_nobody_called_is_a_root(void **state)
{
	(void)state;
	make_context((struct rule){.kind = RULE_NONE}, cfa(7, 8));
	expect_walk(TRUNCATED_NOT, CODE, MADE);
	assert_int_equal(frame_kind_of(1), FRAME_NATIVE); /* it is at its first instruction */
	make_context(cfa(7, 16), cfa(7, 8));
	expect_walk(TRUNCATED_NOT, CODE, MADE);
	make_context((struct rule){.kind = RULE_UNSUPPORTED}, cfa(7, 8));
	expect_walk(TRUNCATED_NOT, CODE, MADE);
}

static void what_a_call_left_or_lies_within_a_function_is_no_made_root(void **state)
{
	(void)state;
	make_context(cfa(7, 16), cfa(7, 8));
	maker_call(MADE, CODE);
	expect_walk(TRUNCATED_ADDRESS, CODE, MADE);
	make_context(cfa(7, 16), cfa(7, 24));
	expect_walk(TRUNCATED_ADDRESS, CODE, MADE);
	make_context(cfa(7, 16), cfa(7, 8));
	maker_put(STACK, MADE + 2);
	expect_walk(TRUNCATED_ADDRESS, CODE, MADE + 2);
	maker_put(STACK, BARE + 0x100);
	expect_walk(TRUNCATED_FRAME_POINTER, CODE, BARE + 0x100);
	maker.regs.pc = MADE; /* interrupted there */
	maker_put(STACK, 0x1234567);
	expect_walk(TRUNCATED_ADDRESS, MADE);
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(code_without_cfi_is_walked_by_its_frame_pointer),
		WALK(a_frame_pointer_that_may_be_a_callers_is_not_followed),
		WALK(a_call_that_a_function_ends_behind_needs_no_frame_pointer),
		WALK(the_first_frame_has_fp_0_or_returns_to_0),
		WALK(an_implausible_frame_pointer_is_not_followed),
		WALK(a_return_address_is_behind_a_call_in_executable_memory),
		WALK(a_caller_without_cfi_and_without_fp_ends_the_walk),
		WALK(a_leaf_without_cfi_returns_to_the_call_that_led_near_it),
		WALK(a_leafs_caller_by_another_call_is_confirmed_by_the_frame_after_it),
		WALK(a_frame_that_was_not_confirmed_leaves_no_trace),
		WALK(code_made_at_run_time_prefers_its_frame_pointer),
		WALK(at_a_functions_first_and_last_instruction_the_top_is_the_return_address),
		WALK(only_an_interrupted_frame_is_at_its_first_instruction),
		WALK(a_function_that_nobody_called_is_a_root),
		WALK(what_a_call_left_or_lies_within_a_function_is_no_made_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
