// SPDX-License-Identifier: GPL-2.0-or-later
/* Java VMs that have not begun, lack something, or make no sense. */
#include "unit/proc/elf_maker.h"
#include "unit/java/vm/vm_maker.h"

static void a_vm_that_just_begins_is_asked_again(void **state)
{
	const uint64_t late[] = {VM_AT + 0x100,		/* not relocated: no table */
				 VM_AT + 0x100 + 3 * 8, /* not initialized: no stride */
				 VM_STRUCTS,		/* not relocated: no name */
				 VM_STATIC(STATIC_HEAPS),
				 VM_STATIC(STATIC_CODE),
				 VM_OBJECT(VM_ARRAY),
				 VM_OBJECT(VM_POINTERS) + 16,
				 VM_OBJECT(VM_HEAP_1) + 8,
				 VM_OBJECT(VM_QUEUE) + 8,
				 VM_OBJECT(VM_HEAP_0) + 80};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(late); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		vm_put(&vm, late[i], 0);
		assert_int_equal(vm_ask(&vm, &layout, &missing), -EAGAIN);
	}
}

static void a_field_that_is_missing_is_named(void **state)
{
	static const struct {
		const char *type, *field, *told;
	} missing_ones[] = {
		{"CodeBlob", "_frame_size", "CodeBlob._frame_size"},
		{"nmethod", "_compile_id", "nmethod._compile_id"},
		{"CodeCache", "_heaps", "CodeCache._heaps"},
		{"CodeHeap", "_segmap", "CodeHeap._segmap"},
		{"StubQueue", "_stub_buffer", "StubQueue._stub_buffer"},
		{"ConstMethod", "_name_index", "ConstMethod._name_index"},
		{"Symbol", "_body", "Symbol._body"},
		{"nmethod", "_deopt_handler_offset", "nmethod._deopt_handler_offset"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(missing_ones); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		uint64_t at = vm_entry(&vm, missing_ones[i].type, missing_ones[i].field);
		assert_true(at);
		vm_put(&vm, at + 8, vm_put_text(&vm, "_renamed"));
		assert_int_equal(vm_ask(&vm, &layout, &missing), -ENOTSUP);
		assert_string_equal(missing, missing_ones[i].told);
	}
}

static void a_type_whose_size_is_not_told_is_named(void **state)
{
	static const char *const names[] = {"nmethod", "HeapBlock", "ConstMethod", "ConstantPool",
					    "PcDesc"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		vm_put(&vm, VM_TYPES + i * VM_TYPE_BYTES, vm_put_text(&vm, "Renamed"));
		assert_int_equal(vm_ask(&vm, &layout, &missing), -ENOTSUP);
		assert_string_equal(missing, names[i]);
	}
}

static void fields_of_another_width_are_not_guessed(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put(&vm, vm_entry(&vm, "CodeBlob", "_size") + 16, vm_put_text(&vm, "size_t"));
	assert_int_equal(vm_ask(&vm, &layout, &missing), -ENOTSUP);
	assert_string_equal(missing, "CodeBlob._size");
}

/* ---- what makes no sense ---- */

struct damage {
	uint64_t at, word;
};

static void numbers_that_make_no_sense_are_refused(void **state)
{
	const uint64_t heap = VM_OBJECT(VM_HEAP_0), queue = VM_OBJECT(VM_QUEUE);
	const struct damage damages[] = {
		{VM_AT + 0x100 + 3 * 8, 1 << 20}, /* strides */
		{VM_AT + 0x100 + 3 * 8, 4},
		{VM_AT + 0x100 + 5 * 8, 48}, /* a member behind its entry */
		{VM_AT + 0x100 + 5 * 8, UINT64_MAX},
		{heap + 8 + 8, VM_CODE}, /* a heap without bytes */
		{heap + 8 + 8, VM_CODE - 1},
		{heap + 8 + 8, VM_CODE + (1ULL << 40)},
		{heap + 8 + 8, UINT64_MAX},
		{heap + 8 + 8, VM_CODE + VM_HEAP_BYTES + 1}, /* in the next one */
		{heap + 8, VM_CODE - (1ULL << 40)},
		{heap + 128, 1}, /* segments */
		{heap + 128, 40},
		{heap + 128, 8},			       /* not as those of the others */
		{queue + 8, VM_CODE - 8},		       /* an interpreter in no heap */
		{queue + 16, (uint64_t)(VM_HEAP_BYTES) << 32}, /* … behind its end */
		{queue + 16, (uint64_t)UINT32_MAX << 32},
		{VM_TYPES + 32, 1 << 20}, /* sizes */
		{VM_TYPES + 32, 0},
		{VM_TYPES + VM_TYPE_BYTES + 32, 4096},
		{VM_TYPES + 4 * VM_TYPE_BYTES + 32, 4}, /* a PcDesc without its fields */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		vm_put(&vm, damages[i].at, damages[i].word);
		if (vm_ask(&vm, &layout, &missing) != -EBADMSG)
			fail_msg("damage %zu is not refused", i);
	}
}

static void offsets_out_of_bounds_are_refused(void **state)
{
	static const struct vm_row fields[] = {
		{"CodeBlob", "_name", NULL, 505, false},
		{"CodeBlob", "_frame_size", NULL, UINT64_MAX, false},
		{"nmethod", "_compile_id", NULL, 1 << 16, false},
		{"nmethod", "_scopes_data_offset", NULL, 512, false},
		{"Method", "_constMethod", NULL, 4096, false},
		{"Klass", "_name", NULL, UINT64_MAX - 7, false},
		{"CodeHeap", "_memory", NULL, UINT64_MAX, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		vm_put(&vm, vm_entry(&vm, fields[i].type, fields[i].field) + 32, fields[i].value);
		if (vm_ask(&vm, &layout, &missing) != -EBADMSG)
			fail_msg("%s.%s is not refused", fields[i].type, fields[i].field);
	}
}

static void more_heaps_than_are_walked_are_not_supported(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put_int(&vm, VM_OBJECT(VM_ARRAY), 5);
	assert_int_equal(vm_ask(&vm, &layout, &missing), -ENOTSUP);
	assert_string_equal(missing, "CodeCache._heaps");
}

/* A table that never ends is given up: the whole memory is entries. */
static void a_table_without_an_end_is_given_up(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put(&vm, VM_AT + 0x100 + 3 * 8, 8); /* each is a word … */
	for (int i = 4; i <= 9; i++)
		vm_put(&vm, VM_AT + 0x100 + (uint64_t)i * 8, 0);
	for (uint64_t at = VM_STRUCTS; at < VM_AT + VM_BYTES; at += 8)
		vm_put(&vm, at, VM_AT); /* … and a name */
	assert_int_equal(vm_ask(&vm, &layout, &missing), -EBADMSG);
	assert_true(vm.reads < 1000);
}

static void memory_that_is_not_there_is_an_error(void **state)
{
	const uint64_t pointers[] = {VM_AT + 0x100, VM_STRUCTS, VM_STATIC(STATIC_HEAPS),
				     VM_OBJECT(VM_POINTERS), VM_STATIC(STATIC_CODE)};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pointers); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, 25);
		vm_put(&vm, pointers[i], 0x10);
		assert_int_equal(vm_ask(&vm, &layout, &missing), -EFAULT);
		vm_put(&vm, pointers[i], UINT64_MAX - 3);
		assert_int_equal(vm_ask(&vm, &layout, &missing), -EFAULT);
	}
}

