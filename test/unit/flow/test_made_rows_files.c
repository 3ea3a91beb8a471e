// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows made from code: what a file says of its functions, or doesn't. */
#include "unit/flow/code.h"

#include "flow/made_rows.h"
#include "unwind/image.h"
#include "unit/proc/elf_maker.h"

/* A function with CFI at 0x400, 0x100 bytes; the functions of a test, each EACH bytes behind the
 * one before. */
#define FIRST  0x400u
#define LENGTH 0x100u
#define GAP    0x600u
#define EACH   64u
#define NAMED  0x80u /* of elf_maker.h's code */

#define NEXT   ".balign 64, 0xcc;"
#define AT(n)  (CFI_CODE + GAP + (n)*EACH)

struct scene {
	int fd;
	struct elf_image image;
	struct made_rows made;
	struct rows_text rows;
};

static void open_scene(struct scene *scene, const uint8_t *code, size_t bytes, bool has_cfi)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.frames = frames.bytes};

	memset(scene, 0, sizeof(*scene));
	frames_fde(&frames, FIRST, LENGTH, NULL, 0);
	plan.bytes = has_cfi ? frames.len : 0;
	scene->fd = cfi_file(&plan);
	assert_int_equal(pwrite(scene->fd, code, bytes, CFI_CODE_OFFSET + GAP), (ssize_t)bytes);
	assert_int_equal(elf_read(scene->fd, &scene->image), 0);
}

static void close_scene(struct scene *scene)
{
	made_rows_done(&scene->made);
	close(scene->fd);
}

static int try_to_make(struct scene *scene, uint64_t address)
{
	struct made_wanted wanted = {.asked = &address, .asked_count = 1};

	return made_rows_read(&scene->made, scene->fd, &scene->image, &wanted);
}

static const char *given(struct scene *scene)
{
	memset(&scene->rows, 0, sizeof(scene->rows));
	assert_int_equal(made_rows_give(&scene->made, scene->fd, &scene->image, say_row,
					&scene->rows, &scene->rows.stats),
			 0);
	return scene->rows.text;
}

CODE(called, "call 1f; ret;" NEXT "1: push %rax; pop %rcx; ret;" NEXT);

static void code_of_a_file_without_cfi_keeps_frame_pointers_around_made_rows(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(called), false);
	assert_string_equal(given(&scene), "1000 frames, 3000 none");
	assert_int_equal(scene.rows.stats.rows, 2);
	assert_int_equal(try_to_make(&scene, AT(1) + 1), 0);
	assert_string_equal(given(&scene), "1000 frames, 1640 r7+8 u c-8, 1641 r7+16 u c-8, "
					   "1642 r7+8 u c-8, 1643 frames, 3000 none");
	assert_int_equal(scene.rows.stats.rows, 6);
	close_scene(&scene);
}

/* The function at FIRST has CFI, and is called by one that has none. */
CODE(pushes, "push %rax; pop %rcx; ret");
CODE(calls_first, "call .-0x200; ret");

static void the_files_own_rows_are_given_before_made_ones(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(calls_first), true);
	assert_int_equal(pwrite(scene.fd, pushes_, 3, CFI_CODE_OFFSET + FIRST), 3);
	assert_int_equal(try_to_make(&scene, CFI_CODE + FIRST + 1), 0);
	assert_int_equal(scene.made.functions, 1);
	assert_int_equal(scene.made.runs[0].from, CFI_CODE + FIRST);
	assert_string_equal(given(&scene), "1000 none, 1400 r7+8 u c-8, 1500 none");
	close_scene(&scene);
}

/* Where the program begins, which has CFI elsewhere alone. */
CODE(begins, "xor %ebp, %ebp; pop %rsi; and $-16, %rsp; push %rax; call 1f; hlt;" NEXT
	     "1: push %rax; pop %rcx; ret;" NEXT);

static void a_programs_begin_has_its_row_in_the_first_table(void **state)
{
	uint64_t entry = AT(0);
	struct table_image image;
	struct scene scene;
	struct rule rule;

	(void)state;
	open_scene(&scene, BYTES_OF(begins), true);
	assert_int_equal(image_build(scene.fd, &image), 0);
	image_find(&image, entry, &rule);
	assert_int_equal(rule.kind, RULE_NONE); /* the header names no begin */
	image_done(&image);
	assert_int_equal(pwrite(scene.fd, &entry, 8, offsetof(Elf64_Ehdr, e_entry)), 8);
	assert_int_equal(image_build(scene.fd, &image), 0);
	image_find(&image, entry, &rule);
	assert_int_equal(rule.kind, RULE_END);
	image_find(&image, CFI_CODE + FIRST, &rule);
	assert_int_equal(rule.kind, RULE_CFA);
	assert_int_equal(image.made.left_count, 0);
	image_done(&image);
	close_scene(&scene);
}

static void check_rule(const struct table_image *image, uint64_t address, enum rule_kind kind)
{
	struct rule rule;

	image_find(image, address, &rule);
	if (rule.kind != kind)
		fail_msg("at %llx: %d, not %d", (unsigned long long)address, rule.kind, kind);
}

/* 1 calls 2, which returns, and 3, which doesn't. */
CODE(several,
     "ret;" NEXT "1: push %rax; call 2f; call 3f; pop %rax; ret;" NEXT
     "2: push %rax; pop %rcx; ret;" NEXT "3: sub $8, %rsp; ud2;" NEXT "call 1b; ret;" NEXT);

