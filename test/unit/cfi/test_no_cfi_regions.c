// SPDX-License-Identifier: GPL-2.0-or-later
/* Code without CFI: that which keeps frame pointers is told from that which doesn't. */
#include "unit/cfi/cfi_maker.h"

#include "base/cleanup.h"
#include "cfi/no_cfi_regions.h"

/* Code is nops but for these; functions with CFI at 0x400 and at 0x1400, 0x100 bytes each. */
#define FIRST  0x400u
#define SECOND 0x1400u
#define LENGTH 0x100u

static const uint8_t push_mov[] = {0x55, 0x48, 0x89, 0xe5};
static const uint8_t push_mov_2[] = {0x55, 0x48, 0x8b, 0xec};
static const uint8_t stp[] = {0xfd, 0x7b, 0xbe, 0xa9};

static int open_file(uint16_t machine)
{
	struct frames frames = frames_usual();
	struct cfi_plan plan = {.machine = machine};

	frames_fde(&frames, FIRST, LENGTH, NULL, 0);
	frames_fde(&frames, SECOND, LENGTH, NULL, 0);
	plan.frames = frames.bytes;
	plan.bytes = frames.len;
	return cfi_file(&plan);
}

static void poke(int fd, uint32_t at, const uint8_t *code)
{
	assert_int_equal(pwrite(fd, code, 4, CFI_CODE_OFFSET + at), 4);
}

static int say(void *arg, uint64_t address, const struct rule *rule)
{
	struct rows_text *rows = arg;

	rows_say(rows, "%s%llx %s", rows->len ? ", " : "", (unsigned long long)(address - CFI_CODE),
		 rule->kind == RULE_FRAMES ? "frames"
		 : rule->kind == RULE_NONE ? "none"
					   : "cfi");
	return 0;
}

static void assert_gaps(int fd, const char *expected)
{
	static struct rows_text rows;
	struct elf_image image;

	memset(&rows, 0, sizeof(rows));
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(no_cfi_regions_read(fd, &image, say, &rows, &rows.stats), 0);
	assert_string_equal(rows.text, expected);
}

static void code_without_frame_pointers_stays_without_rule(void **state)
{
	_cleanup_close_ int fd = open_file(0);

	(void)state;
	assert_gaps(fd, "400 cfi, 500 none, 1400 cfi, 1500 none");
}

static void a_stretch_whose_functions_save_the_frame_pointer_keeps_them(void **state)
{
	_cleanup_close_ int fd = open_file(0);

	(void)state;
	poke(fd, 0x600, push_mov);
	assert_gaps(fd, "400 cfi, 500 frames, 1400 cfi, 1500 none");
	poke(fd, 0x1800, push_mov_2);
	assert_gaps(fd, "400 cfi, 500 frames, 1400 cfi, 1500 frames, 2000 none");
	poke(fd, 0x10, push_mov); /* before the first function with CFI */
	assert_gaps(fd, "0 frames, 400 cfi, 500 frames, 1400 cfi, 1500 frames, 2000 none");
}

static void functions_with_cfi_say_nothing_of_those_without(void **state)
{
	_cleanup_close_ int fd = open_file(0);

	(void)state;
	poke(fd, FIRST, push_mov);
	poke(fd, SECOND + LENGTH - 4, push_mov);
	assert_gaps(fd, "400 cfi, 500 none, 1400 cfi, 1500 none");
}

static void each_processor_has_its_own_beginning(void **state)
{
	_cleanup_close_ int arm = open_file(EM_AARCH64), x86 = open_file(0);

	(void)state;
	poke(arm, 0x600, push_mov);
	poke(x86, 0x600, stp);
	assert_gaps(x86, "400 cfi, 500 none, 1400 cfi, 1500 none");
	assert_gaps(arm, "400 cfi, 500 none, 1400 cfi, 1500 none");
	poke(arm, 0x604, stp);
	assert_gaps(arm, "400 cfi, 500 frames, 1400 cfi, 1500 none");
}

static void a_file_that_ends_in_its_code_is_an_error(void **state)
{
	_cleanup_close_ int fd = open_file(0);
	struct rows_text rows = {.len = 0};
	struct elf_image image;

	(void)state;
	assert_int_equal(elf_read(fd, &image), 0);
	image.segments[0].file_bytes = 1 << 20; /* as if it had shrunk since */
	assert_int_equal(no_cfi_regions_read(fd, &image, say, &rows, &rows.stats), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_without_frame_pointers_stays_without_rule),
		cmocka_unit_test(a_stretch_whose_functions_save_the_frame_pointer_keeps_them),
		cmocka_unit_test(functions_with_cfi_say_nothing_of_those_without),
		cmocka_unit_test(each_processor_has_its_own_beginning),
		cmocka_unit_test(a_file_that_ends_in_its_code_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
