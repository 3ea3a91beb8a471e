// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "mappings/address_space.h"

/* Files by letter; a test holds one reference to each. */
static struct symbol_file *files[26];

static struct symbol_file *file_of(char letter)
{
	char path[8] = {'/', letter, '\0'};

	if (letter == '-')
		return NULL;
	if (!files[letter - 'a'])
		files[letter - 'a'] = symbol_file_nameless(path);
	return symbol_file_ref(files[letter - 'a']);
}

static int forget_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		symbol_file_unref(files[i]);
		files[i] = NULL;
	}
	return 0;
}

struct region {
	uint64_t start, end, offset;
	char file; /* '-': none */
};

/* The maps as they were read at a time. */
static void read_at(struct address_space *space, uint64_t ns, const struct region *regions,
		    size_t count)
{
	struct mapping mappings[8] = {0};
	struct symbol_file *opened[8];
	struct maps maps = {.mappings = mappings, .count = count, .exec_pages = (uint32_t)ns};

	for (size_t i = 0; i < count; i++) {
		mappings[i] = (struct mapping){.start = regions[i].start,
					       .end = regions[i].end,
					       .file_offset = regions[i].offset,
					       .kind = regions[i].file == '-' ? MAPPING_JIT
									      : MAPPING_FILE};
		opened[i] = file_of(regions[i].file);
	}
	assert_int_equal(address_space_update(space, &maps, opened, ns), 0);
}
#define READ_AT(space, ns, ...)                                                                    \
	read_at(space, ns, (const struct region[]){__VA_ARGS__},                                   \
		ARRAY_SIZE(((const struct region[]){__VA_ARGS__})))

static void assert_in(const struct address_space *space, uint64_t address, uint64_t ns, char file,
		      uint64_t offset)
{
	struct code code = {0};

	assert_int_equal(address_space_find(space, address, ns, &code), 0);
	assert_int_equal(code.place, file == '-' ? CODE_JIT : CODE_FILE);
	assert_ptr_equal(code.file, file == '-' ? NULL : files[file - 'a']);
	if (file != '-')
		assert_int_equal(code.address, offset);
}

static void assert_not_in(const struct address_space *space, uint64_t address, uint64_t ns,
			  int error)
{
	struct code code = {.address = 77};

	assert_int_equal(address_space_find(space, address, ns, &code), error);
	assert_int_equal(code.address, 77);
}

static void free_space(struct address_space **space)
{
	address_space_free(*space);
}
#define _cleanup_space_ _cleanup_(free_space)

static struct address_space *new_space(void)
{
	struct address_space *space;

	assert_int_equal(address_space_new(&space), 0);
	return space;
}

static void an_address_becomes_an_offset_in_its_file(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	assert_not_in(space, 0x1000, 5, -ENOENT);
	READ_AT(space, 10, {0x1000, 0x2000, 0x500, 'a'}, {0x2000, 0x3000, 0, 'b'},
		{0x5000, 0x6000, 0, '-'});
	assert_in(space, 0x1000, 20, 'a', 0x500);
	assert_in(space, 0x1fff, 20, 'a', 0x14ff);
	assert_in(space, 0x2000, 20, 'b', 0);
	assert_in(space, 0x5fff, 20, '-', 0);
	assert_not_in(space, 0xfff, 20, -ENOENT);
	assert_not_in(space, 0x3000, 20, -ENOENT);
	assert_not_in(space, UINT64_MAX, 20, -ENOENT);
	/* What the first reading found may have been there from the start. */
	assert_in(space, 0x1000, 1, 'a', 0x500);
	assert_int_equal(address_space_read_ns(space), 10);
	assert_int_equal(address_space_exec_pages(space), 10);
}

static void a_mapping_that_stays_is_known_at_all_times(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	for (uint64_t ns = 10; ns <= 50; ns += 10)
		READ_AT(space, ns, {0x1000, 0x2000, 0, 'a'});
	for (uint64_t ns = 0; ns <= 60; ns++)
		assert_in(space, 0x1234, ns, 'a', 0x234);
}

static void a_mapping_that_came_may_have_come_since_the_reading_before(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'});
	READ_AT(space, 20, {0x1000, 0x2000, 0, 'a'}, {0x3000, 0x4000, 0, 'b'});
	assert_not_in(space, 0x3000, 9, -ENOENT);
	assert_in(space, 0x3000, 10, 'b', 0);
	assert_in(space, 0x3000, 25, 'b', 0);
	assert_in(space, 0x1000, 5, 'a', 0);
}

