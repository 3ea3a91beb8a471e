// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include <time.h>

#include "output/files/filename.h"
#include "output/files/store.h"

/* Europe/Berlin and Australia/Lord_Howe, written out: tzdata may be missing. */
#define BERLIN	  "CET-1CEST,M3.5.0,M10.5.0/3"
#define LORD_HOWE "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"

static void assert_time(const char *zone, time_t moment, const char *expected)
{
	char name[64];

	setenv("TZ", zone, 1);
	tzset();
	store_time_name(moment, name, sizeof(name));
	assert_string_equal(name, expected);
}

/* 2026-10-25 01:00 UTC: in Berlin 03:00 becomes 02:00. */
#define BACK 1792890000

static void the_hour_that_comes_twice_carries_its_offset(void **state)
{
	(void)state;
	assert_time(BERLIN, BACK - 3601, "2026-10-25-01-59-59");
	assert_time(BERLIN, BACK - 3600, "2026-10-25-02-00-00+0200");
	assert_time(BERLIN, BACK - 1800, "2026-10-25-02-30-00+0200");
	assert_time(BERLIN, BACK - 1, "2026-10-25-02-59-59+0200");
	assert_time(BERLIN, BACK, "2026-10-25-02-00-00+0100");
	assert_time(BERLIN, BACK + 1800, "2026-10-25-02-30-00+0100");
	assert_time(BERLIN, BACK + 3599, "2026-10-25-02-59-59+0100");
	assert_time(BERLIN, BACK + 3600, "2026-10-25-03-00-00");
	assert_time("UTC", BACK, "2026-10-25-01-00-00");
	/* Lord Howe Island moves by half an hour: 2026-04-04 15:00 UTC. */
	assert_time(LORD_HOWE, 1775314800 - 1801, "2026-04-05-01-29-59");
	assert_time(LORD_HOWE, 1775314800 - 1, "2026-04-05-01-59-59+1100");
	assert_time(LORD_HOWE, 1775314800, "2026-04-05-01-30-00+1030");
	assert_time(LORD_HOWE, 1775314800 + 1800, "2026-04-05-02-00-00");
}

static void names_of_a_whole_year_are_distinct_and_within_a_zone_in_order(void **state)
{
	char before[64] = "", name[64];

	(void)state;
	setenv("TZ", BERLIN, 1);
	tzset();
	for (time_t at = BACK - 180 * 86400; at < BACK + 180 * 86400; at += 600) {
		store_time_name(at, name, sizeof(name));
		assert_string_not_equal(name, before);
		if (strlen(name) == 19 && strlen(before) == 19)
			assert_true(strcmp(name, before) > 0);
		strcpy(before, name);
	}
}

static void process_names_become_safe_file_names(void **state)
{
	static const char *const names[][2] = {
		{"redis-server", "redis-server"},
		{"../../../etc/x", "_._.._.._etc_x"},
		{"a;b\nc 7", "a_b_c_7"},
		{".", "_"},
		{"..", "_."},
		{"", ""},
		{".hidden", "_hidden"},
		{"a.b_c+d-e", "a.b_c+d-e"},
		{"gr\xc3\xbc\xc3\x9f", "gr____"},
		{"/", "_"},
		{"kworker/0:1", "kworker_0_1"},
		{"(sd-pam)", "_sd-pam_"},
		{"\x7f\x01\xff", "___"},
	};
	char safe[32], small[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		store_safe_name(names[i][0], safe, sizeof(safe));
		assert_string_equal(safe, names[i][1]);
		assert_null(strchr(safe, '/'));
		assert_true(safe[0] != '.');
	}
	store_safe_name("abcdef", small, sizeof(small));
	assert_string_equal(small, "abc");
}

static int open_folder(const struct store_roots *roots, const char *path)
{
	size_t found;
	int fd = store_open_folder(roots, path, &found);

	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : fd;
}

