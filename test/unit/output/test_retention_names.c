// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files are none of ours, or can not be removed. */
#include "unit/output/retention_scene.h"
#include "unit/lib/folder.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <time.h>

#include "output/files/filename.h"
#include "output/files/retention.h"

static void names_are_read_back(void **state)
{
	static const struct {
		const char *name;
		int pid;
		time_t moment;
	} good[] = {
		{"2026-11-21-12-00-00.svg", 0, NOW},
		{"2026-11-21-12-00-00-2.svg", 0, NOW},
		{"2026-11-21-12-00-00-1000.svg", 0, NOW},
		{"2026-11-21-12-00-00-2-2.svg", 0, NOW},
		{"2026-11-21-12-00-00-before.svg", 0, NOW},
		{"2026-11-21-12-00-00-before-2.svg", 0, NOW},
		{"2026-11-21-12-00-00-0330-42-before-3.svg", 42, NOW},
		{"2026-11-21-12-00-00+0200.svg", 0, NOW},
		{"2026-11-21-12-00-00-0330.svg", 0, NOW},
		{"2026-11-21-12-00-00+0200-2.svg", 0, NOW},
		{"2026-11-21-12-00-00-42.svg", 42, NOW},
		{"2026-11-21-12-00-00-42-3.svg", 42, NOW},
		{"2026-11-21-12-00-00-0330-42-3.svg", 42, NOW},
		{"1970-01-01-00-00-01.svg", 0, 1},
		{"2024-02-29-23-59-59.svg", 0, 1709251199},
		{"9999-12-31-23-59-59.svg", 0, 253402300799},
	};
	int64_t moment;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		if (!filename_profile(good[i].name, good[i].pid, ".svg", &moment))
			fail_msg("refused: %s", good[i].name);
		assert_int_equal(moment, good[i].moment);
	}
}

static const char *const almost[] = {
	"",
	".svg",
	"2026-01-01-12-00-00",
	"2026-01-01-12-00-00.folded",
	"2026-01-01-12-00-00.svg~",
	"2026-01-01-12-00-00.svg.gz",
	"2026-01-01-12-00-00..svg",
	"2026-01-01-12-00-00 .svg",
	".2026-01-01-12-00-00.svg",
	"x2026-01-01-12-00-00.svg",
	"2026-01-01_12-00-00.svg",
	"2026-01-01-12-00.svg",
	"2026-1-01-12-00-00.svg",
	"2026-13-01-12-00-00.svg",
	"2026-01-32-12-00-00.svg",
	"2026-01-01-24-00-00.svg",
	"2026-01-01-12-60-00.svg",
	"2026-01-01-12-00-61.svg",
	"2026-01-01-12-00-00-1.svg",
	"2026-01-01-12-00-00-02.svg",
	"2026-01-01-12-00-00-.svg",
	"2026-01-01-12-00-00-2-2-2.svg",
	"2026-01-01-12-00-00+020.svg",
	"2026-01-01-12-00-00+9900.svg",
	"2026-01-01-12-00-00-99999999999999999999.svg",
	"2026-01-01-12-00-00-before-the-fix.svg",
	"2026-01-01-12-00-00-2-before.svg",
	"2026-01-01-12-00-00-before-before.svg",
	"2026-01-01-12-00-00-before-.svg",
	"0026-01-01-12-00-00.svg",
	"2026-01-01-12-00-00.SVG",
	"report.svg",
	"latest.svg",
};

