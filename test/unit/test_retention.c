// SPDX-License-Identifier: GPL-2.0-only
#include "folder.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <time.h>

#include "output/filename.h"
#include "output/retention.h"

/* Europe/Berlin, written out: tzdata may be missing. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

/* 2026-11-21 12:00:00 UTC, the tests' now. */
#define NOW 1795262400

static const char *const probes[] = {"oncpu", "offcpu"};

static int use_utc(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

/* Runs to the end, in steps that are as short as can be. */
static struct retention_result clean_at(const struct folder *folder, int64_t days, int64_t bytes,
					time_t now)
{
	struct retention *retention;
	struct retention_result result;
	char svg_dir[128], flame_dir[128];
	struct retention_setup setup = {
		.roots = {(const char *const[]){folder->path}, 1},
		.svg_dir = svg_dir,
		.flame_dir = flame_dir,
		.probes = probes,
		.probes_count = ARRAY_SIZE(probes),
		.limits = {.days = days, .bytes = bytes},
		.now = now,
	};

	snprintf(svg_dir, sizeof(svg_dir), "%s/svg", folder->path);
	snprintf(flame_dir, sizeof(flame_dir), "%s/flame", folder->path);
	assert_int_equal(retention_new(&retention, &setup), 0);
	while (retention_step(retention, 0))
		;
	result = *retention_result(retention);
	retention_free(retention);
	return result;
}

static struct retention_result clean(const struct folder *folder, int64_t days, int64_t bytes)
{
	return clean_at(folder, days, bytes, NOW);
}

/* A file of so many bytes, with the folders that lead to it. */
static void put(const struct folder *folder, const char *path, size_t bytes)
{
	char part[256];

	for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdirat(folder->fd, part, 0750) < 0)
			assert_int_equal(errno, EEXIST);
	}
	folder_put(folder, path, "", 0);
	_cleanup_close_ int fd = openat(folder->fd, path, O_WRONLY | O_NOFOLLOW);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
}

static void assert_there(const struct folder *folder, const char *path)
{
	if (!folder_has(folder, path))
		fail_msg("is gone: %s", path);
}

static void assert_gone(const struct folder *folder, const char *path)
{
	if (folder_has(folder, path))
		fail_msg("is still there: %s", path);
}

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

static void files_past_the_age_go_in_pairs(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-11-14/2026-11-14-11-59-59.svg", 10);
	put(&folder, "flame/oncpu/2026-11-14/2026-11-14-11-59-59.folded", 5);
	put(&folder, "svg/oncpu/2026-11-14/2026-11-14-12-00-00.svg", 10);
	put(&folder, "flame/oncpu/2026-11-14/2026-11-14-12-00-00.folded", 5);
	put(&folder, "svg/offcpu/web-42/2026-10-01/2026-10-01-00-00-00-42.svg", 10);
	put(&folder, "flame/offcpu/web-42/2026-10-01/2026-10-01-00-00-00-42.folded", 5);
	put(&folder, "svg/mem/2026-10-01/2026-10-01-00-00-00.svg", 10); /* no probe asked for */
	struct retention_result result = clean(&folder, 7, 0);
	assert_int_equal(result.removed, 4);
	assert_int_equal(result.removed_bytes, 30);
	assert_int_equal(result.failed, 0);
	assert_gone(&folder, "svg/oncpu/2026-11-14/2026-11-14-11-59-59.svg");
	assert_gone(&folder, "flame/oncpu/2026-11-14/2026-11-14-11-59-59.folded");
	assert_there(&folder, "svg/oncpu/2026-11-14/2026-11-14-12-00-00.svg");
	assert_there(&folder, "flame/oncpu/2026-11-14/2026-11-14-12-00-00.folded");
	assert_there(&folder, "svg/mem/2026-10-01/2026-10-01-00-00-00.svg");
	/* The empty folders of the process went with its files; the probe's stays. */
	assert_gone(&folder, "svg/offcpu/web-42");
	assert_gone(&folder, "flame/offcpu/web-42");
	assert_there(&folder, "svg/offcpu");
	assert_int_equal(clean(&folder, 0, 0).removed, 0);
	assert_int_equal(clean(&folder, 1, 0).removed, 2);
}

