// SPDX-License-Identifier: GPL-2.0-or-later
/* The linker turns our objects' clock, and the opening of a folder that is to be cleaned, into
 * those below (UNITFLAGS_test_cleaner). */
#include "unit/lib/folder.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/log.h"
#include "loop/loop.h"
#include "output/files/filename.h"
#include "profile/cleaner.h"

int __real_clock_gettime(clockid_t clock, struct timespec *now) __attribute__((weak));
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
time_t __wrap_time(time_t *now);

int __real_store_find_folder(const struct store_roots *roots, const char *path)
	__attribute__((weak));
int __wrap_store_find_folder(const struct store_roots *roots, const char *path);

static time_t ahead_s;	/* of the real clock */
static time_t passed_s; /* as all clocks tell it */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int r = __real_clock_gettime(clock, now);

	now->tv_sec += __atomic_load_n(&passed_s, __ATOMIC_RELAXED);
	if (clock == CLOCK_REALTIME)
		now->tv_sec += ahead_s;
	return r;
}

time_t __wrap_time(time_t *now)
{
	struct timespec real;

	(void)now;
	__wrap_clock_gettime(CLOCK_REALTIME, &real);
	return real.tv_sec;
}

/* Folders that have this in their path hang, and how many looks at them have begun. */
static char hanging[64];
static unsigned looks;

static void set_hanging(const char *part)
{
	snprintf(hanging, sizeof(hanging), "%s", part);
}

int __wrap_store_find_folder(const struct store_roots *roots, const char *path)
{
	if (hanging[0] && strstr(path, hanging)) {
		__atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
		while (hanging[0])
			usleep(1000);
	}
	return __real_store_find_folder(roots, path);
}

struct bench {
	struct folder folder;
	struct loop *loop;
	struct worker *worker;
	struct cleaner *cleaner;
	char svg_dir[128], flame_dir[128];
	char state_dir[128];
	const char *roots[1];
};

static void bench_make_for(struct bench *bench, int64_t days, int64_t bytes, int64_t interval,
			   bool hangs)
{
	if (!__real_clock_gettime) {
		print_message("not linked with --wrap=clock_gettime\n");
		skip();
	}
	ahead_s = 0;
	passed_s = 0;
	looks = 0;
	folder_make(&bench->folder);
	bench->roots[0] = bench->folder.path;
	snprintf(bench->svg_dir, sizeof(bench->svg_dir), "%s/svg", bench->folder.path);
	snprintf(bench->flame_dir, sizeof(bench->flame_dir), "%s/flame", bench->folder.path);
	snprintf(bench->state_dir, sizeof(bench->state_dir), "%s/state", bench->folder.path);
	assert_int_equal(loop_new(&bench->loop), 0);
	assert_int_equal(worker_new(&bench->worker, bench->loop, "test",
				    hangs ? 200 * NS_PER_MS : 60 * NS_PER_S),
			 0);
	struct cleaner_setup setup = {bench->loop,
				      bench->worker,
				      {bench->roots, 1},
				      {.days = days, .bytes = bytes, .interval = interval},
				      bench->state_dir};
	assert_int_equal(cleaner_new(&bench->cleaner, &setup), 0);
}

static void bench_make(struct bench *bench, int64_t days, int64_t bytes, int64_t interval)
{
	bench_make_for(bench, days, bytes, interval, false);
}

static void bench_done(struct bench *bench)
{
	worker_stop(bench->worker);
	loop_flush(bench->loop);
	cleaner_free(bench->cleaner);
	worker_free(bench->worker);
	loop_free(bench->loop);
	folder_done(&bench->folder);
}

static void stop(void *arg)
{
	loop_stop(arg);
}

/* Lets jobs and timers run for a while. */
static void run_for(const struct bench *bench, uint64_t ms)
{
	struct loop_timer timer = {.expired = stop, .arg = bench->loop};

	loop_timer_set(bench->loop, &timer, loop_now_ns() + ms * NS_PER_MS);
	loop_run(bench->loop);
}

/* Waits until so many files have been removed since the start. */
static void wait_removed(const struct bench *bench, uint64_t count)
{
	for (int i = 0; i < 1000 && cleaner_stats(bench->cleaner)->removed < count; i++)
		run_for(bench, 10);
	assert_int_equal(cleaner_stats(bench->cleaner)->removed, count);
}

