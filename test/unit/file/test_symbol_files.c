// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include "file/symbol_file.h"

#define DEBUGGING "/usr/lib/debug"

static void look_at(const struct folder *folder, const char *name, struct stat *stat)
{
	assert_int_equal(fstatat(folder->fd, name, stat, 0), 0);
}

/* The file as one that is mapped again. */
static struct symbol_file *again(struct symbol_file *before, const struct stat *stat,
				 const char *debugging_dir)
{
	int fd = -1;

	return symbol_files_again(before, &fd, stat,
				  &(struct symbol_search){.debugging_dir = debugging_dir});
}

static void a_mapped_file_that_loses_its_name_is_the_same_file(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct symbol_files *files;
	struct stat before, after, other;
	const struct symbol_search search = {.debugging_dir = DEBUGGING};
	int fd = -1;

	(void)state;
	folder_make(&folder);
	folder_put(&folder, "lib.so", "one", 3);
	assert_int_equal(linkat(folder.fd, "lib.so", folder.fd, "held", 0), 0);
	look_at(&folder, "held", &before);
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	struct symbol_file *file = symbol_files_get(files, &fd, &before, "/lib.so", &search);
	assert_non_null(file);

	usleep(20000); /* the file system's clock is a coarse one */
	folder_put(&folder, "new.so", "two", 3);
	assert_int_equal(renameat(folder.fd, "new.so", folder.fd, "lib.so"), 0);
	look_at(&folder, "held", &after);
	look_at(&folder, "lib.so", &other);
	assert_true(after.st_ctim.tv_nsec != before.st_ctim.tv_nsec ||
		    after.st_ctim.tv_sec != before.st_ctim.tv_sec);
	struct symbol_file *same = again(file, &after, DEBUGGING);
	assert_ptr_equal(same, file);
	symbol_file_unref(same);
	assert_null(again(file, &other, DEBUGGING));
	assert_null(again(file, &after, "/elsewhere"));

	after.st_mtim.tv_nsec ^= 1;
	assert_null(again(file, &after, DEBUGGING));
	after.st_mtim.tv_nsec ^= 1;
	after.st_size++;
	assert_null(again(file, &after, DEBUGGING));
	struct symbol_file *nameless = symbol_file_nameless("/lib.so");
	assert_null(again(nameless, &before, DEBUGGING));
	symbol_file_unref(nameless);
	symbol_file_unref(file);
	symbol_files_free(files);
}

/* Each is told from the others, and reads its own names. */
static void where_and_for_whom_a_debug_file_is_looked_for_tells_two_of_the_same_file(void **state)
{
	struct stat stat, root_stat = {.st_ino = 2, .st_dev = 3};
	struct symbol_files *files;
	int root_fd = -1, fd = -1;

	(void)state;
	assert_int_equal(fstatat(AT_FDCWD, "/proc/self/exe", &stat, 0), 0);
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	struct symbol_root *root = symbol_root_new(&root_fd, &root_stat);
	const struct {
		const char *path;
		struct symbol_search search;
	} cases[] = {
		{"/lib/lib.so", {NULL, NULL, 0, 0}},
		{"/lib/lib.so", {root, NULL, 0, 0}},
		{"/lib/lib.so", {NULL, DEBUGGING, 0, 0}},
		{"/lib/lib.so", {NULL, NULL, job_of(7, 0), 0}},
		{"/home/lib.so", {NULL, NULL, 0, 0}},
	};
	struct symbol_file *got[ARRAY_SIZE(cases)];
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		got[i] = symbol_files_get(files, &fd, &stat, cases[i].path, &cases[i].search);
		assert_int_not_equal(symbol_file_where(got[i]), 0);
		for (size_t k = 0; k < i; k++) {
			assert_ptr_not_equal(got[i], got[k]);
			assert_int_not_equal(symbol_file_where(got[i]), symbol_file_where(got[k]));
		}
	}
	assert_null(symbol_files_again(got[0], &fd, &stat, &cases[3].search));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		symbol_file_unref(got[i]);
	symbol_root_unref(root);
	symbol_files_free(files);
}

static void reading_a_file_is_the_work_of_whoever_it_was_first_charged_to(void **state)
{
	_cleanup_folder_ struct folder folder;
	const struct symbol_place nowhere = {0};
	struct symbol_files *files;
	struct open_request opening;
	struct stat stat;
	int fd = -1;

	(void)state;
	folder_make(&folder);
	folder_put(&folder, "lib.so", "one", 3);
	look_at(&folder, "lib.so", &stat);
	assert_int_equal(symbol_files_new(&files, NULL), 0);
	struct symbol_file *file = symbol_files_get(files, &fd, &stat, "/lib.so",
						    &(struct symbol_search){.payer = job_of(7, 5)});
	struct symbol_file *same = symbol_files_get(files, &fd, &stat, "/lib.so",
						    &(struct symbol_search){.payer = job_of(8, 0)});
	assert_ptr_equal(file, same);
	assert_int_equal(symbol_file_opening(file, &nowhere, &opening), 0);
	assert_true(opening.whose == job_of(7, 5)); /* whatever its server says of its owner */
	assert_true(open_request_hung_file(&opening).whose == job_of(7, 5));
	open_request_done(&opening);
	symbol_file_unref(same);
	symbol_file_unref(file);
	symbol_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapped_file_that_loses_its_name_is_the_same_file),
		cmocka_unit_test(
			where_and_for_whom_a_debug_file_is_looked_for_tells_two_of_the_same_file),
		cmocka_unit_test(reading_a_file_is_the_work_of_whoever_it_was_first_charged_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