static void the_oldest_go_until_the_rest_has_room(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct retention_result result;

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-11-19/2026-11-19-08-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-11-20/2026-11-20-08-00-00.svg", 100);
	put(&folder, "flame/oncpu/2026-11-20/2026-11-20-08-00-00.folded", 20);
	put(&folder, "svg/oncpu/2026-11-20/2026-11-20-08-00-01.svg", 100);
	put(&folder, "svg/offcpu/a-1/2026-11-21/2026-11-21-09-00-00-1.svg", 100);
	result = clean(&folder, 0, 420);
	assert_int_equal(result.removed, 0);
	assert_int_equal(result.files, 5);
	assert_int_equal(result.bytes, 420);
	result = clean(&folder, 0, 301);
	assert_int_equal(result.removed, 3); /* the oldest, and then a pair */
	assert_int_equal(result.removed_bytes, 220);
	assert_gone(&folder, "svg/oncpu/2026-11-19");
	assert_gone(&folder, "flame/oncpu/2026-11-20");
	assert_there(&folder, "svg/oncpu/2026-11-20/2026-11-20-08-00-01.svg");
	assert_int_equal(clean(&folder, 0, 100).removed, 1);
	assert_there(&folder, "svg/offcpu/a-1/2026-11-21/2026-11-21-09-00-00-1.svg");
	assert_int_equal(clean(&folder, 0, 99).removed, 1);
	assert_there(&folder, "svg/offcpu/a-1/2026-11-21"); /* today's folder stays */
}

static void whichever_limit_is_reached_first_counts(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	put(&folder, "svg/oncpu/2026-11-10/2026-11-10-08-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-11-20/2026-11-20-08-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-11-20/2026-11-20-09-00-00.svg", 100);
	assert_int_equal(clean(&folder, 7, 1000).removed, 1);
	assert_int_equal(clean(&folder, 7, 150).removed, 1);
	assert_there(&folder, "svg/oncpu/2026-11-20/2026-11-20-09-00-00.svg");
	/* Ages of more years than days are told apart go all the same. */
	put(&folder, "svg/oncpu/1999-12-31/1999-12-31-00-00-00.svg", 100);
	put(&folder, "svg/oncpu/2001-12-31/2001-12-31-00-00-00.svg", 100);
	assert_int_equal(clean(&folder, 0, 250).removed, 2);
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

static void files_from_the_future_have_no_age_and_go_first(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	/* The clock was years ahead, and is right now. */
	put(&folder, "svg/oncpu/2031-05-05/2031-05-05-10-00-00.svg", 100);
	put(&folder, "svg/oncpu/2026-11-21/2026-11-21-11-00-00.svg", 100);
	/* Within a day: another time zone, or an hour that was set back. */
	put(&folder, "svg/oncpu/2026-11-21/2026-11-21-13-00-00.svg", 100);
	assert_int_equal(clean(&folder, 1, 0).removed, 0);
	assert_int_equal(clean(&folder, 1, 300).removed, 0);
	assert_int_equal(clean(&folder, 1, 200).removed, 1);
	assert_gone(&folder, "svg/oncpu/2031-05-05/2031-05-05-10-00-00.svg");
	assert_int_equal(clean(&folder, 1, 100).removed, 1);
	assert_there(&folder, "svg/oncpu/2026-11-21/2026-11-21-13-00-00.svg");
}

static void folders_that_are_missing_are_not_made(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	struct retention_result result = clean(&folder, 7, 1000);
	assert_int_equal(result.removed, 0);
	assert_int_equal(result.failed, 0);
	assert_gone(&folder, "svg");
	assert_gone(&folder, "flame");
}

static void two_runs_at_once_share_the_work(void **state)
{
	_cleanup_folder_ struct folder folder;
	struct retention *runs[2];
	char svg_dir[128], path[128];

	(void)state;
	folder_make(&folder);
	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "svg/oncpu/2026-01-0%d/2026-01-0%d-12-%02d-%02d.svg",
			 i % 5 + 1, i % 5 + 1, i / 60 % 60, i % 60);
		put(&folder, path, 1);
	}
	snprintf(svg_dir, sizeof(svg_dir), "%s/svg", folder.path);
	struct retention_setup setup = {
		.roots = {(const char *const[]){folder.path}, 1},
		.svg_dir = svg_dir,
		.flame_dir = svg_dir,
		.probes = probes,
		.probes_count = ARRAY_SIZE(probes),
		.limits = {.days = 7, .bytes = 100},
		.now = NOW,
	};
	for (int i = 0; i < 2; i++)
		assert_int_equal(retention_new(&runs[i], &setup), 0);
	for (bool more = true; more;) {
		more = retention_step(runs[0], 0);
		more |= retention_step(runs[1], 0);
	}
	assert_int_equal(retention_result(runs[0])->removed + retention_result(runs[1])->removed,
			 2000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(retention_result(runs[i])->failed, 0);
		retention_free(runs[i]);
	}
	assert_gone(&folder, "svg/oncpu/2026-01-01");
}

