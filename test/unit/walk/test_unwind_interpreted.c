// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder in a Java VM's interpreter. */
#include "unit/java/vm/hotspot_maker.h"

#define FP   (STACK + 0x400)
#define FP_2 (STACK + 0x600)
#define HERE (INTERPRETER + 0x100)

static uint64_t method, other, codes, other_codes;

/* `method` is interrupted, which `other` called, which a compiled method called, which C did. */
static uint64_t make_interpreted(void)
{
	uint64_t compiled;

	vm_make();
	vm_stub(0x10000 - BLOCK_HEADER - BLOB_BYTES, 0x2000, 0);
	method = vm_method(1, 20, &codes);
	other = vm_method(2, 30, &other_codes);
	compiled = vm_nmethod(0x1000, 0x200, 16, 4, 77) + 0x80;
	vm_interpreted(FP, FP_2, RETURN_ENTRY, FP + 0x20, method, codes + 3);
	vm_interpreted(FP_2, 0x1234, compiled, FP_2 + 0x30, other, other_codes + 7);
	maker_call(compiled, HEAP);
	maker_put(FP_2 + 0x30 + 24, CALLER);
	vm_root(FP_2 + 0x30 + 32);
	maker.regs.pc = HERE;
	maker.regs.gpr[ARCH_FP] = FP;
	maker.regs.gpr[ARCH_SP] = FP - 0x80;
	return compiled;
}

static uint32_t bci_of(size_t frame)
{
	return vm_detail(frame) >> 32 & 0xffffff;
}

static void interpreted_frames_are_by_fp(void **state)
{
	uint64_t compiled = make_interpreted(), id, constant = method + 0x40;

	(void)state;
	expect_java(TRUNCATED_NOT, 3, method, other, compiled, CALLER, ROOT_AT);
	assert_int_equal(frame_kind_of(0), FRAME_JAVA_METHOD);
	assert_int_equal(frame_kind_of(1), FRAME_JAVA_METHOD);
	assert_int_equal(frame_kind_of(2), FRAME_JAVA_RETURN);
	assert_int_equal(bci_of(0), 3);
	assert_int_equal(bci_of(1), 7);
	id = hotspot_method_id(constant, METHODS, 1, 0, 20);
	assert_int_equal((uint32_t)vm_detail(0), (uint32_t)id);
	assert_int_equal((uint32_t)vm_detail(2), 77);
}

static void the_bytecode_that_runs_is_in_a_register(void **state)
{
	(void)state;
	make_interpreted();
	maker.regs.gpr[13] = codes + 19;
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(bci_of(0), 19);
	assert_int_equal(bci_of(1), 7);
	maker.regs.gpr[13] = codes + 20; /* something else */
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(bci_of(0), 3);
	maker_put(FP - 64, 0); /* a native method has none */
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(bci_of(0), HOTSPOT_BCI_NONE);
}

/* The called method's frame isn't there yet, or not any more. */
static void what_calls_from_the_interpreter_is_found_by_its_frame(void **state)
{
	uint64_t compiled = make_interpreted();

	(void)state;
	maker.regs.gpr[ARCH_FP] = FP_2;
	maker.regs.gpr[ARCH_SP] = FP - 0x80;
	expect_java(TRUNCATED_NOT, 2, other, compiled, CALLER, ROOT_AT);
	assert_int_equal(bci_of(0), 7);
}

/* From a compiled method to an interpreted one that has no frame yet: each place of the return
 * address. */
static void a_compiled_caller_of_an_entry_is_found_in_its_registers(void **state)
{
	static const unsigned regs[] = {0, 13, 4, 5};
	uint64_t compiled = make_interpreted(), sp = FP_2 + 0x30;

	(void)state;
	maker.regs.gpr[ARCH_FP] = 0x1234;
	maker.regs.gpr[13] = sp;
	maker.regs.gpr[ARCH_SP] = FP_2;
	maker_put(FP_2, compiled); /* parameters lie above it */
	expect_java(TRUNCATED_NOT, 2, HERE, compiled, CALLER, ROOT_AT);
	assert_int_equal(frame_kind_of(0), FRAME_JAVA);
	maker_put(FP_2, 0x1234);
	maker_put(FP_2 + 8, compiled);
	expect_java(TRUNCATED_NOT, 2, HERE, compiled, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_FP] = FP_2;
	expect_java(TRUNCATED_NOT, 2, HERE, compiled, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_SP] = FP_2 - 16; /* the sender was pushed; then r13 is another one */
	maker_put(FP_2 - 16, 0);
	maker_put(FP_2 - 8, sp);
	maker.regs.gpr[13] = codes;
	expect_java(TRUNCATED_NOT, 2, HERE, compiled, CALLER, ROOT_AT);
	maker.regs.gpr[ARCH_FP] = 0x1234;
	maker_put(FP_2 - 8, 0);
	for (size_t i = 0; i < 4; i++) { /* at the end of a method rbx has the sender */
		maker.regs.gpr[13] = i ? 0 : sp;
		maker.regs.gpr[3] = i ? sp : method;
		maker.regs.gpr[regs[i]] = compiled;
		expect_java(TRUNCATED_NOT, 2, HERE, compiled, CALLER, ROOT_AT);
		maker.regs.gpr[regs[i]] = 0;
	}
	maker.regs.gpr[0] = compiled;
	maker.regs.gpr[3] = 0;
	expect_java(TRUNCATED_JAVA, 1, HERE); /* its sp isn't known */
}