/* A picture of so many days ago (by the clock as it is meant to be), 100 bytes. The cleaner may be
 * walking, and removes folders that are empty: those of the picture are made until it is in them.
 */
static void put_aged_in(const struct bench *bench, const char *folder, int days)
{
	_cleanup_close_ int fd = -1;
	char name[64], view[64], day[96], path[256];
	static const char content[100];

	store_time_name(time(NULL) - days * DAY_S, name, sizeof(name));
	snprintf(view, sizeof(view), "svg/%s", folder);
	snprintf(day, sizeof(day), "%s/%.10s", view, name);
	snprintf(path, sizeof(path), "%s/%s.svg", day, name);
	do {
		mkdirat(bench->folder.fd, "svg", 0750);
		mkdirat(bench->folder.fd, view, 0750);
		mkdirat(bench->folder.fd, day, 0750);
		fd = openat(bench->folder.fd, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	} while (fd < 0 && errno == ENOENT);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, sizeof(content)), sizeof(content));
}

static void put_aged(const struct bench *bench, int days)
{
	put_aged_in(bench, "oncpu", days);
}

static void the_folders_are_cleaned_when_they_are_told(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 0, 300);
	put_aged(&bench, 8);
	put_aged(&bench, 6);
	cleaner_wake(bench.cleaner); /* there is nothing to clean yet */
	run_for(&bench, 50);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 0);
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	wait_removed(&bench, 1);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed_bytes, 100);
	assert_int_equal(cleaner_stats(bench.cleaner)->failed, 0);
}

static void each_view_has_its_folder_cleaned(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 0, 300);
	put_aged_in(&bench, "mem_glibc", 8);
	put_aged_in(&bench, "mem_glibc-inuse", 8);
	put_aged_in(&bench, "mem_glibc-mmap", 8);
	put_aged_in(&bench, "mem_glibc-mmap", 1);
	put_aged_in(&bench, "mem_glibc-other", 8); /* not ours */
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	wait_removed(&bench, 3);
	run_for(&bench, 50);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 3);
}

static void within_the_interval_a_run_is_put_off_and_not_forgotten(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 0, 1);
	put_aged(&bench, 8);
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	cleaner_wake(bench.cleaner); /* in the middle of it */
	wait_removed(&bench, 1);
	put_aged(&bench, 9);
	cleaner_wake(bench.cleaner);
	cleaner_wake(bench.cleaner);
	wait_removed(&bench, 2);
}

static void other_limits_count_at_once(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 1000, 3600);
	for (int days = 0; days < 5; days++)
		put_aged(&bench, days);
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	for (int i = 0; i < 1000 && !cleaner_stats(bench.cleaner)->files; i++)
		run_for(&bench, 10);
	assert_int_equal(cleaner_stats(bench.cleaner)->files, 5);
	assert_int_equal(cleaner_stats(bench.cleaner)->bytes, 500);
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){7, 250, 3600});
	wait_removed(&bench, 3);
	assert_int_equal(cleaner_stats(bench.cleaner)->files, 2);
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){0, 0, 3600});
	run_for(&bench, 50);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 3);
}

static void a_clock_that_jumps_ahead_makes_no_file_old(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 1000, 1);
	put_aged(&bench, 8);
	put_aged(&bench, 3);
	put_aged(&bench, 2);
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	wait_removed(&bench, 1);
	ahead_s = 400 * DAY_S;
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){6, 1000, 1});
	run_for(&bench, 100);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 1);
	/* Room is made all the same. */
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){7, 100, 1});
	wait_removed(&bench, 2);
	/* And back. */
	ahead_s = 0;
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){1, 1000, 1});
	run_for(&bench, 100);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 2);
}

/* Whether the list of folders that is kept has this one. */
static bool keeps(const struct bench *bench, const char *path)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);

	assert_int_equal(file_read(bench->folder.fd, "state/folders", &text), 0);
	buf_char(&text, '\0');
	return strstr(text.data, path) != NULL;
}

