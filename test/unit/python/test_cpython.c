// SPDX-License-Identifier: GPL-2.0-or-later
/* The interpreter in a file: real ones, as they are and with less in them, and made ones. */
#include "unit/proc/elf_maker.h"
#include "unit/python/pythons.h"

#define OBJECT(name, value)                                                                        \
	{                                                                                          \
		name, value, 8, STT_OBJECT, STB_GLOBAL, false                                      \
	}

/* ---- made files ---- */

#define LOOP_AT	   0x40
#define LOOP_BYTES 0x80

static const struct symbol_plan all_symbols[] = {
	OBJECT("_PyRuntime", 0x300),
	OBJECT("PyCode_Type", 0x380),
	FUNCTION("_PyEval_EvalFrameDefault", LOOP_AT, LOOP_BYTES),
};

static int find_planned(const struct elf_plan *plan, const void *text, size_t bytes,
			struct cpython_file *file)
{
	struct elf_maker *maker = malloc(sizeof(*maker));
	struct elf_image image;

	assert_non_null(maker);
	size_t len = elf_make(maker, plan);
	memcpy(maker->image + CODE_OFFSET + 0x200, text, bytes);
	_cleanup_close_ int fd = file_of(maker->image, len);
	free(maker);
	assert_int_equal(elf_read(fd, &image), 0);
	return cpython_find(fd, &image, -1, file);
}

static uint32_t version_of(const void *text, size_t bytes)
{
	struct cpython_file file;

	assert_int_equal(find_planned(&(struct elf_plan){.dynamic = all_symbols,
							 .dynamic_count = ARRAY_SIZE(all_symbols)},
				      text, bytes, &file),
			 0);
	return file.version;
}

#define TOLD(text) version_of("\0" text, sizeof("\0" text))

static void it_is_found_in_either_table(void **state)
{
	const size_t count = ARRAY_SIZE(all_symbols);
	const struct elf_plan plans[] = {{.dynamic = all_symbols, .dynamic_count = count},
					 {.symbols = all_symbols, .symbols_count = count}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plans); i++) {
		struct cpython_file file;

		assert_int_equal(find_planned(&plans[i], "", 0, &file), 0);
		assert_int_equal(file.runtime, CODE_ADDRESS + 0x300);
		assert_int_equal(file.code_type, CODE_ADDRESS + 0x380);
		assert_int_equal(file.loop_count, 1);
		assert_int_equal(file.loop[0].from, CODE_OFFSET + LOOP_AT);
		assert_int_equal(file.loop[0].to, CODE_OFFSET + LOOP_AT + LOOP_BYTES);
		assert_int_equal(file.version, 0);
	}
}

static void the_type_of_functions_may_be_missing(void **state)
{
	struct symbol_plan symbols[ARRAY_SIZE(all_symbols) + 1];
	struct cpython_file file;

	(void)state;
	memcpy(symbols, all_symbols, sizeof(all_symbols));
	symbols[ARRAY_SIZE(all_symbols)] = (struct symbol_plan)OBJECT("PyFunction_Type", 0x3c0);
	for (size_t count = ARRAY_SIZE(all_symbols); count <= ARRAY_SIZE(symbols); count++) {
		const struct elf_plan plan = {.dynamic = symbols, .dynamic_count = count};

		assert_int_equal(find_planned(&plan, "", 0, &file), 0);
		assert_int_equal(file.function_type,
				 count > ARRAY_SIZE(all_symbols) ? CODE_ADDRESS + 0x3c0 : 0);
	}
}

static void without_one_of_its_symbols_it_is_none(void **state)
{
	const size_t count = ARRAY_SIZE(all_symbols);
	struct symbol_plan symbols[ARRAY_SIZE(all_symbols)];
	struct cpython_file file;

	(void)state;
	for (size_t i = 0; i < count; i++) {
		memcpy(symbols, all_symbols, sizeof(symbols));
		symbols[i].undefined = true;
		assert_int_equal(
			find_planned(&(struct elf_plan){.dynamic = symbols, .dynamic_count = count},
				     "", 0, &file),
			-ENOENT);
	}
}

