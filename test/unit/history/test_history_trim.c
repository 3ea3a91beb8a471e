// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_files: what is too old or too much is removed, and what isn't ours stays. */
#include "unit/history/store_scene.h"

#define LENGTH (150 * SECOND)
#define DAY    (24 * HOUR)

/* So many hours of windows, put together. */
static struct store_scene *scene_of_hours(int hours)
{
	struct store_scene *scene = scene_new();

	scene_add_many(scene, BEGIN, LENGTH, hours * 24);
	history_store_settle(&scene->store);
	return scene;
}

/* Trims the files and has the index forget them. Returns how many were removed. */
static size_t trim_files(struct store_scene *scene, int64_t days, int64_t bytes, bool by_age,
			 int64_t now)
{
	struct history_limits limits = {days, bytes};
	size_t removed = history_files_trim(scene->store.files, &limits, by_age, now);

	history_index_forget(&scene->store.index, scene->store.files);
	return removed;
}

/* The files' bytes are those that are counted. */
static void assert_bytes_are_counted(struct store_scene *scene)
{
	const struct history_files *files = scene->store.files;
	uint64_t bytes = 0, there = 0;

	for (uint32_t i = 0; i < history_files_count(files); i++) {
		static const char *const levels[] = {"window", "block", "hour"};
		const struct history_file *file = history_files_at(files, i);
		struct stat status;
		char path[256];

		file_path(levels[file->level], file->number, path);
		bytes += file->bytes;
		if (!file->bytes)
			continue;
		there++;
		assert_int_equal(fstatat(scene->folder.fd, path, &status, 0), 0);
		assert_int_equal(status.st_size, file->bytes);
	}
	assert_int_equal(bytes, history_files_stats(files)->bytes);
	assert_int_equal(count_files(&scene->folder, NULL), there);
}

/* ---- by age ---- */

static void windows_are_kept_for_a_day_and_blocks_stand_for_older_ones(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(30);
	uint64_t random = 1;

	(void)state;
	assert_int_equal(trim_files(scene, 0, 0, false, BEGIN + 30 * HOUR), 0);
	assert_int_equal(trim_files(scene, 0, 0, true, BEGIN + 24 * HOUR), 0);
	assert_int_equal(trim_files(scene, 0, 0, true, BEGIN + 30 * HOUR), 5);
	assert_int_equal(history_files_stats(scene->store.files)->removed, 5);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->entries[0].head.first, 5 * 24);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 30 * 12);
	assert_bytes_are_counted(scene);
	for (int level = 0; level < HISTORY_LEVELS; level++)
		assert_each_once(scene, &EVER, level, 0);
	for (int i = 0; i < 30; i++) {
		int64_t from = BEGIN + (int64_t)(random_next(&random) % 360) * 5 * MINUTE;
		int64_t until = from + (int64_t)(random_next(&random) % 100) * 5 * MINUTE;
		struct history_range range = {from, until};

		for (int level = 0; level < HISTORY_LEVELS; level++)
			assert_each_once(scene, &range, level, 0);
	}
	scene_restart(scene);
	assert_each_once(scene, &EVER, HISTORY_WINDOW, 0);
	history_store_settle(&scene->store);
	assert_int_equal(scene->store.counts.merged, 0);
}

/* Adds up the windows of a range, whatever their middles are. */
static uint64_t windows_in(struct store_scene *scene, int64_t from, int64_t until)
{
	_cleanup_blend_ struct blend blend =
		blend_range(scene, &(struct history_range){from, until}, HISTORY_HOUR, 0);

	for (size_t i = 0; i < scene->count; i++)
		assert_true(times_blended(&blend, i) <= 1);
	return blend.sum.windows;
}

static void of_what_is_old_a_block_is_in_the_range_that_has_its_middle(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(30);

	(void)state;
	assert_int_equal(trim_files(scene, 0, 0, true, BEGIN + 30 * HOUR), 5);
	for (int64_t cut = 0; cut <= 10 * MINUTE; cut += 10 * SECOND) {
		int64_t middle = BEGIN + HOUR + cut;

		assert_int_equal(windows_in(scene, BEGIN, middle) +
					 windows_in(scene, middle, BEGIN + 30 * HOUR),
				 30 * 24);
	}
}