static void what_is_no_frame_of_the_interpreter_ends_the_walk(void **state)
{
	(void)state;
	make_interpreted();
	maker_put(FP_2 - 24, 0);
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(FP_2 - 24, METHODS + 4); /* not aligned */
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(FP_2 - 24, 0x666000);
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(FP_2 - 24, other);
	maker_put(other + vm.method_const, 0x666000);
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(other + vm.method_const, other + 0x40);
	maker_put(other + 0x40 + vm.const_pool, 3);
	expect_java(TRUNCATED_JAVA, 1, method);
	make_interpreted();
	maker_put(FP_2 - 8, FP_2); /* the sender is not above */
	expect_java(TRUNCATED_JAVA, 1, method);
	make_interpreted();
	maker_put(FP, FP - 8); /* nor is the caller's fp */
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(FP, STACK + STACK_BYTES);
	expect_java(TRUNCATED_JAVA, 1, method);
	maker_put(FP + 8, 0x666000);
	expect_java(TRUNCATED_ADDRESS, 1, method);
}

/* A leaf that the interpreter called: fp is the interpreter's. */
static void an_adapter_from_the_interpreter_has_its_return_address_in_a_register(void **state)
{
	uint64_t compiled = make_interpreted(), stub = vm_stub(0x4000, 0x100, 0);

	(void)state;
	maker.regs.pc = stub + 0x40;
	maker.regs.gpr[0] = RETURN_ENTRY;
	maker.regs.gpr[ARCH_FP] = FP_2;
	maker.regs.gpr[ARCH_SP] = FP_2 - 0x80;
	expect_java(TRUNCATED_NOT, 3, stub + 0x40, other, compiled, CALLER, ROOT_AT);
	maker.regs.gpr[0] = 0;
	maker_put(FP_2 - 0x80, RETURN_ENTRY);
	expect_java(TRUNCATED_NOT, 3, stub + 0x40, other, compiled, CALLER, ROOT_AT);
	maker_put(FP_2 - 0x80, 0);
	expect_java(TRUNCATED_JAVA, 1, stub + 0x40); /* and not the frame above that one */
}

/* Interpreted from a compiled one: the caller's sp is the one before the parameters. */
static void a_compiled_method_may_call_by_an_interpreters_return(void **state)
{
	uint64_t compiled = make_interpreted(), leaf, sp = STACK + 0x100;

	(void)state;
	leaf = vm_nmethod(0x3000, 0x200, 16, 4, 99) + 0x100;
	maker.regs.pc = leaf;
	maker.regs.gpr[ARCH_SP] = sp;
	maker_put(sp + 24, RETURN_ENTRY);
	maker_put(sp + 16, FP_2);
	expect_java(TRUNCATED_NOT, 3, leaf, other, compiled, CALLER, ROOT_AT);
	maker_put(sp + 16, 0x1234); /* fp is none of the interpreter's */
	expect_java(TRUNCATED_JAVA, 1, leaf);
}

static void recursion_reads_a_method_once(void **state)
{
	uint64_t fp = FP_2, reads;

	(void)state;
	make_interpreted();
	maker_walk();
	reads = maker.reads;
	for (int i = 0; i < 20; i++, fp += 0x80)
		vm_interpreted(fp, fp + 0x80, RETURN_ENTRY, fp + 0x20, other, other_codes + 7);
	vm_interpreted(fp, 0x1234, CALLER, fp + 0x30, other, other_codes);
	vm_root(fp + 0x30);
	maker.reads = 0;
	assert_int_equal(maker_walk(), TRUNCATED_NOT);
	assert_int_equal(maker.walk->head.words_count, 24);
	assert_true(maker.reads < reads + 8); /* the stack's own */
}

int main(void)
{
#define WALK(test) cmocka_unit_test_teardown(test, process_end)
	const struct CMUnitTest tests[] = {
		WALK(interpreted_frames_are_by_fp),
		WALK(the_bytecode_that_runs_is_in_a_register),
		WALK(what_calls_from_the_interpreter_is_found_by_its_frame),
		WALK(a_compiled_caller_of_an_entry_is_found_in_its_registers),
		WALK(what_is_no_frame_of_the_interpreter_ends_the_walk),
		WALK(an_adapter_from_the_interpreter_has_its_return_address_in_a_register),
		WALK(a_compiled_method_may_call_by_an_interpreters_return),
		WALK(recursion_reads_a_method_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
