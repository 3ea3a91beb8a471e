// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows made from code for some functions of a file, beside those that it has. */
#include "unit/flow/code.h"

#include "flow/made_rows.h"

/* Functions with CFI at 0x400 and at 0x1400, 0x100 bytes each; between them the functions of a
 * test, each EACH bytes behind the one before. */
#define FIRST	0x400u
#define SECOND	0x1400u
#define LENGTH	0x100u
#define GAP	0x600u
#define EACH	64u

#define NEXT	".balign 64, 0xcc;"
#define AT(n)	(CFI_CODE + GAP + (n)*EACH)
#define CPU_ALL UINT32_MAX /* ns: enough */

static int file_with(const uint8_t *code, size_t bytes, uint16_t machine)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.machine = machine};

	frames_fde(&frames, FIRST, LENGTH, NULL, 0);
	frames_fde(&frames, SECOND, LENGTH, NULL, 0);
	plan.frames = frames.bytes;
	plan.bytes = frames.len;
	int fd = cfi_file(&plan);
	assert_int_equal(pwrite(fd, code, bytes, CFI_CODE_OFFSET + GAP), (ssize_t)bytes);
	return fd;
}

struct scene {
	int fd;
	struct elf_image image;
	struct made_rows made;
	struct rows_text rows;
};

static void open_scene(struct scene *scene, const uint8_t *code, size_t bytes)
{
	memset(scene, 0, sizeof(*scene));
	scene->fd = file_with(code, bytes, 0);
	assert_int_equal(elf_read(scene->fd, &scene->image), 0);
}

static void close_scene(struct scene *scene)
{
	made_rows_done(&scene->made);
	close(scene->fd);
}

static void make(struct scene *scene, uint64_t address, uint64_t cpu_ns)
{
	struct made_wanted wanted = {.asked = &address, .asked_count = 1, .cpu_ns = cpu_ns};

	assert_int_equal(made_rows_read(&scene->made, scene->fd, &scene->image, &wanted), 0);
}

static bool has(const struct scene *scene, uint64_t address)
{
	for (size_t i = 0; i < scene->made.count; i++) {
		const struct made_run *run = &scene->made.runs[i];

		if (address >= run->from && address < run->to)
			return run->rule.kind != RULE_NONE;
	}
	return false;
}

static const char *given(struct scene *scene)
{
	memset(&scene->rows, 0, sizeof(scene->rows));
	assert_int_equal(made_rows_give(&scene->made, scene->fd, &scene->image, say_row,
					&scene->rows, &scene->rows.stats),
			 0);
	return scene->rows.text;
}

/* 0 calls 1, which calls 2; 3 is called by nobody and has its address taken by 0. */
CODE(callers, "sub $24, %rsp; lea 3f(%rip), %rdi; call 1f; add $24, %rsp; ret;" NEXT
	      "1: push %rbx; call 2f; pop %rbx; ret;" NEXT "2: push %rax; nop; pop %rcx; ret;" NEXT
	      "3: push %rax; pop %rcx; ret;" NEXT);

static void a_function_begins_where_a_call_goes_or_its_address_is_taken(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(callers));
	make(&scene, AT(2) + 1, 0);
	assert_int_equal(scene.made.functions, 1);
	assert_true(has(&scene, AT(2)) && has(&scene, AT(2) + 2) && !has(&scene, AT(1)));
	make(&scene, AT(3) + 1, 0);
	assert_int_equal(scene.made.functions, 2);
	assert_true(has(&scene, AT(3)) && has(&scene, AT(2)));
	assert_int_equal(scene.made.refused, 0);
	close_scene(&scene);
}

static void who_calls_and_is_called_is_made_as_time_allows(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(callers));
	make(&scene, AT(1), 0);
	assert_int_equal(scene.made.functions, 1);
	assert_true(scene.made.left_count >= 2); /* 0 and 2 */
	struct made_wanted rest = {
		.near = scene.made.left, .near_count = scene.made.left_count, .cpu_ns = CPU_ALL};
	uint64_t *left = scene.made.left;
	scene.made.left = NULL; /* it is ours now */
	assert_int_equal(made_rows_read(&scene.made, scene.fd, &scene.image, &rest), 0);
	free(left);
	assert_true(has(&scene, AT(1)) && has(&scene, AT(2)));
	assert_int_equal(scene.made.left_count, 0);
	close_scene(&scene);
}

static void made_rows_lie_between_those_of_the_file(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(callers));
	make(&scene, AT(2), 0);
	assert_string_equal(given(&scene), "1000 none, 1400 r7+8 u c-8, 1500 none, "
					   "1680 r7+8 u c-8, 1681 r7+16 u c-8, 1683 r7+8 u c-8, "
					   "1684 none, 2400 r7+8 u c-8, 2500 none");
	close_scene(&scene);
}

/* 1, to which nobody leads, jumps to 2 as its last call, and to what stands behind 2. */
CODE(jumps, ".byte 0x06;" NEXT
	    "test %edi, %edi; jne 9f; .byte 0xe9; .long 2f-.-4; .byte 0xe9; .long 9f-.-4;" NEXT
	    "2: push %rbx; nop; pop %rbx; ret; 9: hlt;" NEXT);

