// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder in a Java VM's code: compiled frames, interpreted ones, stubs. */
#include "unit/java/vm/hotspot_maker.h"

#define A_WORDS 6

static uint64_t a, b; /* code of two methods: what is interrupted, and its caller */

/* a, of 6 words, was called from b + 0x80, of 4 words, and that from C. `sp` is what a's is when
 * its frame is complete. */
static void make_two(uint32_t complete, uint64_t sp)
{
	uint64_t return_sp = sp + A_WORDS * 8;

	vm_make();
	a = vm_nmethod(0x1000, 0x200, complete, A_WORDS, 77);
	b = vm_nmethod(0x2000, 0x200, 16, 4, 88);
	maker_call(b + 0x80, a);
	maker_put(return_sp - 8, b + 0x80);
	maker_put(return_sp - 16, 0x1234); /* b's fp */
	maker_put(return_sp + 24, CALLER);
	maker_put(return_sp + 16, 0x5678);
	vm_root(return_sp + 32);
	maker.regs.gpr[ARCH_SP] = sp;
	maker.regs.pc = a + 0x100;
}

/* The walk from a place in a, where sp is so many words above that of the complete frame. */
static void check_two(int line, uint64_t place, uint64_t words)
{
	maker.regs.pc = a + place;
	maker.regs.gpr[ARCH_SP] = STACK + 0x200 + words * 8;
	check_walk(line, TRUNCATED_NOT, (const uint64_t[]){a + place, b + 0x80, CALLER, ROOT_AT},
		   4);
	if (maker.walk->fp != 0x5678)
		fail_msg("line %d: fp is %#llx", line, (unsigned long long)maker.walk->fp);
}

#define expect_two(place, words) check_two(__LINE__, place, words)

static void a_compiled_frame_is_by_its_size(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80, CALLER, ROOT_AT);
	assert_int_equal(frame_kind_of(0), FRAME_JAVA);
	assert_int_equal(frame_kind_of(1), FRAME_JAVA_RETURN);
	assert_int_equal(frame_kind_of(2), FRAME_NATIVE_RETURN);
	assert_int_equal(vm_detail(0), hotspot_detail(FRAME_JAVA_DETAIL, HOTSPOT_BCI_NONE, 77));
	assert_int_equal(vm_detail(1), hotspot_detail(FRAME_JAVA_DETAIL, HOTSPOT_BCI_NONE, 88));
}

/* As the program without Java's walker does it. */
static void without_the_walker_a_stack_ends_at_the_first_java_frame_and_says_so(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	walks_runtimes = WALKS_PYTHON;
	maker.walk->hotspot_at = 0;
	maker.walk->pending = WALKS_JAVA;
	expect_walk(TRUNCATED_RUNTIME_PENDING, a + 0x100);
	assert_int_equal(frame_kind_of(0), FRAME_NATIVE);
	assert_false(maker_is_known()); /* the other program walks the same stack to its root */
	walks_runtimes = WALKS_ALL;
	maker.walk->pending = 0;
}

static void the_same_code_with_another_id_is_another_stack(void **state)
{
	uint64_t hash;

	(void)state;
	make_two(16, STACK + 0x200);
	expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80, CALLER, ROOT_AT);
	hash = maker.walk->head.key.hash;
	assert_false(maker_is_known()); /* what lies in the code cache isn't the stack */
	vm_nmethod(0x2000, 0x200, 16, 4, 89);
	expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80, CALLER, ROOT_AT);
	assert_int_not_equal(maker.walk->head.key.hash, hash);
}

static void a_frame_is_not_there_before_its_prologue_has_made_it(void **state)
{
	static const uint8_t code[] = {
		0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, /* is there stack? */
		0x55, 0x48, 0x83, 0xec, 0x20, 0x89, 0x34, 0x24};

	(void)state;
	make_two(12, STACK + 0x200);
	maker_poke(a, code, sizeof(code));
	maker.regs.gpr[ARCH_FP] = 0x1234; /* b's, until something else is put there */
	expect_two(0, 5);
	expect_two(7, 5);
	expect_two(8, 4);
	maker.regs.gpr[ARCH_FP] = 1;
	expect_two(8, 4);
	expect_two(12, 0);
}

