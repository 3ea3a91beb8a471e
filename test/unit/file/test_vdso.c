// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's vDSO of both kinds of processes, as a file. */
#include "unit/lib/unit.h"

#include <elf.h>
#include <sys/auxv.h>

#include "base/cleanup.h"
#include "cfi/rows.h"
#include "file/vdso.h"

static int count_row(void *arg, uint64_t address, const struct rule *rule)
{
	(void)address;
	*(int *)arg += rule->kind == RULE_CFA;
	return 0;
}

static void check_rows(int fd, const struct elf_image *image)
{
	struct cfi_stats stats;
	int rows = 0;

	assert_int_equal(rows_read(fd, image, count_row, &rows, &stats), 0);
	assert_true(rows > 0);
	assert_int_equal(stats.broken, 0);
}

static void our_own_is_there_with_its_rows(void **state)
{
	struct elf_image image;
	_cleanup_close_ int fd = vdso_open(false);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_true(image.wide);
	check_rows(fd, &image);
}

static void that_of_32_bit_processes_is_there_with_its_rows(void **state)
{
	struct elf_image image;
	const void *own = (const void *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	_cleanup_close_ int fd = vdso_open(true);

	(void)state;
	if (fd == -ENOENT) {
		print_message("this kernel runs no 32-bit programs, or doesn't tell\n");
		skip();
	}
	assert_true(fd >= 0);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_false(image.wide);
	assert_int_equal(image.machine, EM_386);
	check_rows(fd, &image);
	assert_memory_equal(own, ELFMAG, SELFMAG); /* a child gave up its own one, we didn't */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_is_there_with_its_rows),
		cmocka_unit_test(that_of_32_bit_processes_is_there_with_its_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