static void blocks_and_hours_are_kept_for_as_many_days_as_the_limit_says(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(26);

	(void)state;
	assert_int_equal(trim_files(scene, 3, 0, true, BEGIN + 3 * DAY), 26);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->count, 0);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 26 * 12);
	assert_each_once(scene, &EVER, HISTORY_WINDOW, 0);
	/* A file goes with the last record in it. */
	assert_int_equal(trim_files(scene, 3, 0, true, BEGIN + 3 * DAY + 6 * HOUR), 0);
	assert_int_equal(trim_files(scene, 3, 0, true, BEGIN + 3 * DAY + 6 * HOUR + 1), 1);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 20 * 12);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 26);
	for (int level = 0; level < HISTORY_LEVELS; level++)
		assert_each_once(scene, &EVER, level, 0);
	assert_int_equal(trim_files(scene, 3, 0, true, BEGIN + 9 * DAY), 6);
	assert_int_equal(count_files(&scene->folder, NULL), 0);
	assert_int_equal(history_files_stats(scene->store.files)->bytes, 0);
	assert_int_equal(history_files_stats(scene->store.files)->removed, 26 + 1 + 6);
	for (int level = 0; level < HISTORY_LEVELS; level++)
		assert_int_equal(entries_of(scene, level)->count, 0);
}

static void what_was_removed_has_room_for_new_windows(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(3);
	size_t before = scene->count;

	(void)state;
	assert_int_equal(trim_files(scene, 1, 0, true, BEGIN + 30 * DAY), 3 + 1 + 1);
	scene_add_many(scene, BEGIN + 3 * HOUR, LENGTH, 48);
	history_store_settle(&scene->store);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->entries[0].head.first, before);
	assert_each_once(scene, &EVER, HISTORY_HOUR, before);
	assert_bytes_are_counted(scene);
	scene_restart(scene);
	assert_each_once(scene, &EVER, HISTORY_HOUR, before);
}

static void age_counts_once_the_clock_was_steady_for_an_hour(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(2);
	struct history_store *store = &scene->store;

	(void)state;
	store->limits.days = 1;
	history_store_trim(store);
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
	store->steady_ns -= (uint64_t)HOUR;
	store->offset -= 2 * HOUR; /* the clock was set */
	history_store_trim(store);
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
	store->steady_ns -= (uint64_t)HOUR;
	history_store_trim(store);
	assert_int_equal(count_files(&scene->folder, NULL), 0);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 0);
}

/* ---- by size ---- */

/* After trimming: all fits, no file is older than one that was removed, and no more was removed
 * than had to be. */
static void assert_oldest_are_gone(const struct history_file *before, size_t count,
				   const struct history_files *files, uint64_t limit)
{
	int64_t newest = INT64_MIN;
	uint64_t last = 0; /* bytes of the file that was removed last, or of a larger one as new */

	for (size_t i = 0; i < count; i++) {
		const struct history_file *file = &before[i];

		if (!file->bytes || history_files_at(files, (uint32_t)i)->bytes)
			continue;
		if (file->until > newest || (file->until == newest && file->bytes > last))
			last = file->bytes;
		newest = file->until > newest ? file->until : newest;
	}
	for (size_t i = 0; i < count; i++) {
		if (history_files_at(files, (uint32_t)i)->bytes)
			assert_true(before[i].until >= newest);
	}
	assert_true(history_files_stats(files)->bytes <= limit);
	assert_true(!last || history_files_stats(files)->bytes + last > limit);
}

static void of_what_is_too_much_the_oldest_goes(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(15);
	const struct history_files *files = scene->store.files;
	uint64_t bytes = history_files_stats(files)->bytes;
	size_t count = history_files_count(files), removed = 0, still = scene->count;

	(void)state;
	assert_int_equal(trim_files(scene, 0, (int64_t)bytes, false, BEGIN + 15 * HOUR), 0);
	for (uint64_t limit = bytes - 1; limit > 1000; limit = limit * 9 / 10) {
		struct history_file before[64];

		for (size_t i = 0; i < count; i++)
			before[i] = *history_files_at(files, (uint32_t)i);
		removed += trim_files(scene, 0, (int64_t)limit, false, BEGIN + 15 * HOUR);
		assert_oldest_are_gone(before, count, files, limit);
		assert_int_equal(history_files_stats(files)->removed, removed);
		assert_bytes_are_counted(scene);
		uint64_t left = windows_in(scene, 0, INT64_MAX);
		assert_true(left <= still);
		still = left;
	}
	assert_true(removed > 15);
}