static void the_version_is_told_by_a_text(void **state)
{
	(void)state;
	assert_int_equal(TOLD("3.8.18"), 0x030812f0);
	assert_int_equal(TOLD("3.10.0"), 0x030a00f0);
	assert_int_equal(TOLD("3.9.1+"), 0x030901f0);
	assert_int_equal(TOLD("3.9.0rc2"), 0x030900c2);
	assert_int_equal(TOLD("3.9.0a6"), 0x030900a6);
	assert_int_equal(TOLD("3.9.0b3"), 0x030900b3);
	assert_int_equal(TOLD("/opt/python/3.9.7"), 0x030907f0);
	assert_int_equal(TOLD("lib-3.8.1\0003.9.7"), 0x030907f0); /* whole ones count more */
	assert_int_equal(TOLD("3.9.7\0003.9.8"), 0x030907f0);
}

static void other_texts_are_no_version(void **state)
{
	static const char *const texts[] = {"3.9",     "3.9.",	 "3..1",    "3.9.1.2",
					    "3.9.1x",  "13.9.1", "3.9.123", "3.123.1",
					    "3.40.1",  "3.11.2", "3.9.0rc", "3.9.0rc99",
					    "3.9.0-1", "x3.9.1", "3. 9.1",  "3.9.1 (main"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char text[64] = "";

		strcpy(text + 1, texts[i]);
		assert_int_equal(version_of(text, sizeof(text)), 0);
	}
	assert_int_equal(TOLD("3.9.7\0003.8.8"), 0); /* which of them? */
	assert_int_equal(TOLD("/a/3.9.7\0/b/3.8.8"), 0);
}

static void other_files_have_none(void **state)
{
	static const char *const paths[] = {"/proc/self/exe", "/bin/sh", "/usr/bin/gdb"};
	struct elf_image image;
	struct cpython_file file;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		_cleanup_close_ int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		if (fd >= 0 && elf_read(fd, &image) == 0)
			assert_int_equal(cpython_find(fd, &image, -1, &file), -ENOENT);
	}
}

/* ---- real files ---- */

/* A copy of the file in memory. */
static int copy_of(int fd, size_t *bytes)
{
	int copy = memfd_create("copy", MFD_CLOEXEC);
	char piece[65536];
	ssize_t n;

	assert_true(copy >= 0);
	*bytes = 0;
	while ((n = pread(fd, piece, sizeof(piece), (off_t)*bytes)) > 0) {
		assert_int_equal(pwrite(copy, piece, (size_t)n, (off_t)*bytes), n);
		*bytes += (size_t)n;
	}
	assert_int_equal(n, 0);
	return copy;
}

/* Takes the symbol table of a type away. */
static void cut(int fd, uint32_t type)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	assert_int_equal(elf_pread(fd, &header, sizeof(header), 0), 0);
	for (unsigned i = 0; i < header.e_shnum; i++) {
		off_t at = (off_t)(header.e_shoff + i * sizeof(section));

		assert_int_equal(elf_pread(fd, &section, sizeof(section), (uint64_t)at), 0);
		if (section.sh_type != type)
			continue;
		section.sh_type = SHT_NULL;
		assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
	}
}

static int find_in(int fd, int debug_fd, struct cpython_file *file)
{
	struct elf_image image;
	int r = elf_read(fd, &image);

	memset(file, 0, sizeof(*file));
	return r < 0 ? r : cpython_find(fd, &image, debug_fd, file);
}

static void check_ranges(const struct cpython_file *file, size_t bytes)
{
	assert_true(file->loop_count <= CPYTHON_RANGES_MAX);
	for (size_t i = 0; i < file->loop_count; i++) {
		assert_true(file->loop[i].from < file->loop[i].to);
		assert_true(file->loop[i].to <= bytes);
		for (size_t k = 0; k < i; k++)
			assert_true(file->loop[i].from >= file->loop[k].to ||
				    file->loop[k].from >= file->loop[i].to);
	}
}