static void only_absolute_paths_below_a_root_are_opened(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[5000], beside[128];

	(void)state;
	folder_make(&folder);
	const char *const paths[] = {folder.path, "/var/log"};
	struct store_roots roots = {paths, 2};

	assert_int_equal(open_folder(&roots, folder.path), 0);
	snprintf(path, sizeof(path), "%s/a/b//c/", folder.path);
	assert_int_equal(open_folder(&roots, path), 0);
	assert_true(folder_has(&folder, "a/b/c"));
	snprintf(path, sizeof(path), "%s/..a/b../...", folder.path);
	assert_int_equal(open_folder(&roots, path), 0);
	assert_int_equal(open_folder(&roots, "relative"), -EINVAL);
	assert_int_equal(open_folder(&roots, ""), -EINVAL);
	snprintf(path, sizeof(path), "%s/../x", folder.path);
	assert_int_equal(open_folder(&roots, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/x/..", folder.path);
	assert_int_equal(open_folder(&roots, path), -EINVAL);
	assert_int_equal(open_folder(&roots, "/../etc"), -EINVAL);
	assert_int_equal(open_folder(&roots, "/etc"), -EPERM);
	assert_int_equal(open_folder(&roots, "/"), -EPERM);
	assert_int_equal(open_folder(&roots, "/var/logs"), -EPERM);
	snprintf(beside, sizeof(beside), "%s-beside", folder.path);
	assert_int_equal(open_folder(&roots, beside), -EPERM);
	assert_int_equal(open_folder(&(struct store_roots){0}, folder.path), -EPERM);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(open_folder(&roots, path), -EINVAL);
}

static void a_root_may_end_in_slashes_and_the_longest_counts(void **state)
{
	_cleanup_folder_ struct folder folder;
	char slashes[96], inner[96], path[128];

	(void)state;
	folder_make(&folder);
	snprintf(slashes, sizeof(slashes), "%s//", folder.path);
	snprintf(inner, sizeof(inner), "%s/link/below", folder.path);
	snprintf(path, sizeof(path), "%s/link/below/x", folder.path);
	assert_int_equal(mkdirat(folder.fd, "real", 0755), 0);
	assert_int_equal(mkdirat(folder.fd, "real/below", 0755), 0);
	assert_int_equal(symlinkat("real", folder.fd, "link"), 0);
	const char *const paths[] = {slashes, inner};
	assert_true(open_folder(&(struct store_roots){paths, 1}, path) < 0);
	/* A root itself may lie behind a link: who wrote the conf file chose it. */
	assert_int_equal(open_folder(&(struct store_roots){paths, 2}, path), 0);
	assert_true(folder_has(&folder, "real/below/x"));
	/* Below that root there is /tmp, which is everybody's. */
	assert_int_equal(open_folder(&(struct store_roots){(const char *const[]){"/"}, 1}, path),
			 -EACCES);
}

static void a_link_below_a_root_is_eloop(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[128];

	(void)state;
	folder_make(&folder);
	const char *const paths[] = {folder.path};
	struct store_roots roots = {paths, 1};
	assert_int_equal(symlinkat("/etc", folder.fd, "link"), 0);
	folder_put(&folder, "file", "x", 1);
	snprintf(path, sizeof(path), "%s/file/x", folder.path);
	assert_int_equal(open_folder(&roots, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/link", folder.path);
	assert_int_equal(open_folder(&roots, path), -ELOOP);
	snprintf(path, sizeof(path), "%s/link/x", folder.path);
	assert_int_equal(open_folder(&roots, path), -ELOOP);
}

static int write_one(const struct folder *folder, const struct store_entry *entry,
		     const char *content, char stem[128])
{
	struct store_roots roots = {(const char *const[]){folder->path}, 1};
	struct buf buf = {.data = (char *)content, .len = strlen(content)};

	size_t found;

	return store_write(&roots, folder->path, entry, &buf, stem, &found);
}

static void files_lie_where_the_contract_says(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct store_entry entry = {.probe = "oncpu",
				    .until = BACK + 7200,
				    .extension = ".svg",
				    .latest = "latest.svg"};
	char stem[128] = "", target[64] = "";

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	folder_make(&folder);
	assert_int_equal(write_one(&folder, &entry, "one", stem), 0);
	folder_assert_content(&folder, "oncpu/2026-10-25/2026-10-25-03-00-00.svg", "one");
	assert_string_equal(stem, "2026-10-25-03-00-00");
	folder_assert_content(&folder, "oncpu/latest.svg", "one");
	stem[0] = '\0';
	assert_int_equal(write_one(&folder, &entry, "two", stem), 0);
	assert_string_equal(stem, "2026-10-25-03-00-00-2");
	folder_assert_content(&folder, "oncpu/2026-10-25/2026-10-25-03-00-00.svg", "one");
	folder_assert_content(&folder, "oncpu/latest.svg", "two");
	assert_true(readlinkat(folder.fd, "oncpu/latest.svg", target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "2026-10-25/2026-10-25-03-00-00-2.svg");
	entry.extension = ".folded"; /* the same stem for the second file of a profile */
	entry.latest = NULL;
	assert_int_equal(write_one(&folder, &entry, "text", stem), 0);
	folder_assert_content(&folder, "oncpu/2026-10-25/2026-10-25-03-00-00-2.folded", "text");
}

static void what_was_before_says_so_in_its_name(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct store_entry entry = {
		.probe = "oncpu", .until = BACK + 7200, .extension = ".svg", .before = true};
	char stem[128] = "";
	int64_t moment;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	folder_make(&folder);
	assert_int_equal(write_one(&folder, &entry, "one", stem), 0);
	folder_assert_content(&folder, "oncpu/2026-10-25/2026-10-25-03-00-00-before.svg", "one");
	stem[0] = '\0';
	entry.comm = "x";
	entry.pid = 42;
	assert_int_equal(write_one(&folder, &entry, "two", stem), 0);
	folder_assert_content(&folder, "oncpu/x-42/2026-10-25/2026-10-25-03-00-00-42-before.svg",
			      "two");
	assert_true(filename_profile("2026-10-25-03-00-00-42-before.svg", 42, ".svg", &moment));
	assert_true(filename_is_before("2026-10-25-03-00-00-42-before.svg"));
	assert_false(filename_is_before("2026-10-25-03-00-00-42.svg"));
}

static void a_process_has_a_folder_of_its_own(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct store_entry entry = {.probe = "oncpu",
				    .comm = "../../../etc/x",
				    .pid = 42,
				    .until = BACK,
				    .extension = ".svg"};
	char stem[128] = "";

	(void)state;
	setenv("TZ", BERLIN, 1);
	tzset();
	folder_make(&folder);
	assert_int_equal(write_one(&folder, &entry, "x", stem), 0);
	folder_assert_content(
		&folder, "oncpu/_._.._.._etc_x-42/2026-10-25/2026-10-25-02-00-00+0100-42.svg", "x");
	assert_false(folder_has(&folder, "oncpu/latest.svg"));
}

static int check(const struct folder *folder, const char *below, struct why *why)
{
	return store_check_folder(folder->path, below, why);
}

static void a_check_makes_nothing_and_says_what_is_wrong(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct why why;
	char name[300] = "/a/";

	(void)state;
	folder_make(&folder);
	assert_int_equal(symlinkat("/tmp", folder.fd, "link"), 0);
	folder_put(&folder, "file", "x", 1);
	assert_int_equal(mkdirat(folder.fd, "shared", 0700), 0);
	assert_int_equal(fchmodat(folder.fd, "shared", 02770, 0), 0);
	assert_int_equal(check(&folder, "", &why), 0);
	assert_int_equal(check(&folder, "/a//b/./c/", &why), 0);
	assert_string_equal(why.text, "");
	assert_false(folder_has(&folder, "a"));
	assert_int_equal(check(&folder, "/link/x", &why), -ELOOP);
	assert_string_equal(why.text, "leads through a symbolic link");
	assert_int_equal(check(&folder, "/file/x/y", &why), -ENOTDIR);
	assert_string_equal(why.text, "can't be used: Not a directory");
	assert_int_equal(check(&folder, "/shared/x/y", &why), -EACCES);
	assert_non_null(strstr(why.text, "/shared has mode 2770 and the owner "));
	memset(name + 3, 'n', 256);
	assert_int_equal(check(&folder, name, &why), -ENAMETOOLONG);
}

static void what_was_made_of_a_path_is_removed_as_far_as_it_is_empty(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[128];
	size_t found;

	(void)state;
	folder_make(&folder);
	struct store_roots roots = {(const char *const[]){folder.path}, 1};
	assert_int_equal(mkdirat(folder.fd, "there", 0750), 0);
	snprintf(path, sizeof(path), "%s/there/a/b//c/", folder.path);
	close(store_open_folder(&roots, path, &found));
	assert_int_equal(found, strlen(folder.path) + strlen("/there/"));
	folder_put(&folder, "there/a/mine", "x", 1);
	store_remove_made(&roots, path, found);
	assert_false(folder_has(&folder, "there/a/b"));
	assert_true(folder_has(&folder, "there/a/mine"));
	assert_int_equal(unlinkat(folder.fd, "there/a/mine", 0), 0);
	store_remove_made(&roots, path, found);
	assert_false(folder_has(&folder, "there/a"));
	assert_true(folder_has(&folder, "there"));
	snprintf(path, sizeof(path), "%s/there", folder.path);
	store_remove_made(&roots, path, strlen(path));
	assert_true(folder_has(&folder, "there"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hour_that_comes_twice_carries_its_offset),
		cmocka_unit_test(names_of_a_whole_year_are_distinct_and_within_a_zone_in_order),
		cmocka_unit_test(process_names_become_safe_file_names),
		cmocka_unit_test(only_absolute_paths_below_a_root_are_opened),
		cmocka_unit_test(a_root_may_end_in_slashes_and_the_longest_counts),
		cmocka_unit_test(a_link_below_a_root_is_eloop),
		cmocka_unit_test(files_lie_where_the_contract_says),
		cmocka_unit_test(what_was_before_says_so_in_its_name),
		cmocka_unit_test(a_process_has_a_folder_of_its_own),
		cmocka_unit_test(a_check_makes_nothing_and_says_what_is_wrong),
		cmocka_unit_test(what_was_made_of_a_path_is_removed_as_far_as_it_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
