// SPDX-License-Identifier: GPL-2.0-or-later
/* Real files, and hostile ones made from them. */
#include "unit/proc/elf_maker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"
#include "proc/maps.h"
#include "unit/symbol/look_up.h"

static struct program load(const char *path)
{
	struct program program = {open(path, O_RDONLY), -1};

	assert_true(program.fd >= 0);
	return program;
}

/* Where an address of ours lies: its file and the offset in it. */
static uint64_t offset_of(uint64_t address, char path[4096])
{
	struct maps maps;
	uint64_t offset = UINT64_MAX;

	assert_int_equal(maps_read(getpid(), 0, &maps), 0);
	for (size_t i = 0; i < maps.count; i++) {
		const struct mapping *mapping = &maps.mappings[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		assert_int_equal(mapping->kind, MAPPING_FILE);
		snprintf(path, 4096, "%s", mapping->path);
		offset = address - mapping->start + mapping->file_offset;
	}
	maps_done(&maps);
	assert_true(offset != UINT64_MAX);
	return offset;
}

static void exported_functions_of_libc_are_where_the_linker_finds_them(void **state)
{
	static const char *const names[] = {"printf", "malloc",	  "qsort",	    "getenv",
					    "fopen",  "abort",	  "pthread_create", "nanosleep",
					    "read",   "sigaction"};
	char path[4096];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* not RTLD_DEFAULT: a sanitizer has functions of these names as well */
		void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
		void *function = dlsym(libc, names[i]);
		struct looked_up found;
		Dl_info info;

		assert_non_null(function);
		uint64_t offset = offset_of((uint64_t)(uintptr_t)function, path);
		_cleanup_program_ struct program program = load(path);
		assert_int_equal(look_up(&program, offset, &found), 0);
		assert_true(dladdr(function, &info));
		assert_int_equal(found.address, (uintptr_t)function - (uintptr_t)info.dli_fbase);
		/* It may have several names; the one shown leads to the same place. */
		assert_true(found.name[0]);
		if (strcmp(found.name, names[i]) != 0)
			assert_ptr_equal(dlsym(libc, found.name), function);
		assert_int_equal(look_up(&program, offset + 1, &found), 0);
		assert_int_equal(found.address, (uintptr_t)function - (uintptr_t)info.dli_fbase);
		dlclose(libc);
	}
}

static void our_own_functions_are_found_by_name(void **state)
{
	char path[4096];
	struct looked_up found;
	uint64_t offset = offset_of((uint64_t)(uintptr_t)our_own_functions_are_found_by_name, path);
	_cleanup_program_ struct program program = load(path);

	(void)state;
	for (uint64_t at = offset; at < offset + 16; at++) {
		assert_int_equal(look_up(&program, at, &found), 0);
		assert_string_equal(found.name, "our_own_functions_are_found_by_name");
	}
	offset = offset_of((uint64_t)(uintptr_t)native_resolve, path);
	assert_int_equal(look_up(&program, offset, &found), 0);
	assert_string_equal(found.name, "native_resolve");
}

/* All named functions with a size of a 64-bit file's .symtab, read without our code: their file
 * offsets. */
static size_t list_all(const char *file, struct native_function *functions, size_t max)
{
	const Elf64_Ehdr *header = (const void *)file;
	const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);
	const Elf64_Shdr *symtab = NULL;
	size_t count = 0;

	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type == SHT_SYMTAB)
			symtab = &sections[i];
	}
	if (!symtab)
		return 0;
	const Elf64_Sym *symbols = (const void *)(file + symtab->sh_offset);
	for (size_t i = 0; i < symtab->sh_size / sizeof(*symbols) && count < max; i++) {
		const Elf64_Sym *symbol = &symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_size ||
		    symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= header->e_shnum)
			continue;
		const Elf64_Shdr *home = &sections[symbol->st_shndx];
		functions[count++] = (struct native_function){
			.offset = symbol->st_value - home->sh_addr + home->sh_offset};
	}
	return count;
}

/* Each begins where it is found; all are looked for together. */
static size_t check_all(const char *path)
{
	static struct native_function functions[100000];
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20), names = BUF_INIT(64 << 20);
	_cleanup_program_ struct program program = load(path);

	assert_int_equal(file_read(AT_FDCWD, path, &text), 0);
	size_t count = list_all(text.data, functions, ARRAY_SIZE(functions));
	assert_int_equal(native_resolve(program.fd, -1, true, functions, count, &names, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		assert_true(functions[i].name != NATIVE_NO_NAME);
		assert_true(names.data[functions[i].name]);
		assert_int_equal(functions[i].from, functions[i].offset);
		if (i)
			assert_true(functions[i].address >= functions[i - 1].address);
	}
	return count;
}

static void every_function_of_a_program_with_symbols_is_found(void **state)
{
	(void)state;
	assert_true(check_all("/proc/self/exe") > 100);
}

static void every_function_of_the_spin_program_is_found(void **state)
{
	(void)state;
	if (access("build/test/programs/spin", R_OK) < 0) {
		print_message("build/test/programs/spin is not built\n");
		skip();
	}
	assert_true(check_all("build/test/programs/spin") > 2);
}

/* A question for every `step`th byte of a file. */
static size_t ask_all_over(struct native_function *functions, uint64_t bytes, uint64_t step)
{
	size_t count = 0;

	for (uint64_t at = 0; at < bytes; at += step)
		functions[count++] = (struct native_function){.offset = at};
	return count;
}