/* ---- many files, against a plain model ---- */

#define MANY 4000

struct one {
	char path[128];
	int64_t moment;
	uint64_t bytes;
};

static int by_moment(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return x->moment < y->moment ? -1 : x->moment > y->moment;
}

/* Moments that files may lie at: some together, some alone. */
static void make_one(uint64_t *seed, struct one *one, int number)
{
	time_t moment = NOW - (time_t)(random_next(seed) % (40 * DAY_S));
	bool folded = number % 2, of_process = number % 3 == 0;
	char name[64], tail[32] = "", folder[32] = "";
	int pid = number % 50 + 1;

	moment -= moment % 30;
	store_time_name(moment, name, sizeof(name));
	if (of_process) {
		snprintf(folder, sizeof(folder), "worker-%d/", pid);
		snprintf(tail, sizeof(tail), "-%d", pid);
	}
	snprintf(one->path, sizeof(one->path), "%s/%s/%s%.10s/%s%s-%d%s", folded ? "flame" : "svg",
		 probes[number % 7 == 0], folder, name, name, tail, number / 1000 + 2,
		 folded ? ".folded" : ".svg");
	one->moment = moment;
	one->bytes = random_next(seed) % 3000;
}

static void of_thousands_the_right_ones_stay(void **state)
{
	_cleanup_folder_ struct folder folder;
	_cleanup_free_ struct one *all = calloc(MANY, sizeof(*all));
	uint64_t seed = 1, total = 0, removed = 0;
	size_t keep = 0;

	(void)state;
	folder_make(&folder);
	for (int i = 0; i < MANY; i++) {
		make_one(&seed, &all[i], i);
		if (folder_has(&folder, all[i].path))
			all[i].bytes = 0; /* counted with the one before; both are the same file */
		else
			put(&folder, all[i].path, all[i].bytes);
		total += all[i].bytes;
	}
	qsort(all, MANY, sizeof(*all), by_moment);
	uint64_t max = total / 3;
	for (uint64_t left = total; left > max || all[keep].moment < NOW - 20 * DAY_S;) {
		int64_t moment = all[keep].moment;

		for (; keep < MANY && all[keep].moment == moment; keep++)
			left -= all[keep].bytes;
	}
	struct retention_result result = clean(&folder, 20, (int64_t)max);
	assert_int_equal(result.bytes, total);
	for (size_t i = 0; i < MANY; i++) {
		if (folder_has(&folder, all[i].path) != (i >= keep))
			fail_msg("%zu of %zu: %s", i, keep, all[i].path);
		removed += i < keep ? all[i].bytes : 0;
	}
	assert_int_equal(result.removed_bytes, removed);
	assert_int_equal(result.failed, 0);
	assert_int_equal(clean(&folder, 20, (int64_t)max).removed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_back),
		cmocka_unit_test(what_is_almost_a_name_is_none),
		cmocka_unit_test(what_store_names_is_read_back_all_year),
		cmocka_unit_test(files_past_the_age_go_in_pairs),
		cmocka_unit_test(the_oldest_go_until_the_rest_has_room),
		cmocka_unit_test(whichever_limit_is_reached_first_counts),
		cmocka_unit_test(nothing_else_is_touched),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(what_belongs_to_others_stays),
		cmocka_unit_test(what_cannot_be_removed_is_counted_and_the_rest_goes),
		cmocka_unit_test(the_link_to_the_newest_never_leads_nowhere),
		cmocka_unit_test(a_process_with_a_name_like_a_date_is_no_date),
		cmocka_unit_test(files_from_the_future_have_no_age_and_go_first),
		cmocka_unit_test(folders_that_are_missing_are_not_made),
		cmocka_unit_test(two_runs_at_once_share_the_work),
		cmocka_unit_test(of_thousands_the_right_ones_stay),
	};

	return cmocka_run_group_tests(tests, use_utc, NULL);
}