static void what_is_trimmed_is_forgotten_and_not_damaged(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_of_hours(8);

	(void)state;
	scene->store.limits.bytes = (int64_t)history_files_stats(scene->store.files)->bytes / 3;
	for (int i = 0; i < 30; i++) {
		scene_add_many(scene, scene->windows[scene->count - 1].until, LENGTH, 5);
		history_store_settle(&scene->store);
		history_store_trim(&scene->store);
		assert_true((int64_t)history_files_stats(scene->store.files)->bytes <=
			    scene->store.limits.bytes);
		assert_true(windows_in(scene, 0, INT64_MAX) > 24);
	}
	assert_bytes_are_counted(scene);
	assert_int_equal(scene->store.counts.damaged, 0);
	scene_restart(scene);
	assert_true(windows_in(scene, 0, INT64_MAX) > 24);
	assert_int_equal(scene->store.counts.damaged, 0);
}

static void a_file_of_the_future_is_the_oldest_and_has_no_age(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	int64_t now = BEGIN + 2 * HOUR;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 24);
	scene_add_many(scene, BEGIN + 100 * DAY, LENGTH, 24); /* the clock was wrong */
	scene_add_many(scene, BEGIN + HOUR, LENGTH, 24);
	assert_int_equal(trim_files(scene, 1, 0, true, now), 0);
	int64_t bytes = (int64_t)history_files_stats(scene->store.files)->bytes;
	assert_int_equal(trim_files(scene, 1, bytes - 1, true, now), 1);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->count, 48);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->entries[24].head.first, 48);
}

static void blocks_stand_for_windows_that_are_missing_in_the_middle(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 24);
	scene_add_many(scene, BEGIN + 100 * DAY, LENGTH, 24); /* the clock was wrong */
	scene_add_many(scene, BEGIN + HOUR, LENGTH, 24);
	history_store_settle(&scene->store);
	int64_t bytes = (int64_t)history_files_stats(scene->store.files)->bytes;
	assert_int_equal(trim_files(scene, 0, bytes - 1, false, BEGIN + 2 * HOUR), 1);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->count, 48);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 36);
	for (int level = 0; level < HISTORY_LEVELS; level++)
		assert_each_once(scene, &EVER, level, 0);
}

/* ---- what isn't ours ---- */

static const char *const foreign[] = {
	"README",
	"oncpu.window.0000000000000000.bak",
	"oncpu.window.12",
	"oncpu.window.00000000000000zz",
	"oncpu.window.000000000000000A",
	"oncpu.window.-000000000000001",
	"oncpu.window.0x00000000000001",
	"oncpu.other.0000000000000000",
	"oncpu.window.",
	"oncpu.window",
	".window.0000000000000001",
	"..window.00000000000000001",
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234."
	"window.0000000000000001",
};

/* What a file of windows may be by its name, and isn't. */
static void put_pretenders(const struct store_scene *scene, const struct buf *file)
{
	int folder = scene->folder.fd;

	folder_put(&scene->folder, "elsewhere", file->data, file->len);
	assert_int_equal(symlinkat("../elsewhere", folder, "history/oncpu.window.0000000000000005"),
			 0);
	assert_int_equal(symlinkat("../nowhere", folder, "history/oncpu.window.0000000000000006"),
			 0);
	folder_put(&scene->folder, "linked", file->data, file->len);
	assert_int_equal(
		linkat(folder, "linked", folder, "history/oncpu.window.0000000000000007", 0), 0);
	assert_int_equal(mkdirat(folder, "history/oncpu.window.0000000000000008", 0700), 0);
	assert_int_equal(mkfifoat(folder, "history/oncpu.window.0000000000000009", 0600), 0);
	write_part(&scene->folder, "window", 10, file->data, file->len);
	/* Only root may give a file away; else it is a name of nobody's. */
	if (geteuid() == 0)
		assert_int_equal(
			fchownat(folder, "history/oncpu.window.000000000000000a", 65534, 65534, 0),
			0);
	else
		assert_int_equal(unlinkat(folder, "history/oncpu.window.000000000000000a", 0), 0);
}

static void put_foreign(const struct store_scene *scene, const struct buf *file)
{
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		char path[256];

		snprintf(path, sizeof(path), "history/%s", foreign[i]);
		folder_put(&scene->folder, path, file->data, file->len);
	}
}

