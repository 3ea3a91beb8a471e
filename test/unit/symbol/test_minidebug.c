// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"

#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>

#include "unit/symbol/look_up.h"
#include "elf/minidebug.h"

#define PACKED_MAX (1 << 20)

static const struct symbol_plan full[] = {FUNCTION("hidden", 0x10, 0x20),
					  FUNCTION("exported", 0x40, 0x20)};

/* Packs as xz does. */
static size_t pack(const void *data, size_t bytes, uint32_t preset, uint8_t *packed)
{
	size_t len = 0;

	assert_int_equal(lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, NULL, data, bytes,
						 packed, &len, PACKED_MAX),
			 LZMA_OK);
	return len;
}

/* A stripped file that has `packed` in it, and the open file. */
static struct program stripped_with(const void *packed, size_t bytes)
{
	struct section_plan section = {".gnu_debugdata", packed, bytes};
	struct elf_plan plan = {
		.dynamic = full + 1, .dynamic_count = 1, .sections = &section, .sections_count = 1};

	return (struct program){elf_file(&plan), -1};
}

static size_t pack_debug_file(uint8_t *packed)
{
	struct elf_plan plan = {.symbols = full, .symbols_count = 2, .no_code = true};
	_cleanup_free_ struct elf_maker *maker = malloc(sizeof(*maker));

	assert_non_null(maker);
	size_t bytes = elf_make(maker, &plan);
	return pack(maker->image, bytes, 6, packed);
}

static int open_mini(const struct program *program)
{
	struct elf_image image;

	assert_int_equal(elf_read(program->fd, &image), 0);
	return minidebug_open(program->fd, &image);
}

static void the_debug_file_inside_the_file_has_its_names(void **state)
{
	static uint8_t packed[PACKED_MAX];
	_cleanup_program_ struct program program = stripped_with(packed, pack_debug_file(packed));
	struct looked_up found;

	(void)state;
	assert_int_equal(look_up(&program, CODE_OFFSET + 0x15, &found), 0);
	assert_string_equal(found.name, "hidden");
	assert_int_equal(look_up(&program, CODE_OFFSET + 0x45, &found), 0);
	assert_string_equal(found.name, "exported");
}

static void a_separate_debug_file_is_taken_before_it(void **state)
{
	static const struct symbol_plan better[] = {FUNCTION("better", 0x10, 0x20)};
	static uint8_t packed[PACKED_MAX];
	struct elf_plan debug = {.symbols = better, .symbols_count = 1, .no_code = true};
	_cleanup_program_ struct program program = stripped_with(packed, pack_debug_file(packed));
	struct looked_up found;

	(void)state;
	program.debug_fd = elf_file(&debug);
	assert_int_equal(look_up(&program, CODE_OFFSET + 0x15, &found), 0);
	assert_string_equal(found.name, "better");
}

static void a_broken_one_costs_its_names_only(void **state)
{
	static uint8_t packed[PACKED_MAX];
	size_t bytes = pack_debug_file(packed);
	struct looked_up found;
	int r = 0;

	(void)state;
	for (size_t cut = 0; cut < bytes; cut += 7) {
		_cleanup_program_ struct program program = stripped_with(packed, bytes - 1 - cut);
		assert_int_equal(look_up(&program, CODE_OFFSET + 0x45, &found), 0);
		assert_string_equal(found.name, "exported");
		assert_int_equal(look_up(&program, CODE_OFFSET + 0x15, &found), 0);
		assert_string_equal(found.name, "");
		r = open_mini(&program);
		assert_int_equal(r, cut < bytes - 1 ? -EBADMSG : -ENOENT);
	}
	packed[bytes / 2] ^= 0x55;
	_cleanup_program_ struct program program = stripped_with(packed, bytes);
	assert_int_equal(open_mini(&program), -EBADMSG);
}

static void one_that_would_take_too_much_memory_is_refused(void **state)
{
	static uint8_t packed[PACKED_MAX];
	size_t bytes = (64 << 20) + 1;
	_cleanup_free_ char *zeroes = calloc(1, bytes);

	(void)state;
	assert_non_null(zeroes);
	_cleanup_program_ struct program bomb =
		stripped_with(packed, pack(zeroes, bytes, 1, packed));
	assert_int_equal(open_mini(&bomb), -EFBIG);
	_cleanup_program_ struct program greedy =
		stripped_with(packed, pack(zeroes, 1000, 9, packed));
	assert_int_equal(open_mini(&greedy), -EFBIG);
	_cleanup_program_ struct program modest =
		stripped_with(packed, pack(zeroes, 1000, 6, packed));
	_cleanup_close_ int fd = open_mini(&modest);
	struct stat stat;
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_size, 1000);
}

/* build/test/programs/thirds_mini is thirds as Fedora would build it. */
static void a_program_has_the_same_names_as_before_it_was_stripped(void **state)
{
	_cleanup_program_ struct program with = {open("build/test/programs/thirds", O_RDONLY), -1};
	_cleanup_program_ struct program mini = {open("build/test/programs/thirds_mini", O_RDONLY),
						 -1};
	unsigned same = 0, named = 0;
	struct elf_image image;

	(void)state;
	if (with.fd < 0 || mini.fd < 0) {
		print_message("build/test/programs/thirds_mini is not built\n");
		skip();
	}
	assert_int_equal(elf_read(mini.fd, &image), 0);
	assert_int_equal(image.symtab.symbols.bytes, 0);
	assert_true(image.segments_count > 0);
	const struct elf_segment *code = &image.segments[0];
	for (uint64_t at = 0; at < code->file_bytes; at += 8) {
		struct looked_up before = {0}, after = {0};

		assert_int_equal(look_up(&with, code->file_offset + at, &before), 0);
		assert_int_equal(look_up(&mini, code->file_offset + at, &after), 0);
		assert_string_equal(after.name, before.name);
		named += before.name[0] != '\0';
		same += strcmp(before.name, "sixty") == 0;
	}
	assert_true(named > 50);
	assert_true(same > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_debug_file_inside_the_file_has_its_names),
		cmocka_unit_test(a_separate_debug_file_is_taken_before_it),
		cmocka_unit_test(a_broken_one_costs_its_names_only),
		cmocka_unit_test(one_that_would_take_too_much_memory_is_refused),
		cmocka_unit_test(a_program_has_the_same_names_as_before_it_was_stripped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