static void a_prologue_may_be_behind_checks_and_before_a_barrier(void **state)
{
	static const uint8_t code[] = {0x48, 0x81, 0xec, 0x28, 0,    0, 0, /* sub $0x28, %rsp */
				       0x48, 0x89, 0x6c, 0x24, 0x20, /* mov %rbp, 0x20(%rsp) */
				       0x41, 0x81, 0x7f, 0x20, 1,    0, 0, 0}; /* cmpl $1, … */

	(void)state;
	make_two(200 + sizeof(code), STACK + 0x200);
	maker_poke(a + 200, code, sizeof(code));
	maker.regs.gpr[ARCH_FP] = 0x1234;
	expect_two(0, 5);
	expect_two(200, 5);
	maker_put(STACK + 0x200 + 32, 0x999); /* not there yet */
	expect_two(207, 0);
	maker_put(STACK + 0x200 + 32, 0x1234);
	maker.regs.gpr[ARCH_FP] = 1;
	expect_two(212, 0);
	expect_two(221, 0);
}

static void with_frame_pointers_there_is_one_after_the_push(void **state)
{
	static const uint8_t code[] = {0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x20, 0x90};

	(void)state;
	make_two(8, STACK + 0x200);
	maker_poke(a, code, sizeof(code));
	maker.regs.gpr[ARCH_FP] = 0x1234;
	expect_two(0, 5);
	expect_two(1, 4);
	maker.regs.gpr[ARCH_FP] = STACK + 0x200 + 32;
	expect_two(4, 4);
	expect_two(8, 0);
}

static void a_frame_is_not_there_any_more_after_its_epilogue(void **state)
{
	static const uint8_t code[] = {
		0x48, 0x83, 0xc4, 0x20, 0x5d, 0x49, 0x3b, 0xa7, 0x40, 3, 0, 0, /* 0x100 */
		0x0f, 0x87, 0x01, 0,	0,    0,    0xc3, 0x49, 0xba, 1, 2, 3, /* 0x10c */
		4,    5,    6,	  7,	8,    0x4d, 0x89, 0x97, 0x58, 3, 0, 0, /* 0x118 */
		0xe9, 1,    2,	  3,	4};
	static const uint64_t popped[] = {0x105, 0x10c, 0x112, 0x113, 0x11d, 0x124};

	(void)state;
	make_two(16, STACK + 0x200);
	maker_poke(a + 0x100, code, sizeof(code));
	expect_two(0x100, 0);
	expect_two(0x104, 4);
	maker.regs.gpr[ARCH_FP] = 0x1234;
	for (size_t i = 0; i < sizeof(popped) / sizeof(popped[0]); i++)
		expect_two(popped[i], 5);
}

/* JDK 8 and 11 look for a stop by reading a page. */
static void before_jdk_17_the_poll_is_a_load(void **state)
{
	static const uint8_t by_thread[] = {0x5d, 0x4d, 0x8b, 0x97, 8, 1,
					    0,	  0,	0x41, 0x85, 2, 0xc3};
	static const uint8_t by_page[] = {0x5d, 0x85, 0x05, 1, 2, 3, 4, 0xc3};
	static const uint8_t in_a_loop[] = {0x90, 0x4d, 0x8b, 0x5f, 0x30, 0x41, 0x85, 0x03, 0x90};

	(void)state;
	make_two(16, STACK + 0x200);
	maker.regs.gpr[ARCH_FP] = 0x1234;
	maker_poke(a + 0x100, by_thread, sizeof(by_thread));
	expect_two(0x101, 5);
	expect_two(0x108, 5);
	maker_poke(a + 0x100, by_page, sizeof(by_page));
	expect_two(0x101, 5);
	maker.regs.gpr[ARCH_FP] = 1;
	maker_poke(a + 0x100, in_a_loop, sizeof(in_a_loop));
	expect_two(0x101, 0);
}

static void a_return_address_that_nothing_left_is_not_believed(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	maker_put(STACK + 0x200 + A_WORDS * 8 - 8, b + 0x90); /* behind no call */
	expect_java(TRUNCATED_JAVA, 1, a + 0x100);
	maker_put(STACK + 0x200 + A_WORDS * 8 - 8, 7);
	expect_java(TRUNCATED_JAVA, 1, a + 0x100);
}