static void what_is_not_ours_is_left_alone(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file, still = BUF_INIT(FILE_BYTES);

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 3);
	read_part(&scene->folder, "window", 0, &file);
	history_store_done(&scene->store);
	put_foreign(scene, &file);
	put_pretenders(scene, &file);
	size_t count = count_files(&scene->folder, NULL);
	scene_open(scene);
	assert_int_equal(scene->store.index.count, 1);
	assert_int_equal(history_files_count(scene->store.files), 1);
	assert_int_equal(history_files_stats(scene->store.files)->bytes, file.len);
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
	assert_int_equal(trim_files(scene, 1, 1, true, BEGIN + 1000 * DAY), 1);
	assert_int_equal(count_files(&scene->folder, NULL), count - 1);
	assert_int_equal(file_read(scene->folder.fd, "linked", &still), 0);
	assert_int_equal(still.len, file.len);
	assert_memory_equal(still.data, file.data, file.len);
}

static void a_foreign_file_in_the_way_costs_a_window_and_stays(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	folder_put(&scene->folder, "elsewhere", "mine", 4);
	assert_int_equal(symlinkat("../elsewhere", scene->folder.fd,
				   "history/oncpu.window.0000000000000000"),
			 0);
	assert_true(scene_add(scene, BEGIN, LENGTH) < 0);
	assert_int_equal(scene->store.counts.failed, 1);
	scene_add_many(scene, BEGIN, LENGTH, 3);
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
	folder_assert_content(&scene->folder, "elsewhere", "mine");
	scene_restart(scene);
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
}

static void a_copy_of_a_file_doubles_nothing(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 3);
	read_part(&scene->folder, "window", 0, &file);
	history_store_done(&scene->store);
	write_part(&scene->folder, "window", 2, file.data, file.len);
	scene_open(scene);
	assert_int_equal(scene->store.counts.damaged, 3);
	assert_as_by_hand(scene, &EVER);
	scene_add_many(scene, BEGIN + 3 * LENGTH, LENGTH, 2);
	assert_as_by_hand(scene, &EVER);
}

static void what_somebody_lengthens_is_not_appended_to(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 2);
	read_part(&scene->folder, "window", 0, &file);
	buf_str(&file, "more");
	write_part(&scene->folder, "window", 0, file.data, file.len);
	scene_add_many(scene, BEGIN + 2 * LENGTH, LENGTH, 2);
	assert_int_equal(count_files(&scene->folder, NULL), 2);
	assert_as_by_hand(scene, &EVER);
	scene_restart(scene);
	assert_as_by_hand(scene, &EVER);
	assert_int_equal(history_files_stats(scene->store.files)->damaged, 4);
}

static void assert_refused(const char *state_dir, int error)
{
	struct history_store store = {0};
	struct why why = {""};

	assert_int_equal(history_store_open(&store, state_dir, &why), error);
	assert_has(why.text, state_dir);
	history_store_done(&store);
}

static void a_folder_that_others_may_write_is_refused(void **state)
{
	_cleanup_folder_ struct folder folder;

	(void)state;
	folder_make(&folder);
	assert_int_equal(mkdirat(folder.fd, "real", 0700), 0);
	assert_int_equal(symlinkat("real", folder.fd, "history"), 0);
	assert_refused(folder.path, -ELOOP);
	assert_int_equal(unlinkat(folder.fd, "history", 0), 0);
	assert_int_equal(mkdirat(folder.fd, "history", 0700), 0);
	assert_int_equal(fchmodat(folder.fd, "history", 0777, 0), 0);
	assert_refused(folder.path, -EACCES);
	assert_int_equal(unlinkat(folder.fd, "history", AT_REMOVEDIR), 0);
	folder_put(&folder, "history", "", 0);
	assert_refused(folder.path, -ENOTDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_kept_for_a_day_and_blocks_stand_for_older_ones),
		cmocka_unit_test(of_what_is_old_a_block_is_in_the_range_that_has_its_middle),
		cmocka_unit_test(blocks_and_hours_are_kept_for_as_many_days_as_the_limit_says),
		cmocka_unit_test(what_was_removed_has_room_for_new_windows),
		cmocka_unit_test(age_counts_once_the_clock_was_steady_for_an_hour),
		cmocka_unit_test(of_what_is_too_much_the_oldest_goes),
		cmocka_unit_test(what_is_trimmed_is_forgotten_and_not_damaged),
		cmocka_unit_test(a_file_of_the_future_is_the_oldest_and_has_no_age),
		cmocka_unit_test(blocks_stand_for_windows_that_are_missing_in_the_middle),
		cmocka_unit_test(what_is_not_ours_is_left_alone),
		cmocka_unit_test(a_foreign_file_in_the_way_costs_a_window_and_stays),
		cmocka_unit_test(a_copy_of_a_file_doubles_nothing),
		cmocka_unit_test(what_somebody_lengthens_is_not_appended_to),
		cmocka_unit_test(a_folder_that_others_may_write_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