static void a_stripped_program_is_cut_into_functions(void **state)
{
	static struct native_function functions[1 << 20];
	_cleanup_program_ struct program program = load("/bin/true");
	_cleanup_buf_ struct buf names = BUF_INIT(64 << 20);
	size_t found = 0;
	uint64_t last = 0;
	struct stat stat;

	(void)state;
	assert_int_equal(fstat(program.fd, &stat), 0);
	assert_in_range(stat.st_size, 1, ARRAY_SIZE(functions));
	size_t count = ask_all_over(functions, (uint64_t)stat.st_size, 1);
	assert_int_equal(native_resolve(program.fd, -1, true, functions, count, &names, NULL), 0);
	for (size_t i = 0; i < count; i++) {
		const struct native_function *function = &functions[i];

		if (function->from == function->to)
			continue;
		assert_true(function->from <= function->offset && function->offset < function->to);
		assert_true(function->address >= last); /* they come in order */
		found += function->address != last;
		last = function->address;
	}
	assert_true(found > 30);
}

static void real_files_with_changed_bytes_do_no_harm(void **state)
{
	static struct native_function functions[1 << 16];
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20);
	uint64_t random = 5;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/bin/true", &text), 0);
	_cleanup_close_ int fd = file_of(text.data, text.len);
	const Elf64_Ehdr *header = (const void *)text.data;
	for (int i = 0; i < 3000; i++) {
		_cleanup_buf_ struct buf names = BUF_INIT(1 << 20);
		uint64_t bits = random_next(&random), wild = random_next(&random) >> (bits & 63);
		/* headers, section table, or anywhere */
		uint64_t at = i % 3 == 0   ? bits >> 8 & 0x3ff
			      : i % 3 == 1 ? header->e_shoff + (bits >> 8) % (28 * 64)
					   : (bits >> 8) % (text.len - 8);
		char before[8];

		if (at + 8 > text.len)
			continue;
		memcpy(before, text.data + at, 8);
		assert_int_equal(pwrite(fd, &wild, 1 + (bits >> 61), (off_t)at), 1 + (bits >> 61));
		size_t count = ask_all_over(functions, text.len, 97);
		native_resolve(fd, fd, true, functions, count, &names, NULL);
		assert_int_equal(pwrite(fd, before, 8, (off_t)at), 8);
	}
}

/* Names that share one long string, each symbol's begins one byte later in it: 60 MB in all. */
static void names_that_overlap_make_no_giant_of_a_small_file(void **state)
{
	enum { SYMBOLS = 1000, NAME = 60000 };
	static struct elf_maker maker;
	static unsigned char file[IMAGE_MAX + 3 * NAME];
	static const struct symbol_plan one[] = {FUNCTION("a", 0, 1)};
	struct elf_plan plan = {.symbols = one, .symbols_count = 1};
	size_t len = elf_make(&maker, &plan);
	static struct native_function functions[SYMBOLS];
	_cleanup_buf_ struct buf names = BUF_INIT(1 << 20);
	Elf64_Ehdr header;
	Elf64_Shdr sections[16];

	(void)state;
	memcpy(file, maker.image, len);
	memcpy(&header, file, sizeof(header));
	memcpy(sections, file + header.e_shoff, header.e_shnum * sizeof(sections[0]));
	len = (len + 7) & ~(size_t)7;
	sections[2].sh_offset = len;
	sections[2].sh_size = SYMBOLS * sizeof(Elf64_Sym);
	for (uint32_t i = 0; i < SYMBOLS; i++, len += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol = {.st_name = i,
				    .st_info = STT_FUNC,
				    .st_shndx = 1,
				    .st_value = CODE_ADDRESS + i,
				    .st_size = 1};

		memcpy(file + len, &symbol, sizeof(symbol));
	}
	sections[3].sh_offset = len;
	sections[3].sh_size = NAME;
	memset(file + len, 'n', NAME - 1);
	len += NAME;
	memcpy(file + header.e_shoff, sections, header.e_shnum * sizeof(sections[0]));
	_cleanup_close_ int fd = file_of(file, len);
	for (size_t i = 0; i < SYMBOLS; i++)
		functions[i] = (struct native_function){.offset = CODE_OFFSET + i};
	assert_int_equal(native_resolve(fd, -1, true, functions, SYMBOLS, &names, NULL), -ENOSPC);
	assert_in_range(names.capacity, 0, 2 << 20);
	/* One of them is no trouble. */
	functions[0].offset = CODE_OFFSET + SYMBOLS - 1;
	buf_done(&names);
	names = (struct buf)BUF_INIT(1 << 20);
	assert_int_equal(native_resolve(fd, -1, true, functions, 1, &names, NULL), 0);
	assert_int_equal(strlen(names.data + functions[0].name), NAME - SYMBOLS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_functions_of_libc_are_where_the_linker_finds_them),
		cmocka_unit_test(our_own_functions_are_found_by_name),
		cmocka_unit_test(every_function_of_a_program_with_symbols_is_found),
		cmocka_unit_test(every_function_of_the_spin_program_is_found),
		cmocka_unit_test(a_stripped_program_is_cut_into_functions),
		cmocka_unit_test(real_files_with_changed_bytes_do_no_harm),
		cmocka_unit_test(names_that_overlap_make_no_giant_of_a_small_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