static void a_jump_leads_to_a_function_if_that_returns(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(jumps));
	make(&scene, AT(2) + 4, 0); /* hlt */
	assert_int_equal(scene.made.refused, 1);
	make(&scene, AT(2) + 1, 0);
	assert_true(has(&scene, AT(2) + 1) && !has(&scene, AT(2) + 4));
	close_scene(&scene);
}

/* 1, which 0 calls, and 2, whose address 0 takes, go on at 9 with different stacks. */
CODE(shared, "lea 2f(%rip), %rax; call 1f; ret;" NEXT "1: push %rax; jmp 9f;" NEXT
	     "2: push %rax; push %rcx; 9: nop; jmp 9b;" NEXT);

static void what_two_functions_see_differently_is_not_known(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(shared));
	make(&scene, AT(1), 0);
	assert_true(has(&scene, AT(1)) && has(&scene, AT(2) + 2));
	make(&scene, AT(2), 0);
	assert_true(has(&scene, AT(2)) && !has(&scene, AT(2) + 2));
	make(&scene, AT(2) + 2, 0); /* who asks again gets no other answer */
	assert_true(!has(&scene, AT(2) + 2));
	assert_int_equal(scene.made.functions, 2);
	close_scene(&scene);
}

static void the_programs_begin_has_no_caller(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(callers));
	scene.image.entry = AT(0);
	make(&scene, AT(0) + 12, 0);
	assert_non_null(strstr(given(&scene), "1600 end"));
	close_scene(&scene);
}

CODE(loner, ".byte 0x06;" NEXT "push %rax; pop %rcx; ret;" NEXT);

static void what_is_not_understood_is_counted(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(loner));
	make(&scene, AT(1) + 1, 0); /* nobody leads there */
	assert_int_equal(scene.made.refused, 1);
	assert_int_equal(scene.made.count, 0);
	make(&scene, UINT64_MAX - 1, 0); /* nor is code there */
	assert_int_equal(scene.made.refused, 2);
	close_scene(&scene);
}

static void another_processors_code_is_left_alone(void **state)
{
	struct scene scene;

	(void)state;
	memset(&scene, 0, sizeof(scene));
	scene.fd = file_with(BYTES_OF(callers), EM_AARCH64);
	assert_int_equal(elf_read(scene.fd, &scene.image), 0);
	make(&scene, AT(2), CPU_ALL);
	assert_int_equal(scene.made.count, 0);
	close_scene(&scene);
}

/* Made by hand on a new stack: the address behind `jmp *%rbx`, 3 bytes behind each AT(n). */
CODE(planted, "nop; jmp *%rbx; xor %edi, %edi; call 9f; hlt;" NEXT
	      "nop; jmp *%rbx; mov $15, %eax; syscall; hlt;" NEXT
	      "nop; nop; ret; xor %edi, %edi; hlt;" NEXT "nop; jmp *%rbx; xor %edi, %edi; ret;" NEXT
	      "nop; jmp *%rbx; xor %edi, %edi; .byte 6;" NEXT "9: jmp 9b;" NEXT);

static bool is_root(const struct scene *scene, uint64_t address)
{
	for (size_t i = 0; i < scene->made.count; i++) {
		const struct made_run *run = &scene->made.runs[i];

		if (address >= run->from && address < run->to)
			return run->rule.kind == RULE_END;
	}
	return false;
}

static void behind_a_jump_from_where_nothing_returns_is_the_bottom_of_a_coroutine(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene, BYTES_OF(planted));
	make(&scene, AT(0) + 2, 0);
	assert_true(is_root(&scene, AT(0) + 2));
	assert_true(is_root(&scene, AT(0) + 3));
	assert_false(has(&scene, AT(0) + 1));
	assert_int_equal(scene.made.refused, 0);
	close_scene(&scene);
}

static void what_may_return_or_ask_the_kernel_is_no_bottom(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 4; i++) {
		struct scene scene;

		open_scene(&scene, BYTES_OF(planted));
		make(&scene, AT(i) + 2, 0);
		assert_false(is_root(&scene, AT(i) + 2));
		close_scene(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_begins_where_a_call_goes_or_its_address_is_taken),
		cmocka_unit_test(who_calls_and_is_called_is_made_as_time_allows),
		cmocka_unit_test(made_rows_lie_between_those_of_the_file),
		cmocka_unit_test(a_jump_leads_to_a_function_if_that_returns),
		cmocka_unit_test(what_two_functions_see_differently_is_not_known),
		cmocka_unit_test(the_programs_begin_has_no_caller),
		cmocka_unit_test(what_is_not_understood_is_counted),
		cmocka_unit_test(another_processors_code_is_left_alone),
		cmocka_unit_test(
			behind_a_jump_from_where_nothing_returns_is_the_bottom_of_a_coroutine),
		cmocka_unit_test(what_may_return_or_ask_the_kernel_is_no_bottom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