static void what_is_almost_a_name_is_none(void **state)
{
	int64_t moment;
	int pid;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(almost); i++) {
		if (filename_profile(almost[i], 0, ".svg", &moment))
			fail_msg("taken: %s", almost[i]);
	}
	/* The pid is that of the folder. */
	assert_false(filename_profile("2026-01-01-12-00-00.svg", 42, ".svg", &moment));
	assert_false(filename_profile("2026-01-01-12-00-00-43.svg", 42, ".svg", &moment));
	assert_false(filename_profile("2026-01-01-12-00-00-42-1.svg", 42, ".svg", &moment));
	assert_true(filename_process("nginx-42", &pid) && pid == 42);
	assert_true(filename_process("a-b-7", &pid) && pid == 7);
	assert_true(filename_process("-7", &pid) && pid == 7);
	assert_false(filename_process("nginx", &pid));
	assert_false(filename_process("nginx-", &pid));
	assert_false(filename_process("nginx-042", &pid));
	assert_false(filename_process("nginx-0", &pid));
	assert_false(filename_process("nginx-99999999999", &pid));
	assert_false(filename_process(".nginx-42", &pid));
	assert_false(filename_process("ng inx-42", &pid));
	assert_false(filename_date("2026-11-21x", &moment));
	assert_false(filename_date("2026-11-2", &moment));
}

static void what_store_names_is_read_back_all_year(void **state)
{
	char name[64], file[80];
	int64_t moment;

	setenv("TZ", BERLIN, 1);
	tzset();
	for (time_t at = NOW - 365 * DAY_S; at < NOW; at += 1801) {
		store_time_name(at, name, sizeof(name));
		snprintf(file, sizeof(file), "%s.svg", name);
		assert_true(filename_profile(file, 0, ".svg", &moment));
		assert_int_equal(moment, filename_moment(at));
		snprintf(file, sizeof(file), "%s-1234.svg", name);
		assert_true(filename_profile(file, 1234, ".svg", &moment));
		assert_int_equal(moment, filename_moment(at));
	}
	use_utc(state);
}

static void nothing_else_is_touched(void **state)
{
	_cleanup_folder_ struct folder folder;
	char path[256];

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 1);
	for (size_t i = 0; i < ARRAY_SIZE(almost); i++) {
		if (!almost[i][0])
			continue;
		snprintf(path, sizeof(path), "svg/oncpu/2026-01-01/%s", almost[i]);
		put(&folder, path, 1000000);
	}
	static const char *const others[] = {
		"svg/2026-01-01-12-00-00.svg",
		"svg/oncpu/2026-01-01-12-00-00.svg",
		"svg/oncpu/2026-01-02/2026-01-01-12-00-00.svg", /* of another day */
		"svg/oncpu/2026-01-01/2026-01-01/2026-01-01-12-00-00.svg",
		"svg/oncpu/web-42/2026-01-01/2026-01-01-12-00-00.svg",
		"svg/oncpu/web-42/2026-01-01/2026-01-01-12-00-00-43.svg",
		"svg/oncpu/web-42/x-1/2026-01-01/2026-01-01-12-00-00-42.svg",
		"svg/oncpu/web/2026-01-01/2026-01-01-12-00-00.svg",
		"svg/other/2026-01-01/2026-01-01-12-00-00.svg",
		"flame/oncpu/2026-01-01/2026-01-01-12-00-00.svg",
		"oncpu/2026-01-01/2026-01-01-12-00-00.svg",
	};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		put(&folder, others[i], 1000000);
	/* What isn't a plain file of one name. */
	put(&folder, "svg/oncpu/2026-01-01/kept-by-a-link", 1000000);
	assert_int_equal(linkat(folder.fd, "svg/oncpu/2026-01-01/kept-by-a-link", folder.fd,
				"svg/oncpu/2026-01-01/2026-01-01-13-00-00.svg", 0),
			 0);
	assert_int_equal(
		symlinkat("/etc/passwd", folder.fd, "svg/oncpu/2026-01-01/2026-01-01-14-00-00.svg"),
		0);
	assert_int_equal(mkdirat(folder.fd, "svg/oncpu/2026-01-01/2026-01-01-15-00-00.svg", 0700),
			 0);
	assert_int_equal(mkfifoat(folder.fd, "svg/oncpu/2026-01-01/2026-01-01-16-00-00.svg", 0600),
			 0);
	/* None of it counts, either: the only file that does has room. */
	assert_int_equal(clean(&folder, 0, 1).removed, 0);
	struct retention_result result = clean(&folder, 7, 1);
	assert_int_equal(result.removed, 1);
	assert_int_equal(result.failed, 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_there(&folder, others[i]);
	for (int hour = 13; hour <= 16; hour++) {
		snprintf(path, sizeof(path), "svg/oncpu/2026-01-01/2026-01-01-%d-00-00.svg", hour);
		assert_there(&folder, path);
	}
	for (size_t i = 1; i < ARRAY_SIZE(almost); i++) {
		snprintf(path, sizeof(path), "svg/oncpu/2026-01-01/%s", almost[i]);
		assert_there(&folder, path);
	}
}