static void a_deoptimized_frame_has_the_pc_that_it_had(void **state)
{
	uint64_t handler;

	(void)state;
	for (int mh = 0; mh < 2; mh++) {
		make_two(16, STACK + 0x200);
		handler = b + 0x1f0;
		vm_blob(0x2000, (struct blob){.header = NMETHOD,
					      .size = BLOB_BYTES + 0x200,
					      .complete = 16,
					      .frame_words = 4,
					      .id = 88,
					      .orig_pc = 8,
					      .deopt = mh ? 0 : handler,
					      .deopt_mh = mh ? handler : 0});
		maker_put(STACK + 0x200 + A_WORDS * 8 - 8, handler);
		maker_put(STACK + 0x200 + A_WORDS * 8 + 8, b + 0x80);
		expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80, CALLER, ROOT_AT);
		maker_put(STACK + 0x200 + A_WORDS * 8 + 8, HEAP); /* none of its */
		expect_java(TRUNCATED_NOT, 2, a + 0x100, handler, CALLER, ROOT_AT);
	}
}

static void what_was_put_away_ends_the_stack(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	vm_stub(0x8000 - 0x80, 0x100, 0);
	maker_put(STACK + 0x200 + A_WORDS * 8 + 24, FROZEN);
	expect_java(TRUNCATED_FROZEN, 2, a + 0x100, b + 0x80);
}

static void a_virtual_threads_stack_ends_at_its_carriers_boundary(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	vm.carrier_from = b;
	vm.carrier_to = b + 0x200;
	vm_tell();
	expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80);
	maker.regs.pc = b + 0x80; /* interrupted there: the frame is the carrier's */
	maker.regs.gpr[ARCH_SP] = STACK + 0x200 + A_WORDS * 8;
	expect_java(TRUNCATED_NOT, 1, b + 0x80, CALLER, ROOT_AT);
}

static void a_large_method_is_found_over_several_hops(void **state)
{
	(void)state;
	make_two(16, STACK + 0x200);
	a = vm_nmethod(0x3000, 0xc000, 16, A_WORDS, 77);
	maker_call(b + 0x80, a);
	maker.regs.pc = a + 0xbf00;
	expect_java(TRUNCATED_NOT, 2, a + 0xbf00, b + 0x80, CALLER, ROOT_AT);
}

static void recursion_reads_a_blob_once(void **state)
{
	uint64_t sp = STACK + 0x200, once;

	(void)state;
	make_two(16, sp);
	expect_java(TRUNCATED_NOT, 2, a + 0x100, b + 0x80, CALLER, ROOT_AT);
	once = maker.reads;
	for (int i = 0; i < 20; i++, sp += 32)
		maker_put(sp + A_WORDS * 8 + 24, b + 0x80);
	maker_put(sp + A_WORDS * 8 + 24, CALLER);
	vm_root(sp + A_WORDS * 8 + 32);
	maker.reads = 0;
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(maker.walk->head.words_count, 24);
	assert_true(maker.reads <= once);
}

/* ---- stubs ---- */

static void a_stub_without_a_size_keeps_frame_pointers(void **state)
{
	uint64_t stub, fp = STACK + 0x300;

	(void)state;
	make_two(16, STACK + 0x200);
	stub = vm_stub(0x4000, 0x100, 0);
	maker_call(stub + 0x50, b);
	maker_put(STACK + 0x200 + A_WORDS * 8 + 24, stub + 0x50);
	maker_put(STACK + 0x200 + A_WORDS * 8 + 16, fp); /* b's caller's fp */
	maker_put(fp, 0x5678);
	maker_put(fp + 8, CALLER);
	vm_root(fp + 16);
	expect_java(TRUNCATED_NOT, 3, a + 0x100, b + 0x80, stub + 0x50, CALLER, ROOT_AT);
	assert_int_equal((uint32_t)vm_detail(2), 0);
}

