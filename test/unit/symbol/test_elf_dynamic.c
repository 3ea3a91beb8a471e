// SPDX-License-Identifier: GPL-2.0-or-later
/* What the dynamic linker is told, by files that it loaded: this program and the C library. */
#include "unit/proc/elf_maker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>

#include "base/buf.h"
#include "base/file.h"
#include "elf/elf_dynamic.h"
#include "unit/symbol/look_up.h"

static void addresses_in_our_data_are_met(void **state);
static void symbols_are_found_without_section_headers(void **state);
static void broken_tags_do_no_harm(void **state);

/* The linker has to relocate these. */
static void (*volatile ours[])(void **) = {addresses_in_our_data_are_met,
					   symbols_are_found_without_section_headers,
					   broken_tags_do_no_harm};

struct met {
	uint64_t load;
	size_t found[ARRAY_SIZE(ours)];
};

static int meet(void *arg, uint64_t address)
{
	struct met *met = arg;

	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		met->found[i] += address + met->load == (uint64_t)(uintptr_t)ours[i];
	return 0;
}

static int find_load(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the program is the first */
}

static void addresses_in_our_data_are_met(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image image;
	struct met met = {0};

	(void)state;
	dl_iterate_phdr(find_load, &met.load);
	assert_int_equal(elf_read(fd, &image), 0);
	assert_int_equal(image.is_fixed, met.load == 0);
	assert_int_equal(elf_pointers_scan(fd, &image, meet, &met, 0), 0);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		assert_true(met.found[i] > 0);
	close(fd);
}

static void read_libc(struct buf *text)
{
	struct link_map *map = NULL;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	assert_non_null(libc);
	assert_int_equal(dlinfo(libc, RTLD_DI_LINKMAP, &map), 0);
	assert_int_equal(file_read(AT_FDCWD, map->l_name, text), 0);
	dlclose(libc);
}

static void symbols_are_found_without_section_headers(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20);
	struct elf_dynamic dynamic;
	struct elf_image whole, bare;

	(void)state;
	read_libc(&text);
	int fd = file_of(text.data, text.len);
	assert_int_equal(elf_read(fd, &whole), 0);
	Elf64_Ehdr *header = (void *)text.data;
	header->e_shoff = header->e_shnum = header->e_shstrndx = 0;
	_cleanup_program_ struct program program = {file_of(text.data, text.len), -1};
	assert_int_equal(elf_read(program.fd, &bare), 0);
	assert_false(bare.has_sections);
	assert_int_equal(elf_dynamic_read(program.fd, &bare, &dynamic), 0);
	assert_memory_equal(&dynamic.symbols, &whole.dynsym, sizeof(dynamic.symbols));

	/* and so names are */
	uint64_t found_at = 0;
	for (size_t i = 0; i < whole.segments_count && !found_at; i++)
		found_at = whole.segments[i].file_offset;
	struct looked_up before, after;
	struct program with = {fd, -1};
	size_t named = 0;
	for (uint64_t at = found_at; at < found_at + 0x80000; at += 0x1000) {
		assert_int_equal(look_up(&with, at, &before), 0);
		assert_int_equal(look_up(&program, at, &after), 0);
		assert_string_equal(after.name, before.name);
		named += before.name[0] != 0;
	}
	assert_true(named > 10);
	close(fd);
}

static int count_one(void *arg, uint64_t address)
{
	(void)address;
	++*(size_t *)arg;
	return 0;
}

static void broken_tags_do_no_harm(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64 << 20);
	struct elf_image image;
	uint64_t random = 3;

	(void)state;
	assert_int_equal(file_read(AT_FDCWD, "/bin/true", &text), 0);
	int good = file_of(text.data, text.len);
	assert_int_equal(elf_read(good, &image), 0);
	assert_true(image.dynamic.bytes > 0);
	for (int round = 0; round < 200; round++) {
		struct elf_dynamic dynamic;
		size_t count = 0;
		_cleanup_buf_ struct buf broken = BUF_INIT(64 << 20);

		buf_add(&broken, text.data, text.len);
		for (int i = 0; i < 4; i++)
			broken.data[image.dynamic.offset +
				    random_next(&random) % image.dynamic.bytes] =
				(char)random_next(&random);
		int fd = file_of(broken.data, broken.len);
		elf_dynamic_read(fd, &image, &dynamic);
		elf_pointers_scan(fd, &image, count_one, &count, 0);
		assert_true(count <= text.len * 8);
		close(fd);
	}
	close(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_in_our_data_are_met),
		cmocka_unit_test(symbols_are_found_without_section_headers),
		cmocka_unit_test(broken_tags_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