static void folders_of_before_are_cleaned_and_forgotten_when_empty(void **state)
{
	_cleanup_(bench_done) struct bench bench;
	char other[192];

	(void)state;
	bench_make(&bench, 7, 0, 1);
	put_aged(&bench, 8);
	put_aged_in(&bench, "mem", 3);
	snprintf(other, sizeof(other), "%s/other", bench.folder.path);
	cleaner_note_use(bench.cleaner, bench.svg_dir, bench.flame_dir);
	cleaner_note_made(bench.cleaner, bench.svg_dir, strlen(bench.folder.path) + 1,
			  bench.flame_dir, strlen(bench.flame_dir));
	assert_true(folder_has(&bench.folder, "state/folders"));
	cleaner_set_folders(bench.cleaner, other, other);
	wait_removed(&bench, 1);
	run_for(&bench, 50);
	assert_true(folder_has(&bench.folder, "svg/mem"));
	assert_false(folder_has(&bench.folder, "svg/oncpu"));
	cleaner_set_limits(bench.cleaner, &(struct retention_limits){2, 0, 1});
	wait_removed(&bench, 2);
	run_for(&bench, 50);
	assert_false(folder_has(&bench.folder, "svg"));
	assert_false(keeps(&bench, bench.svg_dir));
}

static void wait_looks(const struct bench *bench, unsigned count)
{
	for (int i = 0; i < 3000 && cleaner_stats(bench->cleaner)->failed < count; i++)
		run_for(bench, 10);
	run_for(bench, 100); /* and no more */
	assert_int_equal(cleaner_stats(bench->cleaner)->failed, count);
	assert_int_equal(looks, count);
}

static void pass_an_hour(const struct bench *bench)
{
	run_for(bench, 50); /* a job that runs meanwhile would have taken an hour */
	__atomic_add_fetch(&passed_s, 3601, __ATOMIC_RELAXED);
	run_for(bench, 50);
}

static void a_folder_that_hangs_is_not_looked_at_again_before_the_look_has_returned(void **state)
{
	_cleanup_(bench_done) struct bench bench;
	char other[192], svg[192], flame[192];

	(void)state;
	bench_make_for(&bench, 7, 0, 1, true);
	put_aged(&bench, 8);
	snprintf(other, sizeof(other), "%s/other", bench.folder.path);
	snprintf(svg, sizeof(svg), "%s/hangs/svg", bench.folder.path);
	snprintf(flame, sizeof(flame), "%s/hangs/flame", bench.folder.path);
	cleaner_note_use(bench.cleaner, svg, flame);
	cleaner_note_use(bench.cleaner, bench.svg_dir, bench.flame_dir);
	set_hanging("/hangs/flame"); /* an earlier one */
	cleaner_set_folders(bench.cleaner, other, other);
	wait_removed(&bench, 1); /* the others are cleaned */
	wait_looks(&bench, 1);
	pass_an_hour(&bench);
	wait_looks(&bench, 1);
	cleaner_set_folders(bench.cleaner, bench.svg_dir, flame); /* it is present now */
	put_aged(&bench, 9);
	pass_an_hour(&bench);
	wait_removed(&bench, 2);
	wait_looks(&bench, 1);
	set_hanging("");
	run_for(&bench, 50);
	put_aged(&bench, 10);
	pass_an_hour(&bench);
	wait_removed(&bench, 3);
	set_hanging("/hangs/flame");
	pass_an_hour(&bench);
	wait_looks(&bench, 2);
	set_hanging("");
}

static void of_many_earlier_folders_that_hang_a_few_are_looked_at(void **state)
{
	_cleanup_(bench_done) struct bench bench;
	char path[192], flame[192];

	(void)state;
	bench_make_for(&bench, 7, 0, 1, true);
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%s/hangs/%d/svg", bench.folder.path, i);
		snprintf(flame, sizeof(flame), "%s/hangs/%d/flame", bench.folder.path, i);
		cleaner_note_use(bench.cleaner, path, flame);
	}
	set_hanging("/hangs/");
	cleaner_set_folders(bench.cleaner, bench.svg_dir, bench.flame_dir);
	wait_looks(&bench, 14);
	put_aged(&bench, 8);
	pass_an_hour(&bench);
	wait_removed(&bench, 1); /* the present ones are cleaned all the same */
	wait_looks(&bench, 14);
	set_hanging("");
}