/* What calls C may have aligned sp, or have any value in fp. */
static void a_zero_is_no_end_of_javas_frames(void **state)
{
	uint64_t stub, caller_at = STACK + 0x200 + A_WORDS * 8 + 24;

	(void)state;
	make_two(16, STACK + 0x200);
	maker_put(caller_at, 0);
	expect_java(TRUNCATED_JAVA, 2, a + 0x100, b + 0x80);
	stub = vm_stub(0x4000, 0x100, 0);
	maker_call(stub + 0x50, b);
	maker_put(caller_at, stub + 0x50);
	maker_put(caller_at - 8, 0);
	expect_java(TRUNCATED_JAVA, 3, a + 0x100, b + 0x80, stub + 0x50);
	maker_put(caller_at - 8, STACK + 0x400);
	maker_put(STACK + 0x400, 0);
	maker_put(STACK + 0x408, 0);
	expect_java(TRUNCATED_JAVA, 3, a + 0x100, b + 0x80, stub + 0x50);
}

static void a_leaf_stubs_caller_is_where_the_call_came_from(void **state)
{
	uint64_t stub;

	(void)state;
	make_two(16, STACK + 0x200);
	stub = vm_stub(0x4000, 0x100, 0);
	maker_call(b + 0x80, stub + 0x20);
	maker.regs.pc = stub + 0x28;
	maker.regs.gpr[ARCH_FP] = STACK + 0x400; /* somebody's, and a good one */
	maker_put(STACK + 0x400, 0);
	maker_put(STACK + 0x408, CALLER);
	maker.regs.gpr[ARCH_SP] = STACK + 0x200 + A_WORDS * 8 - 8;
	expect_java(TRUNCATED_NOT, 2, stub + 0x28, b + 0x80, CALLER, ROOT_AT);
	maker_poke(stub + 0x28, "\x48\x8b\xec", 3); /* behind a push */
	maker_poke(stub + 0x27, "\x55", 1);
	maker.regs.gpr[ARCH_SP] -= 8;
	expect_java(TRUNCATED_NOT, 2, stub + 0x28, b + 0x80, CALLER, ROOT_AT);
}

/* JDK 17's and 25's. */
static void an_adapter_moves_sp_and_takes_the_return_address(void **state)
{
	static const uint8_t old[] = {0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x10,
				      0x48, 0x89, 0x04, 0x24, 0x48, 0x89, 0x74, 0x24};
	static const uint8_t new[] = {0x4c, 0x8d, 0x6c, 0x24, 0x08, 0x58, 0x48, 0x83,
				      0xec, 0x10, 0x50, 0x48, 0x89, 0x74, 0x24};
	uint64_t stub, sp = STACK + 0x200 + A_WORDS * 8; /* b's */

	(void)state;
	make_two(16, STACK + 0x200);
	stub = vm_stub(0x4000, 0x100, 0) + 0x80;
	maker.regs.gpr[0] = b + 0x80;
	maker_poke(stub, old, sizeof(old));
	for (uint64_t at = 0; at <= 12; at++) {
		if (at != 0 && at != 1 && at != 4 && at != 8 && at != 12)
			continue;
		maker.regs.pc = stub + at;
		maker.regs.gpr[13] = at < 4 ? sp + 64 : sp;
		maker.regs.gpr[ARCH_SP] = at == 0 ? sp - 8 : at < 8 ? sp : sp - 16;
		if (at == 12)
			maker_put(sp - 16, b + 0x80);
		expect_java(TRUNCATED_NOT, 2, stub + at, b + 0x80, CALLER, ROOT_AT);
	}
	maker_put(sp - 16, 0);
	maker_poke(stub, new, sizeof(new));
	maker.regs.gpr[13] = sp;
	maker.regs.pc = stub + 5;
	maker.regs.gpr[ARCH_SP] = sp - 8;
	expect_java(TRUNCATED_NOT, 2, stub + 5, b + 0x80, CALLER, ROOT_AT);
	maker.regs.pc = stub + 10;
	maker.regs.gpr[ARCH_SP] = sp - 16;
	expect_java(TRUNCATED_NOT, 2, stub + 10, b + 0x80, CALLER, ROOT_AT);
	maker.regs.pc = stub + 11;
	maker.regs.gpr[ARCH_SP] = sp - 24;
	maker_put(sp - 24, b + 0x80);
	expect_java(TRUNCATED_NOT, 2, stub + 11, b + 0x80, CALLER, ROOT_AT);
}

