// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of real programs of Go, where there are. */
#include "unit/cfi/gopclntab_maker.h"
#include "unit/proc/elf_maker.h"
#include "unit/symbol/look_up.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "cfi/gopclntab.h"
#include "cfi/rows.h"

/* A file as it is, to be changed. */
static size_t read_whole(const char *path, char **data)
{
	_cleanup_close_ int fd = open(path, O_RDONLY);
	struct stat stat;

	if (fd < 0 || fstat(fd, &stat) < 0)
		return 0;
	*data = malloc((size_t)stat.st_size);
	assert_non_null(*data);
	assert_int_equal(elf_pread(fd, *data, (size_t)stat.st_size, 0), 0);
	return (size_t)stat.st_size;
}

/* go is not there: build/test/programs/gowork isn't either. */
#define GOWORK	 "build/test/programs/gowork"
#define GOCALLS	 "build/test/programs/gocalls"
#define STRIPPED "build/test/programs/gowork_stripped"

static size_t demand_program(const char *path, char **data)
{
	size_t bytes = read_whole(path, data);

	if (!bytes) {
		print_message("%s is not built\n", path);
		skip();
	}
	return bytes;
}

/* What readelf tells of .debug_frame and .eh_frame: Go tells the CFA there, by the stack pointer.
 * `special`: rows of other kinds. */
static unsigned compare_rows(const struct rows *rows, const char *path, unsigned *special)
{
	char line[512], command[256];
	unsigned compared = 0;

	snprintf(command, sizeof(command), "readelf --debug-dump=frames-interp %s 2>/dev/null",
		 path);
	FILE *readelf = popen(command, "r");
	assert_non_null(readelf);
	*special = 0;
	while (fgets(line, sizeof(line), readelf)) {
		unsigned long address;
		int offset;

		if (sscanf(line, "%16lx rsp%d", &address, &offset) != 2 || !address)
			continue;
		const struct row *row = row_at(rows, address);
		assert_non_null(row);
		compared++;
		if (row->rule.kind == RULE_CFA && row->rule.cfa_reg == RSP && !row->rule.cfa_deref)
			assert_int_equal(row->rule.cfa_offset, offset);
		else
			++*special;
	}
	pclose(readelf);
	return compared;
}

static void rows_are_those_of_debug_frame(void **state)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_rows_ struct rows rows = {0};
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY);
	struct cfi_stats stats;
	unsigned special;

	(void)state;
	demand_program(GOWORK, &data);
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	assert_int_equal(stats.broken, 0);
	assert_int_equal(stats.overlapping, 0);
	assert_true(compare_rows(&rows, GOWORK, &special) > 5000);
	assert_true(special < 100); /* roots, signals, functions that switch stacks */
}

static void a_program_of_go_and_c_has_the_rows_of_both(void **state)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_rows_ struct rows rows = {0};
	_cleanup_close_ int fd = open(GOCALLS, O_RDONLY);
	struct elf_image image;
	struct cfi_stats stats;
	unsigned special;
	uint64_t start, end;

	(void)state;
	demand_program(GOCALLS, &data);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(gopclntab_range(fd, &image, &start, &end), 0);
	assert_int_equal(rows_read(fd, &image, take_row, &rows, &stats), 0);
	assert_int_equal(stats.broken, 0);
	assert_true(rows.each[0].address < start);
	assert_true(rows.each[rows.count - 1].address > end);
	assert_true(compare_rows(&rows, GOCALLS, &special) > 5000);
	assert_true(special < 100);
}

/* Stripping moves no code. Without sections the table is found by its first word. */
static void a_stripped_program_has_the_same_rows(void **state)
{
	_cleanup_free_ char *data = NULL, *stripped = NULL;
	_cleanup_rows_ struct rows rows = {0}, bare = {0};
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY);
	struct cfi_stats stats;

	(void)state;
	demand_program(GOWORK, &data);
	assert_int_equal(read_rows(fd, &rows, &stats), 0);
	size_t bytes = demand_program(STRIPPED, &stripped);
	Elf64_Ehdr *header = (void *)stripped;
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	_cleanup_close_ int without = file_of(stripped, bytes);
	assert_int_equal(read_rows(without, &bare, &stats), 0);
	assert_int_equal(bare.count, rows.count);
	for (size_t i = 0; i < rows.count; i++) {
		assert_int_equal(bare.each[i].address, rows.each[i].address);
		assert_true(rule_is_equal(&bare.each[i].rule, &rows.each[i].rule));
	}
}

/* All along the code; only assembly has a suffix in .symtab that the table hasn't. */
static void a_stripped_program_has_the_same_names(void **state)
{
	static struct native_function with[10000], without[10000];
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 24), bare = BUF_INIT(1 << 24);
	_cleanup_close_ int fd = open(GOWORK, O_RDONLY), stripped = open(STRIPPED, O_RDONLY);
	unsigned same = 0, named = 0;
	struct elf_image image;

	(void)state;
	if (fd < 0 || stripped < 0) {
		print_message(GOWORK " is not built\n");
		skip();
	}
	assert_int_equal(elf_read(fd, &image), 0);
	uint64_t step = image.segments[0].file_bytes / ARRAY_SIZE(with);
	for (size_t i = 0; i < ARRAY_SIZE(with); i++)
		with[i].offset = without[i].offset = image.segments[0].file_offset + i * step;
	assert_int_equal(native_resolve(fd, -1, true, with, ARRAY_SIZE(with), &names, NULL), 0);
	assert_int_equal(native_resolve(stripped, -1, true, without, ARRAY_SIZE(with), &bare, NULL),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(with); i++) {
		assert_int_equal(with[i].offset, without[i].offset);
		if (with[i].name == NATIVE_NO_NAME) { /* a filler */
			assert_int_equal(without[i].name, NATIVE_NO_NAME);
			continue;
		}
		assert_true(without[i].name != NATIVE_NO_NAME);
		const char *name = names.data + with[i].name, *other = bare.data + without[i].name;
		same += strncmp(name, other, strlen(other)) == 0;
		named++;
	}
	assert_true(named > ARRAY_SIZE(with) * 3 / 4);
	assert_true(same > named * 99 / 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_debug_frame),
		cmocka_unit_test(a_program_of_go_and_c_has_the_rows_of_both),
		cmocka_unit_test(a_stripped_program_has_the_same_rows),
		cmocka_unit_test(a_stripped_program_has_the_same_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