/* A mount that comes after the daemon. */
static void a_folder_that_is_missing_is_forgotten_after_a_day_of_that(void **state)
{
	_cleanup_(bench_done) struct bench bench;
	char other[192];

	(void)state;
	bench_make(&bench, 7, 0, 1);
	snprintf(other, sizeof(other), "%s/other", bench.folder.path);
	cleaner_note_use(bench.cleaner, bench.svg_dir, bench.flame_dir);
	cleaner_set_folders(bench.cleaner, other, other);
	for (int hours = 0; hours < 23; hours++)
		pass_an_hour(&bench);
	assert_true(keeps(&bench, bench.svg_dir) && keeps(&bench, bench.flame_dir));
	put_aged(&bench, 8);
	put_aged(&bench, 0);
	pass_an_hour(&bench);
	wait_removed(&bench, 1); /* it is there; the other isn't for a day */
	pass_an_hour(&bench);
	assert_true(keeps(&bench, bench.svg_dir));
	assert_false(keeps(&bench, bench.flame_dir));
}

static void a_folder_that_became_anothers_is_no_failure_and_forgotten_after_a_day(void **state)
{
	_cleanup_(bench_done) struct bench bench;
	char other[192];

	(void)state;
	bench_make(&bench, 7, 0, 1);
	snprintf(other, sizeof(other), "%s/other", bench.folder.path);
	cleaner_note_use(bench.cleaner, bench.svg_dir, bench.flame_dir);
	put_aged(&bench, 8);
	assert_int_equal(fchmodat(bench.folder.fd, "svg", 0777, 0), 0);
	folder_put(&bench.folder, "flame", "x", 1);
	cleaner_set_folders(bench.cleaner, other, other);
	for (int hours = 0; hours < 23; hours++)
		pass_an_hour(&bench);
	assert_true(keeps(&bench, bench.svg_dir) && keeps(&bench, bench.flame_dir));
	pass_an_hour(&bench);
	pass_an_hour(&bench);
	folder_assert_content(&bench.folder, "state/folders", "");
	assert_int_equal(cleaner_stats(bench.cleaner)->failed, 0);
	assert_int_equal(cleaner_stats(bench.cleaner)->removed, 0);
}

/* Whatever else its daemon does: nobody has sent a PUT. */
static void after_a_restart_earlier_folders_are_cleaned_before_any_is_told(void **state)
{
	_cleanup_(bench_done) struct bench bench;

	(void)state;
	bench_make(&bench, 7, 0, 1);
	put_aged(&bench, 8);
	put_aged(&bench, 1);
	cleaner_note_use(bench.cleaner, bench.svg_dir, bench.flame_dir);
	cleaner_free(bench.cleaner);
	struct cleaner_setup setup = {bench.loop,
				      bench.worker,
				      {bench.roots, 1},
				      {.days = 7, .interval = 1},
				      bench.state_dir};
	assert_int_equal(cleaner_new(&bench.cleaner, &setup), 0);
	wait_removed(&bench, 1);
	assert_int_equal(cleaner_stats(bench.cleaner)->failed, 0);
}

static int be_quiet(void **state)
{
	(void)state;
	log_set_level(LOG_ERROR);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_folders_are_cleaned_when_they_are_told),
		cmocka_unit_test(each_view_has_its_folder_cleaned),
		cmocka_unit_test(within_the_interval_a_run_is_put_off_and_not_forgotten),
		cmocka_unit_test(other_limits_count_at_once),
		cmocka_unit_test(a_clock_that_jumps_ahead_makes_no_file_old),
		cmocka_unit_test(folders_of_before_are_cleaned_and_forgotten_when_empty),
		cmocka_unit_test(
			a_folder_that_hangs_is_not_looked_at_again_before_the_look_has_returned),
		cmocka_unit_test(of_many_earlier_folders_that_hang_a_few_are_looked_at),
		cmocka_unit_test(a_folder_that_is_missing_is_forgotten_after_a_day_of_that),
		cmocka_unit_test(after_a_restart_earlier_folders_are_cleaned_before_any_is_told),
		cmocka_unit_test(
			a_folder_that_became_anothers_is_no_failure_and_forgotten_after_a_day),
	};

	return cmocka_run_group_tests(tests, be_quiet, NULL);
}
