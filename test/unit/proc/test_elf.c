// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <zlib.h>

#include "proc/elf.h"

static const struct symbol_plan symbols[] = {
	FUNCTION("main", 0x10, 0x20),
	FUNCTION("work", 0x40, 0x40),
};
static const uint32_t starts[] = {0x10, 0x40, 0x100};
static const struct elf_plan full = {
	.symbols = symbols,
	.symbols_count = ARRAY_SIZE(symbols),
	.dynamic = symbols,
	.dynamic_count = 1,
	.unwind = starts,
	.unwind_count = ARRAY_SIZE(starts),
	.build_id = "0123456789abcdefghij",
	.build_id_bytes = 20,
	.debuglink = "main.debug",
	.crc = 0x12345678,
};

static void check_full(const struct elf_image *image, bool wide)
{
	size_t each = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

	assert_int_equal(image->wide, wide);
	assert_int_equal(image->segments_count, 1);
	assert_int_equal(image->segments[0].file_offset, CODE_OFFSET);
	assert_int_equal(image->segments[0].file_bytes, CODE_BYTES);
	assert_int_equal(image->segments[0].address, CODE_ADDRESS);
	assert_int_equal(image->symtab.symbols.bytes, 3 * each);
	assert_int_equal(image->symtab.strings.bytes, 11);
	assert_int_equal(image->dynsym.symbols.bytes, 2 * each);
	assert_int_equal(image->eh_frame_hdr.bytes, 12 + 3 * 8);
	assert_int_equal(image->build_id_bytes, 20);
	assert_memory_equal(image->build_id, "0123456789abcdefghij", 20);
	assert_string_equal(image->debuglink, "main.debug");
	assert_int_equal(image->debuglink_crc, 0x12345678);
}

static void all_parts_are_found_in_both_classes(void **state)
{
	struct elf_image image;
	struct elf_plan plan = full;

	(void)state;
	_cleanup_close_ int fd = elf_file(&plan);
	assert_int_equal(elf_read(fd, &image), 0);
	check_full(&image, true);
	plan.narrow = true;
	_cleanup_close_ int narrow = elf_file(&plan);
	assert_int_equal(elf_read(narrow, &image), 0);
	check_full(&image, false);
}

static void what_is_no_elf_file_of_this_byte_order_is_refused(void **state)
{
	static struct elf_maker maker;
	struct elf_image image;
	size_t len = elf_make(&maker, &full);
	int folder = open("/", O_RDONLY), device = open("/dev/zero", O_RDONLY);

	(void)state;
	assert_int_equal(elf_read(folder, &image), -ENOEXEC);
	assert_int_equal(elf_read(device, &image), -ENOEXEC);
	close(folder);
	close(device);
	_cleanup_close_ int empty = file_of("", 0);
	assert_int_equal(elf_read(empty, &image), -ENOEXEC);
	_cleanup_close_ int script = file_of("#!/bin/sh\necho this is a script, not a program, and "
					     "long enough to have a header\n",
					     80);
	assert_int_equal(elf_read(script, &image), -ENOEXEC);
	maker.image[EI_DATA] = ELFDATA2MSB;
	_cleanup_close_ int big_endian = file_of(maker.image, len);
	assert_int_equal(elf_read(big_endian, &image), -ENOEXEC);
	assert_int_equal(elf_read(-1, &image), -EBADF);
}

/* Whatever is found in a file lies inside it. */
static void check_bounds(const struct elf_image *image)
{
	const struct elf_extent extents[] = {
		image->symtab.symbols, image->symtab.strings, image->dynsym.symbols,
		image->dynsym.strings, image->eh_frame_hdr,
	};

	for (size_t i = 0; i < ARRAY_SIZE(extents); i++)
		assert_true(extents[i].offset <= image->file_bytes &&
			    extents[i].bytes <= image->file_bytes - extents[i].offset);
	assert_true(image->segments_count <= ELF_SEGMENTS_MAX);
	for (size_t i = 0; i < image->segments_count; i++)
		assert_true(image->segments[i].file_bytes <= image->file_bytes);
	assert_true(image->build_id_bytes <= BUILD_ID_MAX);
	assert_true(strnlen(image->debuglink, sizeof(image->debuglink)) < sizeof(image->debuglink));
}

static void a_file_cut_anywhere_gives_an_error_or_less(void **state)
{
	static struct elf_maker maker;
	size_t len = elf_make(&maker, &full);
	struct elf_image image;

	(void)state;
	for (size_t cut = 0; cut < len; cut += cut < 0x100 || cut > 0x500 ? 1 : 64) {
		_cleanup_close_ int fd = file_of(maker.image, cut);
		int r = elf_read(fd, &image);

		assert_true(r == 0 || r == -ENOEXEC || r == -EBADMSG);
		if (r == 0)
			check_bounds(&image);
	}
}

