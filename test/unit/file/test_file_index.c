// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "file/file_index.h"
#include "file/registry_parts.h"

#define MANY 1000

/* A file as it is after it was read: where its code is comes of its number, the rest is given. */
struct known_file {
	const char *path, *build_id;
	unsigned number;
};

static struct symbol_file *add(struct symbol_files *files, const struct known_file *known)
{
	struct stat stat = {.st_ino = known->number + 1, .st_size = 4096};
	size_t id_len = strlen(known->build_id);
	int fd = -1;
	struct symbol_file *file = symbol_files_get(files, &fd, &stat, known->path,
						    &(struct symbol_search){.payer = job_of(0, 0)});

	assert_non_null(file);
	if (!file->code) {
		file->code = calloc(1, sizeof(*file->code) + sizeof(struct elf_segment));
		assert_non_null(file->code);
		memcpy(file->code->build_id, known->build_id, id_len);
		file->code->build_id_bytes = id_len;
		file->code->segments_count = 1;
		file->code->segments[0] = (struct elf_segment){
			.address = 0x1000, .file_offset = 0x1000, .file_bytes = 0x2000};
	}
	symbol_file_unref(file); /* the registry has one */
	return file;
}

static struct symbol_file *find(const struct symbol_files *files, const char *path,
				const char *build_id, uint64_t to)
{
	struct module module = {.path = path,
				.path_len = strlen(path),
				.build_id = (const uint8_t *)build_id,
				.build_id_len = strlen(build_id),
				.from = 0x1000,
				.to = to,
				.file_offset = 0x1000};
	struct file_index index;

	assert_int_equal(file_index_make(&index, files), 0);
	struct symbol_file *found = file_index_find(&index, &module);
	file_index_done(&index);
	return found;
}

static void path_build_and_segment_tell_which_file_it_is(void **state)
{
	struct symbol_files *files;

	(void)state;
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	assert_null(find(files, "/lib.so", "one", 0x3000));
	struct symbol_file *one = add(files, &(struct known_file){"/lib.so", "one", 1});
	struct symbol_file *two = add(files, &(struct known_file){"/lib.so", "two", 2});
	struct symbol_file *other = add(files, &(struct known_file){"/other.so", "one", 3});

	assert_ptr_equal(find(files, "/lib.so", "one", 0x3000), one);
	assert_ptr_equal(find(files, "/lib.so", "two", 0x3000), two);
	assert_ptr_equal(find(files, "/other.so", "one", 0x3000), other);
	assert_null(find(files, "/lib.so", "one", 0x3001));
	assert_null(find(files, "/lib.so", "on", 0x3000));
	assert_null(find(files, "/lib.so", "", 0x3000));
	assert_null(find(files, "/lib.s", "one", 0x3000));
	symbol_files_free(files);
}

static void of_two_with_one_build_id_the_last_used_is_it_and_without_one_none(void **state)
{
	struct symbol_files *files;

	(void)state;
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	struct symbol_file *first = add(files, &(struct known_file){"/lib.so", "one", 1});
	struct symbol_file *second = add(files, &(struct known_file){"/lib.so", "one", 2});
	struct symbol_file *nameless = add(files, &(struct known_file){"/bare", "", 3});

	assert_ptr_equal(find(files, "/lib.so", "one", 0x3000), second);
	add(files, &(struct known_file){"/lib.so", "one", 1});
	assert_ptr_equal(find(files, "/lib.so", "one", 0x3000), first);
	assert_ptr_equal(find(files, "/bare", "", 0x3000), nameless);
	add(files, &(struct known_file){"/bare", "", 4});
	assert_null(find(files, "/bare", "", 0x3000));
	symbol_files_free(files);
}

static void each_of_a_thousand_is_found(void **state)
{
	struct symbol_file *all[MANY];
	struct symbol_files *files;
	char path[32];

	(void)state;
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/lib%u.so", i);
		all[i] = add(files, &(struct known_file){path, i % 2 ? "odd" : "even", i});
	}
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "/lib%u.so", i);
		assert_ptr_equal(find(files, path, i % 2 ? "odd" : "even", 0x3000), all[i]);
		assert_null(find(files, path, i % 2 ? "even" : "odd", 0x3000));
	}
	symbol_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_build_and_segment_tell_which_file_it_is),
		cmocka_unit_test(of_two_with_one_build_id_the_last_used_is_it_and_without_one_none),
		cmocka_unit_test(each_of_a_thousand_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