static void what_a_file_without_cfi_calls_has_rows_in_its_first_table(void **state)
{
	struct table_image image;
	struct scene scene;

	(void)state;
	for (int has_cfi = 0; has_cfi < 2; has_cfi++) {
		open_scene(&scene, BYTES_OF(several), has_cfi);
		assert_int_equal(image_build(scene.fd, &image), 0);
		check_rule(&image, AT(2), RULE_CFA);
		check_rule(&image, AT(2) + 1, RULE_CFA);
		check_rule(&image, AT(3),
			   has_cfi ? RULE_NONE : RULE_FRAMES); /* it doesn't return */
		check_rule(&image, AT(0), has_cfi ? RULE_NONE : RULE_FRAMES); /* nobody calls it */
		assert_int_equal(image.made.left_count, 0);
		image_done(&image);
		close_scene(&scene);
	}
}

static void where_most_code_has_cfi_no_rows_are_made_ahead(void **state)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.frames = frames.bytes};
	struct table_image image;
	int fd;

	(void)state;
	for (unsigned kib = 1; kib < 8; kib += 5) { /* of 8 KiB */
		frames = frames_usual();
		frames_fde(&frames, 0x800, 0x400 * kib, NULL, 0);
		plan.bytes = frames.len;
		fd = cfi_file(&plan);
		assert_int_equal(
			pwrite(fd, several_, several_end_ - several_, CFI_CODE_OFFSET + GAP),
			several_end_ - several_);
		assert_int_equal(image_build(fd, &image), 0);
		check_rule(&image, AT(2), kib < 4 ? RULE_CFA : RULE_NONE);
		image_done(&image);
		close(fd);
	}
}

CODE(number, "mov $0x401640, %edi; ret;" NEXT "push %rax; pop %rcx; ret;" NEXT);

static void a_number_may_be_a_functions_address(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(number), true);
	assert_int_equal(try_to_make(&scene, AT(1) + 1), 0);
	assert_int_equal(scene.made.functions, 1);
	assert_int_equal(scene.made.runs[0].from, AT(1));
	close_scene(&scene);
}

CODE(odd, ".byte 0x06;" NEXT "call 2f; ret;" NEXT "2: push %rax; ret;" NEXT);

static void a_function_that_returns_at_another_height_is_refused(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(odd), true);
	assert_int_equal(try_to_make(&scene, AT(2) + 1), 0);
	assert_int_equal(scene.made.refused, 1);
	assert_int_equal(scene.made.count, 0);
	close_scene(&scene);
}

/* 1 calls 2, which never returns; what stands behind the call is another function's. */
CODE(dies, "call 1f; ret;" NEXT "1: push %rax; call 2f; push %rcx; ret;" NEXT
	   "2: sub $8, %rsp; ud2;" NEXT);

static void a_function_ends_at_a_call_that_never_returns(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(dies), true);
	assert_int_equal(try_to_make(&scene, AT(1)), 0);
	assert_int_equal(scene.made.count, 2);
	assert_int_equal(scene.made.runs[1].from, AT(1) + 1);
	assert_int_equal(scene.made.runs[1].to, AT(1) + 6);
	close_scene(&scene);
}

static void a_file_that_ends_in_its_code_is_an_error_and_has_no_rows(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(called), true);
	assert_int_equal(try_to_make(&scene, AT(1)), 0);
	scene.image.segments[0].file_bytes = 1 << 20; /* as if it had shrunk since */
	assert_int_equal(try_to_make(&scene, AT(0)), -EIO);
	assert_int_equal(scene.made.count, 0);
	assert_null(scene.made.runs);
	close_scene(&scene);
}

static void make_named(struct scene *scene, const char *name)
{
	struct symbol_plan symbol = FUNCTION(name, NAMED, 3);

	memset(scene, 0, sizeof(*scene));
	scene->fd = elf_file(&(struct elf_plan){.symbols = &symbol, .symbols_count = 1});
	assert_int_equal(pwrite(scene->fd, pushes_, 3, CODE_OFFSET + NAMED), 3);
	assert_int_equal(elf_read(scene->fd, &scene->image), 0);
	assert_int_equal(try_to_make(scene, CODE_ADDRESS + NAMED + 1), 0);
}

static void a_function_begins_at_its_symbol(void **state)
{
	struct table_image image;
	struct scene scene;

	(void)state;
	make_named(&scene, "function");
	assert_int_equal(scene.made.functions, 1);
	assert_int_equal(scene.made.runs[0].from, CODE_ADDRESS + NAMED);
	assert_int_equal(image_build(scene.fd, &image), 0); /* nobody calls it */
	check_rule(&image, CODE_ADDRESS + NAMED + 1, RULE_CFA);
	image_done(&image);
	close_scene(&scene);
	make_named(&scene, "function.cold"); /* begins with the function's frame */
	assert_int_equal(scene.made.functions, 0);
	assert_int_equal(scene.made.refused, 1);
	close_scene(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_of_a_file_without_cfi_keeps_frame_pointers_around_made_rows),
		cmocka_unit_test(the_files_own_rows_are_given_before_made_ones),
		cmocka_unit_test(a_programs_begin_has_its_row_in_the_first_table),
		cmocka_unit_test(what_a_file_without_cfi_calls_has_rows_in_its_first_table),
		cmocka_unit_test(where_most_code_has_cfi_no_rows_are_made_ahead),
		cmocka_unit_test(a_number_may_be_a_functions_address),
		cmocka_unit_test(a_function_that_returns_at_another_height_is_refused),
		cmocka_unit_test(a_function_ends_at_a_call_that_never_returns),
		cmocka_unit_test(a_file_that_ends_in_its_code_is_an_error_and_has_no_rows),
		cmocka_unit_test(a_function_begins_at_its_symbol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