static void headers_with_wild_numbers_do_no_harm(void **state)
{
	static const uint64_t wild[] = {0,	    1,
					0x7f,	    0xff,
					0xffff,	    0x7fffffff,
					0xffffffff, 0x7fffffffffffffff,
					UINT64_MAX, UINT64_MAX - 63};
	static struct elf_maker maker;
	size_t len = elf_make(&maker, &full);
	struct elf_image image;
	uint64_t random = 11;

	(void)state;
	for (int i = 0; i < 30000; i++) {
		unsigned char bytes[IMAGE_MAX];

		memcpy(bytes, maker.image, len);
		for (int change = 0; change < 1 + i % 3; change++) {
			uint64_t bits = random_next(&random);
			size_t at = bits % (len - 0x400);
			size_t width = (size_t)1 << (bits >> 60 & 3);

			at = at < 0x100 ? at : at + 0x400; /* not in the code */
			at &= ~(width - 1);
			memcpy(bytes + at, &wild[(bits >> 32) % ARRAY_SIZE(wild)],
			       width < len - at ? width : len - at);
		}
		_cleanup_close_ int fd = file_of(bytes, len);
		if (elf_read(fd, &image) == 0)
			check_bounds(&image);
	}
}

static void a_giant_count_of_sections_costs_nothing(void **state)
{
	static struct elf_maker maker;
	size_t len = elf_make(&maker, &full);
	struct elf_image image;
	Elf64_Ehdr header;
	Elf64_Shdr first;

	(void)state;
	memcpy(&header, maker.image, sizeof(header));
	header.e_shnum = 0; /* then the first section's size tells */
	memcpy(maker.image, &header, sizeof(header));
	memcpy(&first, maker.image + header.e_shoff, sizeof(first));
	first.sh_size = 0xfffffff0;
	memcpy(maker.image + header.e_shoff, &first, sizeof(first));
	_cleanup_close_ int fd = file_of(maker.image, len);
	assert_int_equal(elf_read(fd, &image), -EBADMSG);
	header.e_phnum = PN_XNUM;
	memcpy(maker.image, &header, sizeof(header));
	_cleanup_close_ int segments = file_of(maker.image, len);
	assert_int_equal(elf_read(segments, &image), -EBADMSG);
}

static uint64_t bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *io = fopen("/proc/self/io", "re");

	assert_non_null(io);
	assert_int_equal(fscanf(io, "rchar: %llu", &bytes), 1);
	fclose(io);
	return bytes;
}

/* A file of 2 GiB (sparse) with so many sections; each is a note of 64 KiB without a build id. */
static int file_of_notes(unsigned sections)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_shoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = (Elf64_Half)sections};
	const Elf64_Shdr section = {
		.sh_type = SHT_NOTE, .sh_offset = 1u << 30, .sh_size = 64 << 10};
	FILE *file = tmpfile();

	assert_non_null(file);
	fwrite(&header, sizeof(header), 1, file);
	for (unsigned i = 0; i < sections; i++)
		fwrite(&section, sizeof(section), 1, file);
	assert_int_equal(fflush(file), 0);
	int fd = dup(fileno(file));
	fclose(file);
	assert_int_equal(ftruncate(fd, 2u << 30), 0);
	return fd;
}

static void sections_without_end_are_refused_and_many_notes_are_not_all_read(void **state)
{
	struct elf_image image;
	uint64_t before;

	(void)state;
	_cleanup_close_ int many = file_of_notes(16384), more = file_of_notes(16385);
	before = bytes_read();
	assert_int_equal(elf_read(many, &image), 0);
	assert_true(image.has_sections && !image.build_id_bytes);
	assert_in_range(bytes_read() - before, 0, 4 << 20);
	assert_int_equal(elf_read(more, &image), -EBADMSG);
}

#define BOMB_BYTES (256u << 20)

/* Section names that are compressed 1000 to 1: 256 MiB from 256 KiB. */
static size_t make_bomb(unsigned char *file, size_t room)
{
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_EXEC,
			     .e_machine = EM_X86_64,
			     .e_version = EV_CURRENT,
			     .e_shoff = sizeof(header),
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3,
			     .e_shstrndx = 2};
	Elf64_Chdr compressed = {
		.ch_type = ELFCOMPRESS_ZLIB, .ch_size = BOMB_BYTES, .ch_addralign = 1};
	size_t at = sizeof(header) + 3 * sizeof(Elf64_Shdr);
	unsigned char *zeros = calloc(1, 1 << 20);
	z_stream stream = {.next_out = file + at + sizeof(compressed),
			   .avail_out = (uInt)(room - at - sizeof(compressed))};

	assert_non_null(zeros);
	assert_int_equal(deflateInit(&stream, 9), Z_OK);
	for (unsigned i = 0; i < BOMB_BYTES >> 20; i++) {
		stream.next_in = zeros;
		stream.avail_in = 1 << 20;
		deflate(&stream, Z_NO_FLUSH);
	}
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	size_t bytes = sizeof(compressed) + stream.total_out;
	deflateEnd(&stream);
	free(zeros);
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1000, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = 16},
		{.sh_name = 1,
		 .sh_type = SHT_STRTAB,
		 .sh_flags = SHF_COMPRESSED,
		 .sh_offset = at,
		 .sh_size = bytes},
	};
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), sections, sizeof(sections));
	memcpy(file + at, &compressed, sizeof(compressed));
	return at + bytes;
}

