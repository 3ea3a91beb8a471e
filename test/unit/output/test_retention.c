// SPDX-License-Identifier: GPL-2.0-or-later
/* Which files go: by age, by size, of thousands. */
#include "unit/output/retention_scene.h"
#include "unit/lib/folder.h"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <time.h>

#include "output/files/filename.h"
#include "output/files/retention.h"

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
		cmocka_unit_test(files_past_the_age_go_in_pairs),
		cmocka_unit_test(the_oldest_go_until_the_rest_has_room),
		cmocka_unit_test(whichever_limit_is_reached_first_counts),
		cmocka_unit_test(files_from_the_future_have_no_age_and_go_first),
		cmocka_unit_test(folders_that_are_missing_are_not_made),
		cmocka_unit_test(two_runs_at_once_share_the_work),
		cmocka_unit_test(of_thousands_the_right_ones_stay),
	};

	return cmocka_run_group_tests(tests, use_utc, NULL);
}