/* ---- damage ---- */

static void a_blob_that_makes_no_sense_ends_the_walk(void **state)
{
	struct blob blob = {.header = NMETHOD, .size = BLOB_BYTES + 0x200, .complete = 16};
	uint8_t circle = 1;

	(void)state;
	make_two(16, STACK + 0x200);
	for (uint32_t words = 0; words < 32; words++) {
		blob.frame_words = 1U << words; /* never below sp, nor far from it */
		vm_blob(0x1000, blob);
		maker_walk();
		assert_true(maker.walk->head.words_count <= 4);
	}
	blob.frame_words = A_WORDS;
	blob.size = 0x40;
	vm_blob(0x1000, blob);
	expect_java(TRUNCATED_JAVA, 0, a + 0x100); /* pc isn't in it */
	assert_int_equal(frame_kind_of(0), FRAME_NATIVE);
	blob.size = UINT32_MAX;
	vm_blob(0x1000, blob);
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
	blob.size = BLOB_BYTES + 0x200;
	blob.code = 0x666;
	vm_blob(0x1000, blob);
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
	maker_poke(SEGMENTS + (0x1000 >> SEGMENT_SHIFT), "\xff", 1); /* free */
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
	for (uint64_t i = 0; i <= 0x1000 >> SEGMENT_SHIFT; i++)
		maker_poke(SEGMENTS + i, &circle, 1); /* and before the first */
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
	vm.heaps[0].segments = 0x666000;
	vm_tell();
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
	maker.walk->hotspot_at = 0;
	expect_java(TRUNCATED_JAVA, 0, a + 0x100);
}

static void any_memory_is_walked_to_an_end(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		make_two(16, STACK + 0x200);
		for (int i = 0; i < 40; i++) {
			uint64_t offset = random_next(&seed) % 0x3000 & ~7ULL;

			maker_put(HEAP + offset, random_next(&seed) >> random_next(&seed) % 64);
		}
		for (uint64_t i = 0; i < 60; i++)
			maker_put(STACK + 0x200 + i * 8,
				  random_next(&seed) % 3 ? HEAP + random_next(&seed) % HEAP_BYTES
							 : STACK + random_next(&seed) % 0x1000);
		maker_poke(SEGMENTS + random_next(&seed) % 64, &seed, 1);
		maker.regs.pc = HEAP + random_next(&seed) % 0x3000;
		maker.regs.gpr[ARCH_FP] = STACK + (random_next(&seed) % 0x1000 & ~7ULL);
		maker.regs.gpr[13] = STACK + (random_next(&seed) % 0x1000 & ~7ULL);
		maker_walk();
	}
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(a_compiled_frame_is_by_its_size),
		WALK(without_the_walker_a_stack_ends_at_the_first_java_frame_and_says_so),
		WALK(the_same_code_with_another_id_is_another_stack),
		WALK(a_frame_is_not_there_before_its_prologue_has_made_it),
		WALK(a_prologue_may_be_behind_checks_and_before_a_barrier),
		WALK(with_frame_pointers_there_is_one_after_the_push),
		WALK(a_frame_is_not_there_any_more_after_its_epilogue),
		WALK(before_jdk_17_the_poll_is_a_load),
		WALK(a_return_address_that_nothing_left_is_not_believed),
		WALK(a_deoptimized_frame_has_the_pc_that_it_had),
		WALK(what_was_put_away_ends_the_stack),
		WALK(a_virtual_threads_stack_ends_at_its_carriers_boundary),
		WALK(a_large_method_is_found_over_several_hops),
		WALK(recursion_reads_a_blob_once),
		WALK(a_stub_without_a_size_keeps_frame_pointers),
		WALK(a_zero_is_no_end_of_javas_frames),
		WALK(a_leaf_stubs_caller_is_where_the_call_came_from),
		WALK(an_adapter_moves_sp_and_takes_the_return_address),
		WALK(a_blob_that_makes_no_sense_ends_the_walk),
		WALK(any_memory_is_walked_to_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