static void compressed_section_names_are_no_bomb(void **state)
{
	static unsigned char file[1 << 20];
	size_t bytes = make_bomb(file, sizeof(file));
	struct elf_image image;
	struct rusage before, after;

	(void)state;
	_cleanup_close_ int fd = file_of(file, bytes);
	getrusage(RUSAGE_SELF, &before);
	int r = elf_read(fd, &image);
	getrusage(RUSAGE_SELF, &after);
	assert_true(r == 0 || r == -EBADMSG);
	assert_in_range(after.ru_maxrss - before.ru_maxrss, 0, 32 * 1024); /* KiB */
}

static void build_ids_of_any_shape_are_bounded(void **state)
{
	static char long_id[80];
	static const size_t lengths[] = {1, 8, 16, 20, 32, 64, 65, 80};

	(void)state;
	memset(long_id, 'i', sizeof(long_id));
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct elf_plan plan = {.build_id = long_id, .build_id_bytes = lengths[i]};
		struct elf_image image;
		_cleanup_close_ int fd = elf_file(&plan);

		assert_int_equal(elf_read(fd, &image), 0);
		assert_int_equal(image.build_id_bytes, lengths[i] <= BUILD_ID_MAX ? lengths[i] : 0);
	}
}

static void a_debuglink_with_a_path_is_no_debuglink(void **state)
{
	static const char *const links[] = {"../../etc/shadow", "/etc/shadow", "a/b", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		struct elf_plan plan = {.debuglink = links[i]};
		struct elf_image image;
		_cleanup_close_ int fd = elf_file(&plan);

		assert_int_equal(elf_read(fd, &image), 0);
		assert_string_equal(image.debuglink, "");
	}
}

static void file_offsets_become_linked_addresses(void **state)
{
	static const struct elf_segment segments[] = {{0x1000, 0x500, 0x401000},
						      {0x3000, 0x10, 0x700000}};
	uint64_t address = 1;

	(void)state;
	assert_true(elf_address_of(segments, 2, 0x1000, &address) && address == 0x401000);
	assert_true(elf_address_of(segments, 2, 0x14ff, &address) && address == 0x4014ff);
	assert_true(elf_address_of(segments, 2, 0x300f, &address) && address == 0x70000f);
	assert_false(elf_address_of(segments, 2, 0xfff, &address));
	assert_false(elf_address_of(segments, 2, 0x1500, &address));
	assert_false(elf_address_of(segments, 2, UINT64_MAX, &address));
	assert_false(elf_address_of(segments, 0, 0x1000, &address));
}

static void linked_addresses_become_file_offsets_in_any_segment(void **state)
{
	static const struct elf_image image = {
		.segments = {{0x1000, 0x500, 0x401000}, {0x3000, 0x10, 0x700000}},
		.segments_count = 2,
		.data = {{0x5000, 0x20, 0x600000}, {0x9000, 0x20, 0x401400}},
		.data_count = 2,
	};
	static const struct elf_image none = {.segments = {{0x1000, 0x500, 0x401000}},
					      .data = {{0x5000, 0x20, 0x600000}}};
	uint64_t offset = 1;

	(void)state;
	assert_true(elf_offset_of(&image, 0x401000, &offset) && offset == 0x1000);
	assert_true(elf_offset_of(&image, 0x4014ff, &offset) && offset == 0x14ff);
	assert_true(elf_offset_of(&image, 0x70000f, &offset) && offset == 0x300f);
	assert_true(elf_offset_of(&image, 0x600000, &offset) && offset == 0x5000);
	assert_true(elf_offset_of(&image, 0x60001f, &offset) && offset == 0x501f);
	/* where segments overlap, the code's counts */
	assert_true(elf_offset_of(&image, 0x401400, &offset) && offset == 0x1400);
	offset = 1;
	assert_false(elf_offset_of(&image, 0x400fff, &offset));
	assert_false(elf_offset_of(&image, 0x401500, &offset));
	assert_false(elf_offset_of(&image, 0x600020, &offset));
	assert_false(elf_offset_of(&image, 0, &offset));
	assert_false(elf_offset_of(&image, UINT64_MAX, &offset));
	assert_false(elf_offset_of(&none, 0x401000, &offset));
	assert_false(elf_offset_of(&none, 0x600000, &offset));
	assert_int_equal(offset, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_are_found_in_both_classes),
		cmocka_unit_test(what_is_no_elf_file_of_this_byte_order_is_refused),
		cmocka_unit_test(a_file_cut_anywhere_gives_an_error_or_less),
		cmocka_unit_test(headers_with_wild_numbers_do_no_harm),
		cmocka_unit_test(a_giant_count_of_sections_costs_nothing),
		cmocka_unit_test(sections_without_end_are_refused_and_many_notes_are_not_all_read),
		cmocka_unit_test(compressed_section_names_are_no_bomb),
		cmocka_unit_test(build_ids_of_any_shape_are_bounded),
		cmocka_unit_test(a_debuglink_with_a_path_is_no_debuglink),
		cmocka_unit_test(file_offsets_become_linked_addresses),
		cmocka_unit_test(linked_addresses_become_file_offsets_in_any_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