static void a_mapping_that_went_is_known_until_the_reading_that_missed_it(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'}, {0x3000, 0x4000, 0, 'b'});
	READ_AT(space, 20, {0x1000, 0x2000, 0, 'a'});
	assert_in(space, 0x3000, 5, 'b', 0);
	assert_in(space, 0x3000, 19, 'b', 0);
	assert_not_in(space, 0x3000, 20, -ENOENT);
	assert_in(space, 0x1000, 20, 'a', 0);
}

static void between_two_readings_a_replaced_mapping_has_two_answers(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'});
	READ_AT(space, 20, {0x1000, 0x2000, 0, 'b'});
	assert_in(space, 0x1000, 9, 'a', 0);
	assert_not_in(space, 0x1000, 10, -EAGAIN);
	assert_not_in(space, 0x1000, 19, -EAGAIN);
	assert_in(space, 0x1000, 20, 'b', 0);
	READ_AT(space, 30, {0x1000, 0x2000, 0x100, 'b'}); /* another offset is another mapping */
	assert_not_in(space, 0x1000, 25, -EAGAIN);
	assert_in(space, 0x1000, 30, 'b', 0x100);
	assert_not_in(space, 0x1000, 15, -EAGAIN);
	READ_AT(space, 40, {0x1000, 0x2000, 0, '-'});
	assert_not_in(space, 0x1000, 35, -EAGAIN);
	assert_in(space, 0x1000, 41, '-', 0);
}

static void a_mapping_that_went_and_came_back_has_no_answer_between(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'}, {0x9000, 0xa000, 0, 'z'});
	READ_AT(space, 20, {0x9000, 0xa000, 0, 'z'});
	READ_AT(space, 30, {0x9000, 0xa000, 0, 'z'});
	READ_AT(space, 40, {0x1000, 0x2000, 0, 'c'}, {0x9000, 0xa000, 0, 'z'});
	assert_in(space, 0x1000, 15, 'a', 0);
	assert_not_in(space, 0x1000, 25, -ENOENT);
	assert_in(space, 0x1000, 35, 'c', 0);
}

static void a_mapping_that_grew_has_still_one_answer(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0x400, 'a'}, {0x8000, 0x9000, 0, '-'});
	READ_AT(space, 20, {0x1000, 0x3000, 0x400, 'a'}, {0x8000, 0xa000, 0, '-'});
	assert_in(space, 0x1800, 5, 'a', 0xc00);
	assert_in(space, 0x1800, 25, 'a', 0xc00);
	/* Both say the same file and offset. */
	assert_in(space, 0x1800, 15, 'a', 0xc00);
	assert_in(space, 0x8800, 15, '-', 0);
}

static void what_went_before_a_time_is_forgotten(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'});
	READ_AT(space, 20, {0x3000, 0x4000, 0, 'b'});
	READ_AT(space, 30, {0x5000, 0x6000, 0, 'c'});
	address_space_forget(space, 20);
	assert_in(space, 0x1000, 15, 'a', 0);
	address_space_forget(space, 25);
	assert_not_in(space, 0x1000, 15, -ENOENT);
	assert_in(space, 0x3000, 15, 'b', 0);
	address_space_forget(space, UINT64_MAX);
	assert_not_in(space, 0x3000, 15, -ENOENT);
	assert_in(space, 0x5000, 35, 'c', 0);
}

static void a_copy_has_what_is_there_now(void **state)
{
	_cleanup_space_ struct address_space *space = new_space(), *copy = NULL;

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'}, {0x3000, 0x4000, 0, '-'});
	READ_AT(space, 20, {0x1000, 0x2000, 0, 'a'}, {0x3000, 0x4000, 0, '-'},
		{0x5000, 0x6000, 0, 'e'});
	assert_int_equal(address_space_copy(&copy, space), 0);
	assert_in(copy, 0x1000, 30, 'a', 0);
	assert_in(copy, 0x3000, 30, '-', 0);
	assert_int_equal(address_space_read_ns(copy), 20);
	READ_AT(space, 40, {0x7000, 0x8000, 0, 'f'});
	assert_in(copy, 0x1000, 50, 'a', 0);
	address_space_free(NULL);
}

static void a_mapping_that_is_there_has_its_file(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	READ_AT(space, 10, {0x1000, 0x2000, 0x500, 'a'}, {0x3000, 0x4000, 0, '-'});
	READ_AT(space, 20, {0x1000, 0x2800, 0x500, 'a'}, {0x3000, 0x4000, 0, '-'});
	assert_ptr_equal(address_space_file_at(space, 0x1000, 0x500), files['a' - 'a']);
	assert_null(address_space_file_at(space, 0x1000, 0));
	assert_null(address_space_file_at(space, 0x1800, 0x500));
	assert_null(address_space_file_at(space, 0x3000, 0));
	READ_AT(space, 30, {0x3000, 0x4000, 0, '-'});
	assert_null(address_space_file_at(space, 0x1000, 0x500));
}