static bool has_symtab(int fd)
{
	struct elf_image image;

	return elf_read(fd, &image) == 0 && image.symtab.symbols.bytes;
}

/* By .symtab alone, by another file's, by neither. */
static void check_tables(int fd, const struct cpython_file *expected)
{
	struct cpython_file found;
	size_t bytes;
	_cleanup_close_ int copy = copy_of(fd, &bytes);

	check_ranges(expected, bytes);
	cut(copy, SHT_DYNSYM);
	if (has_symtab(fd)) {
		assert_int_equal(find_in(copy, -1, &found), 0);
		assert_memory_equal(&found, expected, sizeof(found));
		cut(copy, SHT_SYMTAB);
		assert_int_equal(find_in(copy, fd, &found), 0);
		assert_memory_equal(&found, expected, sizeof(found));
	}
	assert_int_equal(find_in(copy, -1, &found), -ENOENT);
}

/* Whatever stands in its headers, symbols and FDEs. */
static void check_broken(int fd, uint64_t seed)
{
	struct elf_image image;
	struct cpython_file found;
	size_t bytes;
	_cleanup_close_ int copy = copy_of(fd, &bytes);

	assert_int_equal(elf_read(fd, &image), 0);
	const struct elf_extent places[] = {
		image.dynsym.symbols, image.frames.eh_frame, {0, 4096}, image.dynsym.strings};
	for (int i = 0; i < 40; i++) {
		const struct elf_extent *place = &places[i % 4];
		uint64_t at = place->offset + random_next(&seed) % (place->bytes - 4096 + 1);
		uint8_t before[4096], after[4096];

		assert_int_equal(elf_pread(copy, before, sizeof(before), at), 0);
		for (size_t k = 0; k < sizeof(after); k++)
			after[k] = random_next(&seed) % 16 ? before[k] : (uint8_t)seed;
		assert_int_equal(pwrite(copy, after, sizeof(after), (off_t)at), sizeof(after));
		if (find_in(copy, -1, &found) == 0)
			check_ranges(&found, bytes);
		assert_int_equal(pwrite(copy, before, sizeof(before), (off_t)at), sizeof(before));
	}
	assert_int_equal(ftruncate(copy, (off_t)(image.frames.eh_frame.offset + 100)), 0);
	if (find_in(copy, -1, &found) == 0)
		check_ranges(&found, bytes);
}

static void look(const char *program, void *arg)
{
	static const char script[] =
		"import sys; print(sys.hexversion, flush=True); sys.stdin.read()";
	struct python python;
	char line[64];
	int *seen = arg;

	print_message("%s\n", program);
	if (!python_start(&python, program, script, line, sizeof(line))) {
		print_message("\tskipped: it doesn't run here, or has no interpreter\n");
		return;
	}
	_cleanup_close_ int fd = open(python.path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(python.file.version, strtoul(line, NULL, 10));
	assert_true(python.file.loop_count > 0);
	check_tables(fd, &python.file);
	check_broken(fd, python.file.version);
	python_end(&python);
	++*seen;
}

static void real_ones_are_found(void **state)
{
	int seen = 0;

	(void)state;
	pythons_each(look, &seen);
	if (!seen) {
		print_message("skipped: no Python; PYTHONS names them\n");
		skip();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_found_in_either_table),
		cmocka_unit_test(the_type_of_functions_may_be_missing),
		cmocka_unit_test(without_one_of_its_symbols_it_is_none),
		cmocka_unit_test(the_version_is_told_by_a_text),
		cmocka_unit_test(other_texts_are_no_version),
		cmocka_unit_test(other_files_have_none),
		cmocka_unit_test(real_ones_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
