// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include "base/cleanup.h"
#include "profile/folder_list.h"

static void add(struct folder_list *list, const char *path, bool folded, size_t found)
{
	_cleanup_free_ char *forgotten = NULL;

	assert_true(folder_list_add(list, path, folded, found, &forgotten) >= 0);
	assert_null(forgotten);
}

static void it_survives_a_restart(void **state)
{
	_cleanup_folder_ struct folder folder;
	_cleanup_(folder_list_done) struct folder_list list = {.state_dir = folder.path},
						       fresh = list;
	struct stat stat;

	(void)state;
	folder_make(&folder);
	assert_int_equal(folder_list_read(&fresh), -ENOENT);
	add(&list, "/tmp/a b/c", false, 5);
	add(&list, "/tmp/flame", true, 10);
	add(&list, "/tmp/a b/c", true, 10);
	assert_int_equal(folder_list_write(&list), 0);
	assert_int_equal(fstatat(folder.fd, "folders", &stat, 0), 0);
	assert_int_equal(stat.st_mode & 07777, 0600);
	assert_int_equal(folder_list_read(&fresh), 0);
	assert_int_equal(fresh.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(fresh.rows[i].path, list.rows[i].path);
		assert_int_equal(fresh.rows[i].folded, list.rows[i].folded);
		assert_int_equal(fresh.rows[i].found, list.rows[i].found);
	}
}

static void a_folder_is_in_it_once_and_the_one_unused_for_longest_goes(void **state)
{
	_cleanup_(folder_list_done) struct folder_list list = {0};
	_cleanup_free_ char *forgotten = NULL;
	char path[32];

	(void)state;
	for (int i = 0; i < FOLDER_LIST_MAX; i++) {
		snprintf(path, sizeof(path), "/tmp/%d", i);
		assert_int_equal(folder_list_add(&list, path, false, 5, &forgotten), 1);
		assert_int_equal(folder_list_add(&list, path, false, 5, &forgotten), 0);
		assert_null(forgotten);
	}
	/* The first one is still in use. */
	assert_int_equal(folder_list_add(&list, "/tmp/0", false, 5, &forgotten), 0);
	assert_int_equal(folder_list_add(&list, "/tmp/0", true, 6, &forgotten), 1);
	assert_string_equal(forgotten, "/tmp/1");
	assert_int_equal(list.count, FOLDER_LIST_MAX);
	assert_string_equal(list.rows[0].path, "/tmp/2");
	assert_string_equal(list.rows[FOLDER_LIST_MAX - 2].path, "/tmp/0");
	assert_string_equal(list.rows[FOLDER_LIST_MAX - 1].path, "/tmp/0");
	folder_list_remove(&list, 0);
	assert_string_equal(list.rows[0].path, "/tmp/3");
	assert_int_equal(list.count, FOLDER_LIST_MAX - 1);
}

/* /tmp/a was made for the first one, and is above the second, which was written to later. */
static void what_was_made_for_one_is_known_of_those_below_it(void **state)
{
	_cleanup_(folder_list_done) struct folder_list list = {0};
	size_t all = strlen("/tmp/a/flame");

	(void)state;
	add(&list, "/tmp/a/svg/x", false, strlen("/tmp/a/svg/x"));
	add(&list, "/tmp/a/flame", true, all);
	add(&list, "/tmp/mine/svg", false, strlen("/tmp/mine/"));
	add(&list, "/tmp/a/svg/x", false, strlen("/tmp/"));
	assert_int_equal(list.rows[0].found, all); /* nothing was made of it so far */
	add(&list, "/tmp/a/flame", true, strlen("/tmp/a/"));
	assert_int_equal(list.rows[0].found, strlen("/tmp/mine/"));
	assert_int_equal(list.rows[1].found, strlen("/tmp/"));
	assert_int_equal(list.rows[2].found, strlen("/tmp/"));
}

static void what_is_not_ours_or_damaged_is_not_taken(void **state)
{
	static const char *const damaged[] = {
		"svg 1 relative\n", "svg 99 /tmp/a\n", "bin 1 /tmp/a\n",
		"svg /tmp/a\n",	    "svg 1 /tmp/a",    "\n",
		"svg -1 /tmp/a\n",
	};
	_cleanup_folder_ struct folder folder;
	_cleanup_(folder_list_done) struct folder_list list = {.state_dir = folder.path};
	char many[8192] = "";

	(void)state;
	folder_make(&folder);
	for (size_t i = 0; i < ARRAY_SIZE(damaged); i++) {
		folder_put(&folder, "folders", damaged[i], strlen(damaged[i]));
		assert_int_equal(folder_list_read(&list), -EINVAL);
		assert_int_equal(list.count, 0);
	}
	for (int i = 0; i <= FOLDER_LIST_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "svg 1 /tmp/%d\n", i);
	folder_put(&folder, "folders", many, strlen(many));
	assert_int_equal(folder_list_read(&list), -EINVAL);
	assert_int_equal(list.count, FOLDER_LIST_MAX);
	folder_list_done(&list);
	assert_int_equal(fchmodat(folder.fd, "folders", 0666, 0), 0);
	assert_int_equal(folder_list_read(&list), -EPERM);
	assert_int_equal(unlinkat(folder.fd, "folders", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", folder.fd, "folders"), 0);
	assert_int_equal(folder_list_read(&list), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_survives_a_restart),
		cmocka_unit_test(a_folder_is_in_it_once_and_the_one_unused_for_longest_goes),
		cmocka_unit_test(what_was_made_for_one_is_known_of_those_below_it),
		cmocka_unit_test(what_is_not_ours_or_damaged_is_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