static void many_changes_are_bounded_and_keep_their_files(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	for (uint64_t i = 1; i <= 6000; i++)
		READ_AT(space, i * 10, {0x1000, 0x2000, i, 'a'}, {0x3000, 0x4000, i, 'b'});
	assert_in(space, 0x1000, 60005, 'a', 6000);
	assert_in(space, 0x1000, 5, 'a', 1);
	address_space_forget(space, UINT64_MAX);
	assert_not_in(space, 0x1000, 5, -ENOENT);
}

static void what_it_takes_is_known_until_it_is_forgotten(void **state)
{
	_cleanup_space_ struct address_space *space = new_space(), *copy = NULL;

	(void)state;
	assert_int_equal(address_space_bytes(space), 0);
	READ_AT(space, 10, {0x1000, 0x2000, 0, 'a'}, {0x2000, 0x3000, 0, 'b'});
	address_space_set_paths(space, 1000);
	assert_int_equal(address_space_bytes(space), address_space_bytes_of(2) + 1000);
	assert_int_equal(address_space_copy(&copy, space), 0);
	assert_int_equal(address_space_bytes(copy), address_space_bytes_of(2));
	READ_AT(space, 20, {0x1000, 0x2000, 0, 'a'});
	address_space_set_paths(space, 600);
	assert_int_equal(address_space_bytes(space), address_space_bytes_of(2) + 1600);
	address_space_forget(space, 30);
	assert_int_equal(address_space_bytes(space), address_space_bytes_of(1) + 600);
}

static void tell(struct address_space *space, uint64_t start, uint64_t end, uint64_t offset,
		 char file)
{
	struct region_view told = {start, end, offset, MAPPING_FILE, file_of(file)};

	address_space_tell(space, &told);
	symbol_file_unref(told.file);
}

static void what_was_told_counts_until_the_maps_are_read(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	tell(space, 0x5000, 0x6000, 0x1000, 'b');
	tell(space, 0x1000, 0x2000, 0, 'a');
	tell(space, 0x1800, 0x2800, 0, 'b');
	tell(space, 0x1000, 0x2000, 0, 'a'); /* takes the place of that one */
	tell(space, 0x5000, 0x6000, 0x1000, 'b');
	assert_int_equal(address_space_read_ns(space), 0);
	assert_in(space, 0x1900, 10, 'a', 0x900);
	assert_in(space, 0x5100, 99, 'b', 0x1100);
	assert_not_in(space, 0x2100, 10, -ENOENT);
	READ_AT(space, 20, {0x1000, 0x3000, 0, 'c'});
	assert_in(space, 0x1900, 10, 'c', 0x900);
	assert_not_in(space, 0x5100, 10, -ENOENT);
	tell(space, 0x5000, 0x6000, 0x1000, 'b');
	assert_in(space, 0x5100, 30, 'b', 0x1100);
	assert_not_in(space, 0x5100, 10, -ENOENT); /* it wasn't there at the reading */
	READ_AT(space, 40, {0x1000, 0x3000, 0, 'c'}, {0x5000, 0x6000, 0x1000, 'd'});
	assert_in(space, 0x5100, 30, 'd', 0x1100); /* another name of the same file */
}

static void not_more_is_told_than_there_is_room_for(void **state)
{
	_cleanup_space_ struct address_space *space = new_space();

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		tell(space, i * 0x1000, (i + 1) * 0x1000, 0, 'a');
	assert_int_equal(address_space_bytes(space), address_space_bytes_of(64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_becomes_an_offset_in_its_file),
		cmocka_unit_test(a_mapping_that_stays_is_known_at_all_times),
		cmocka_unit_test(a_mapping_that_came_may_have_come_since_the_reading_before),
		cmocka_unit_test(a_mapping_that_went_is_known_until_the_reading_that_missed_it),
		cmocka_unit_test(between_two_readings_a_replaced_mapping_has_two_answers),
		cmocka_unit_test(a_mapping_that_went_and_came_back_has_no_answer_between),
		cmocka_unit_test(a_mapping_that_grew_has_still_one_answer),
		cmocka_unit_test(what_went_before_a_time_is_forgotten),
		cmocka_unit_test(a_copy_has_what_is_there_now),
		cmocka_unit_test(a_mapping_that_is_there_has_its_file),
		cmocka_unit_test(many_changes_are_bounded_and_keep_their_files),
		cmocka_unit_test(what_it_takes_is_known_until_it_is_forgotten),
		cmocka_unit_test(what_was_told_counts_until_the_maps_are_read),
		cmocka_unit_test(not_more_is_told_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, forget_files);
}