/* Lists of blocks and methods that lead in circles or nowhere cost a bounded number of reads. */
static void what_is_looked_for_is_bounded(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put_int(&vm, VM_CODE + VM_HEAP_BYTES, 0); /* a block without length */
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_int_equal(layout.walk.frozen_to, 0);
	vm_put_int(&vm, VM_CODE + VM_HEAP_BYTES, UINT32_MAX);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	vm_put_int(&vm, VM_CODE + VM_HEAP_BYTES, 2);
	vm_put_int(&vm, VM_OBJECT(VM_METHODS), UINT32_MAX);
	vm_put(&vm, VM_OBJECT(VM_METHODS) + 16, 1);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_true(layout.unfinished);
	assert_true(vm.reads < 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_vm_that_just_begins_is_asked_again),
		cmocka_unit_test(a_field_that_is_missing_is_named),
		cmocka_unit_test(a_type_whose_size_is_not_told_is_named),
		cmocka_unit_test(fields_of_another_width_are_not_guessed),
		cmocka_unit_test(numbers_that_make_no_sense_are_refused),
		cmocka_unit_test(offsets_out_of_bounds_are_refused),
		cmocka_unit_test(more_heaps_than_are_walked_are_not_supported),
		cmocka_unit_test(a_table_without_an_end_is_given_up),
		cmocka_unit_test(memory_that_is_not_there_is_an_error),
		cmocka_unit_test(what_is_looked_for_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
