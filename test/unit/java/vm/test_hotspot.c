// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"
#include "unit/java/vm/vm_maker.h"

#include <fcntl.h>

/* ---- files ---- */

static const char *const symbol_names[] = {
	"gHotSpotVMStructs",
	"gHotSpotVMTypes",
	"gHotSpotVMIntConstants",
	"gHotSpotVMStructEntryArrayStride",
	"gHotSpotVMStructEntryTypeNameOffset",
	"gHotSpotVMStructEntryFieldNameOffset",
	"gHotSpotVMStructEntryTypeStringOffset",
	"gHotSpotVMStructEntryIsStaticOffset",
	"gHotSpotVMStructEntryOffsetOffset",
	"gHotSpotVMStructEntryAddressOffset",
	"gHotSpotVMTypeEntryArrayStride",
	"gHotSpotVMTypeEntryTypeNameOffset",
	"gHotSpotVMTypeEntrySizeOffset",
	"gHotSpotVMIntConstantEntryArrayStride",
	"gHotSpotVMIntConstantEntryNameOffset",
	"gHotSpotVMIntConstantEntryValueOffset",
};

static int find_in(const struct symbol_plan *symbols, size_t count, struct hotspot_file *file)
{
	_cleanup_close_ int fd =
		elf_file(&(struct elf_plan){.dynamic = symbols, .dynamic_count = count});
	struct elf_image image;

	assert_int_equal(elf_read(fd, &image), 0);
	return hotspot_find(fd, &image, file);
}

static size_t plan_all(struct symbol_plan plans[HOTSPOT_SYMBOL_COUNT])
{
	for (uint32_t i = 0; i < HOTSPOT_SYMBOL_COUNT; i++)
		plans[i] = (struct symbol_plan){symbol_names[i], 0x100 + i * 8, 8,
						STT_OBJECT,	 STB_GLOBAL,	false};
	return HOTSPOT_SYMBOL_COUNT;
}

static void it_is_found_by_its_symbols(void **state)
{
	struct symbol_plan plans[HOTSPOT_SYMBOL_COUNT];
	struct hotspot_file file;

	(void)state;
	assert_int_equal(ARRAY_SIZE(symbol_names), HOTSPOT_SYMBOL_COUNT);
	assert_int_equal(find_in(plans, plan_all(plans), &file), 0);
	for (uint32_t i = 0; i < HOTSPOT_SYMBOL_COUNT; i++)
		assert_int_equal(file.symbols[i], CODE_ADDRESS + 0x100 + i * 8);
}

static void without_one_of_its_symbols_it_is_none(void **state)
{
	struct symbol_plan plans[HOTSPOT_SYMBOL_COUNT];
	struct hotspot_file file;

	(void)state;
	for (size_t i = 0; i < HOTSPOT_SYMBOL_COUNT; i++) {
		size_t count = plan_all(plans);

		plans[i].undefined = true;
		assert_int_equal(find_in(plans, count, &file), -ENOENT);
	}
}

static void a_program_that_has_none_has_none(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image image;
	struct hotspot_file file;

	(void)state;
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(hotspot_find(fd, &image, &file), -ENOENT);
}

/* ---- processes ---- */

static void each_version_is_read(void **state)
{
	static const unsigned versions[] = {8, 21, 23, 25};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const struct hotspot *walk = &layout.walk;
		const char *missing;

		vm_make(&vm, versions[i]);
		assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
		assert_null(missing);
		assert_int_equal(layout.version, versions[i]);
		assert_int_equal(layout.patch, versions[i] == 8 ? 402 : 7);
		assert_int_equal(walk->segment_shift, VM_SHIFT);
		assert_int_equal(walk->block_bytes, 8);
		assert_int_equal(walk->nmethod_header, 224);
		assert_int_equal(walk->interpreter_from, VM_INTERPRETER);
		assert_int_equal(walk->interpreter_to, VM_INTERPRETER + VM_INTERPRETER_BYTES);
		assert_int_equal(walk->blob_words, 28);
		assert_int_equal(walk->frame_method, -3);
		assert_int_equal(walk->frame_sender, -1);
		assert_int_equal(layout.pcdesc_bytes, 16);
	}
}

static void eight_has_one_heap_and_its_own_places(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 8);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_int_equal(layout.walk.heaps[0].low, VM_CODE + VM_HEAP_BYTES);
	assert_int_equal(layout.walk.heaps[1].low, 0);
	assert_int_equal(layout.walk.frame_bcp, -7);
	assert_int_equal(layout.walk.flags, HOTSPOT_CODE_IS_OFFSET | HOTSPOT_DEOPT_IS_OFFSET);
	assert_int_equal(layout.walk.nmethod_deopt, 148);
	assert_int_equal(layout.walk.nmethod_deopt_mh, 152);
	assert_int_equal(layout.klass_source_file, 258);
	assert_int_equal(layout.pool_source_file, HOTSPOT_NO);
	assert_int_equal(layout.blob_oop_maps, HOTSPOT_NO);
	assert_int_equal(layout.const_has_lines, 2);
	assert_int_equal(layout.const_flags_bytes, 2);
	assert_int_equal(layout.walk.carrier_to, 0);
	assert_int_equal(layout.walk.frozen_to, 0);
	assert_false(layout.unfinished);
}