static void links_are_not_followed(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	put(&folder, "outside/2026-01-01/2026-01-01-12-00-00.svg", 1);
	put(&folder, "outside/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 1);
	put(&folder, "outside/a-42/2026-01-01/2026-01-01-12-00-00-42.svg", 1);
	put(&folder, "svg/oncpu/file", 1);
	assert_int_equal(symlinkat("../../outside/2026-01-01", folder.fd, "svg/oncpu/2026-01-01"),
			 0);
	assert_int_equal(symlinkat("../../outside/a-42", folder.fd, "svg/oncpu/a-42"), 0);
	assert_int_equal(symlinkat("../outside/oncpu", folder.fd, "svg/offcpu"), 0);
	assert_int_equal(symlinkat("outside", folder.fd, "flame"), 0);
	assert_int_equal(clean(&folder, 7, 1).removed, 0);
	assert_there(&folder, "outside/2026-01-01/2026-01-01-12-00-00.svg");
	assert_there(&folder, "outside/oncpu/2026-01-01/2026-01-01-12-00-00.svg");
	assert_there(&folder, "outside/a-42/2026-01-01/2026-01-01-12-00-00-42.svg");
	assert_there(&folder, "svg/oncpu/2026-01-01");
	assert_there(&folder, "svg/oncpu/a-42");
}

static void what_belongs_to_others_stays(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	if (geteuid() != 0) {
		print_message("needs root, to give files to another user\n");
		skip();
	}
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 1);
	put(&folder, "svg/oncpu/2026-01-02/2026-01-02-12-00-00.svg", 1);
	assert_int_equal(
		fchownat(folder.fd, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 4711, 0, 0), 0);
	assert_int_equal(fchownat(folder.fd, "svg/oncpu/2026-01-02", 4711, 0, 0), 0);
	assert_int_equal(clean(&folder, 7, 1).removed, 0);
	assert_there(&folder, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg");
	assert_there(&folder, "svg/oncpu/2026-01-02/2026-01-02-12-00-00.svg");
}

static void what_cannot_be_removed_is_counted_and_the_rest_goes(void **state)
{
	_cleanup_folder_ struct folder folder;
	int flags = FS_IMMUTABLE_FL;

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-01-02/2026-01-02-12-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-11-21/2026-11-21-11-00-00.svg", 100);
	_cleanup_close_ int fd = openat(folder.fd, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg",
					O_RDONLY | O_CLOEXEC);
	if (ioctl(fd, FS_IOC_SETFLAGS, &flags) < 0) {
		print_message("no immutable files here: %s\n", strerror(errno));
		skip();
	}
	/* The one that stays doesn't push out what has room without it. */
	struct retention_result first = clean(&folder, 0, 100);
	struct retention_result second = clean(&folder, 0, 100);
	flags = 0;
	assert_int_equal(ioctl(fd, FS_IOC_SETFLAGS, &flags), 0);
	assert_int_equal(first.removed, 1);
	assert_int_equal(first.failed, 1);
	assert_int_equal(first.error, -EPERM);
	assert_int_equal(second.removed, 0);
	assert_int_equal(second.failed, 1);
	assert_there(&folder, "svg/oncpu/2026-11-21/2026-11-21-11-00-00.svg");
	assert_int_equal(clean(&folder, 0, 100).removed, 1);
}

static void assert_link(const struct folder *folder, const char *path, const char *expected)
{
	char target[256] = "";

	assert_true(readlinkat(folder->fd, path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, expected);
}

static void the_link_to_the_newest_never_leads_nowhere(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-01-01/2026-01-01-12-00-00.svg", 1);
	put(&folder, "svg/oncpu/a-7/2026-01-01/2026-01-01-12-00-00-7.svg", 1);
	put(&folder, "svg/offcpu/2026-11-20/2026-11-20-12-00-00.svg", 1);
	put(&folder, "svg/offcpu/2026-11-20/2026-11-20-13-00-00.svg", 1);
	for (int i = 10; i >= 2; i--) {
		char path[128];

		snprintf(path, sizeof(path), "svg/offcpu/2026-11-20/2026-11-20-13-00-00-%d.svg", i);
		put(&folder, path, 1);
	}
	put(&folder, "svg/offcpu/2026-11-19/2026-11-19-14-00-00.svg", 1);
	put(&folder, "svg/offcpu/2026-11-20/2026-11-20-14-00-00-before.svg", 1);
	assert_int_equal(
		symlinkat("2026-01-01/2026-01-01-12-00-00.svg", folder.fd, "svg/oncpu/latest.svg"),
		0);
	assert_int_equal(symlinkat("2026-01-01/2026-01-01-12-00-00-7.svg", folder.fd,
				   "svg/oncpu/a-7/latest.svg"),
			 0);
	/* Somebody removed the newest by hand. */
	assert_int_equal(
		symlinkat("2026-11-21/2026-11-21-12-00-00.svg", folder.fd, "svg/offcpu/latest.svg"),
		0);
	assert_int_equal(clean(&folder, 7, 0).removed, 2);
	assert_gone(&folder, "svg/oncpu/latest.svg");
	assert_gone(&folder, "svg/oncpu/a-7");
	assert_link(&folder, "svg/offcpu/latest.svg", "2026-11-20/2026-11-20-13-00-00-10.svg");
	/* A link that isn't of that form is somebody else's. */
	assert_int_equal(symlinkat("/nowhere/at-all.svg", folder.fd, "svg/oncpu/latest.svg"), 0);
	clean(&folder, 7, 0);
	assert_link(&folder, "svg/oncpu/latest.svg", "/nowhere/at-all.svg");
}

static void a_process_with_a_name_like_a_date_is_no_date(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	/* comm "2026-01", pid 21; and a real date of that name */
	put(&folder, "svg/oncpu/2026-01-21/2026-01-03/2026-01-03-12-00-00-21.svg", 1);
	put(&folder, "svg/oncpu/2026-01-21/2026-11-21/2026-11-21-11-00-00-21.svg", 1);
	put(&folder, "svg/oncpu/2026-01-21/2026-01-21-12-00-00.svg", 1);
	assert_int_equal(clean(&folder, 7, 0).removed, 2);
	assert_there(&folder, "svg/oncpu/2026-01-21/2026-11-21/2026-11-21-11-00-00-21.svg");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_back),
		cmocka_unit_test(what_is_almost_a_name_is_none),
		cmocka_unit_test(what_store_names_is_read_back_all_year),
		cmocka_unit_test(nothing_else_is_touched),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(what_belongs_to_others_stays),
		cmocka_unit_test(what_cannot_be_removed_is_counted_and_the_rest_goes),
		cmocka_unit_test(the_link_to_the_newest_never_leads_nowhere),
		cmocka_unit_test(a_process_with_a_name_like_a_date_is_no_date),
	};

	return cmocka_run_group_tests(tests, use_utc, NULL);
}