static void heaps_are_told_by_address(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_int_equal(layout.walk.heaps[0].low, VM_CODE);
	assert_int_equal(layout.walk.heaps[1].low, VM_CODE + VM_HEAP_BYTES);
	assert_int_equal(layout.walk.heaps[2].low, VM_CODE + 4 * VM_HEAP_BYTES);
	assert_int_equal(layout.walk.heaps[2].high, VM_CODE + 5 * VM_HEAP_BYTES);
	assert_int_equal(layout.walk.heaps[3].high, 0);
}

static void where_metadata_lie_is_told(void **state)
{
	_cleanup_vm_ struct vm_made of_21, of_23, of_25;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&of_21, 21);
	vm_make(&of_23, 23);
	vm_make(&of_25, 25);
	assert_int_equal(vm_ask(&of_21, &layout, &missing), 0);
	assert_int_equal(layout.walk.flags, 0);
	assert_true(layout.nmethod_scopes_data_is_address);
	assert_int_equal(layout.nmethod_immutable, HOTSPOT_NO);
	assert_int_equal(layout.nmethod_scopes_pcs_end, 184);
	assert_int_equal(layout.nmethod_metadata, 172);
	assert_int_equal(layout.blob_data, HOTSPOT_NO);
	assert_int_equal(vm_ask(&of_23, &layout, &missing), 0);
	assert_int_equal(layout.nmethod_immutable, 96);
	assert_int_equal(layout.nmethod_scopes_pcs_end, 200);
	assert_int_equal(layout.nmethod_metadata, 172);
	assert_int_equal(layout.blob_data, 40);
	assert_int_equal(layout.nmethod_mutable, HOTSPOT_NO);
	assert_int_equal(vm_ask(&of_25, &layout, &missing), 0);
	assert_int_equal(layout.walk.flags, HOTSPOT_CODE_IS_OFFSET | HOTSPOT_DEOPT_IS_OFFSET |
						    HOTSPOT_HEADER_IS_SHORT |
						    HOTSPOT_COMPLETE_IS_SHORT);
	assert_int_equal(layout.nmethod_metadata, 28);
	assert_int_equal(layout.nmethod_mutable, 64);
	assert_int_equal(layout.walk.nmethod_deopt_mh, HOTSPOT_NO);
}

/* ---- virtual threads ---- */

static void virtual_threads_end_at_the_barrier_and_the_carrier(void **state)
{
	static const unsigned versions[] = {21, 25};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		_cleanup_vm_ struct vm_made vm;
		struct jvm_layout layout;
		const char *missing;

		vm_make(&vm, versions[i]);
		assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
#if defined(__x86_64__)
		assert_int_equal(layout.walk.frozen_from, VM_BARRIER);
#else
		assert_int_equal(layout.walk.frozen_from, VM_STUBS_CODE);
#endif
		assert_int_equal(layout.walk.frozen_to, VM_STUBS_END);
		assert_int_equal(layout.walk.carrier_from, VM_ENTER_CODE);
		assert_int_equal(layout.walk.carrier_to, VM_ENTER_END);
		assert_false(layout.unfinished);
	}
}

static void a_barrier_that_is_not_told_is_anywhere_in_the_stubs(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put_int(&vm, VM_BARRIER + 3, 1568); /* another field */
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_int_equal(layout.walk.frozen_from, VM_STUBS_CODE);
	assert_int_equal(layout.walk.frozen_to, VM_STUBS_END);
}

static void before_the_first_virtual_thread_it_has_to_be_asked_again(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put(&vm, VM_OBJECT(VM_METHOD) + 72, 0);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_true(layout.unfinished);
	assert_int_equal(layout.walk.carrier_to, 0);
	vm_put(&vm, VM_OBJECT(VM_METHOD) + 72, VM_ENTER);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_false(layout.unfinished);
}

static void code_that_is_no_nmethod_is_no_carrier(void **state)
{
	_cleanup_vm_ struct vm_made vm;
	struct jvm_layout layout;
	const char *missing;

	(void)state;
	vm_make(&vm, 25);
	vm_put_short(&vm, VM_ENTER + 52, 64);
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_true(layout.unfinished);
	vm_put(&vm, VM_OBJECT(VM_METHOD) + 72, VM_OBJECT(VM_POOL)); /* in no heap */
	assert_int_equal(vm_ask(&vm, &layout, &missing), 0);
	assert_true(layout.unfinished);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_by_its_symbols),
		cmocka_unit_test(without_one_of_its_symbols_it_is_none),
		cmocka_unit_test(a_program_that_has_none_has_none),
		cmocka_unit_test(each_version_is_read),
		cmocka_unit_test(eight_has_one_heap_and_its_own_places),
		cmocka_unit_test(heaps_are_told_by_address),
		cmocka_unit_test(where_metadata_lie_is_told),
		cmocka_unit_test(virtual_threads_end_at_the_barrier_and_the_carrier),
		cmocka_unit_test(a_barrier_that_is_not_told_is_anywhere_in_the_stubs),
		cmocka_unit_test(before_the_first_virtual_thread_it_has_to_be_asked_again),
		cmocka_unit_test(code_that_is_no_nmethod_is_no_carrier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
