// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_store: windows on disk: a restart, damage, a full disk. */
#include "unit/history/store_scene.h"

#include <signal.h>
#include <sys/resource.h>

#define LENGTH (30 * SECOND)

/* ---- adding ---- */

static void windows_that_were_added_are_read(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 5);
	assert_int_equal(scene->store.counts.windows, 5);
	assert_int_equal(entries_of(scene, HISTORY_WINDOW)->count, 5);
	assert_as_by_hand(scene, &EVER);
	assert_each_once(scene, &(struct history_range){BEGIN + LENGTH, BEGIN + 3 * LENGTH},
			 HISTORY_HOUR, 0);
}

static void a_restart_has_them_and_goes_on(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	int64_t at = BEGIN;

	(void)state;
	for (int i = 0; i < 4; i++) {
		at = scene_add_many(scene, at, LENGTH, 3);
		scene_restart(scene);
		const struct history_entries *windows = entries_of(scene, HISTORY_WINDOW);
		assert_int_equal(windows->count, scene->count);
		for (size_t n = 0; n < windows->count; n++)
			assert_int_equal(windows->entries[n].head.first, n);
		assert_as_by_hand(scene, &EVER);
	}
	assert_int_equal(count_files(&scene->folder, NULL), 4);
	assert_int_equal(history_files_stats(scene->store.files)->damaged, 0);
}

static void a_restart_without_windows_is_one(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_blend_ struct blend blend = new_blend();
	uint64_t damaged = 0;

	(void)state;
	scene_restart(scene);
	assert_int_equal(
		history_store_blend(&scene->store, SERIES, &EVER, HISTORY_HOUR, &blend, &damaged),
		-ENOENT);
	history_store_settle(&scene->store);
	history_store_trim(&scene->store);
	scene_add_many(scene, BEGIN, LENGTH, 1);
	assert_as_by_hand(scene, &EVER);
}

static void each_series_has_its_own_windows(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add_stack(tree, "[7]app;other", 5, 5);
	_cleanup_window_ struct made_window other = window_of(tree, BEGIN, LENGTH);
	scene_add_many(scene, BEGIN, LENGTH, 12);
	for (int i = 0; i < 12; i++) {
		other.head.from += i ? LENGTH : 0;
		other.head.until = other.head.from + LENGTH;
		assert_int_equal(
			history_store_add(&scene->store, "oncpu.more", &other.head, &other.payload),
			0);
	}
	history_store_settle(&scene->store);
	scene_restart(scene);
	assert_as_by_hand(scene, &EVER);
	_cleanup_blend_ struct blend blend = new_blend();
	uint64_t damaged = 0;
	assert_int_equal(history_store_blend(&scene->store, "oncpu.more", &EVER, HISTORY_HOUR,
					     &blend, &damaged),
			 0);
	assert_folded(blend.tree, "[7]app;other 60\n");
}

static void a_second_daemon_is_told_that_there_is_one(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	struct history_store second = {0};
	struct why why = {""};

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 2);
	assert_int_equal(history_store_open(&second, scene->folder.path, &why), -EBUSY);
	assert_has(why.text, "another daemon");
	assert_has(why.text, scene->folder.path);
	history_store_done(&second);
	scene_add_many(scene, BEGIN + 2 * LENGTH, LENGTH, 1);
	assert_as_by_hand(scene, &EVER);
	history_store_done(&scene->store);
	assert_int_equal(history_store_open(&second, scene->folder.path, &why), 0);
	history_store_done(&second);
	scene_open(scene);
}

/* ---- damage ---- */

/* Returns how many whole records the first bytes of a file have. */
static size_t whole_records(const struct history_entries *entries, size_t bytes)
{
	size_t at = 0, count = 0;

	for (; count < entries->count; count++) {
		at += HISTORY_HEAD_BYTES + entries->entries[count].head.packed;
		if (at > bytes)
			break;
	}
	return count;
}

/* Opens what a power cut has left of the windows, and goes on. */
static void open_cut(const struct store_scene *from, const struct buf *file, size_t len,
		     size_t whole)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	bool wanted[16] = {false};

	history_store_done(&scene->store);
	write_part(&scene->folder, "window", 0, file->data, len);
	scene_open(scene);
	memcpy(scene->windows, from->windows, sizeof(scene->windows));
	scene->count = from->count;
	for (size_t i = 0; i < whole; i++)
		wanted[i] = true;
	if (whole)
		assert_are_there(scene, wanted);
	scene_add_many(scene, BEGIN + 10 * LENGTH, LENGTH, 2);
	wanted[from->count] = wanted[from->count + 1] = true;
	assert_are_there(scene, wanted);
	scene_restart(scene);
	assert_are_there(scene, wanted);
	history_store_settle(&scene->store);
	assert_are_there(scene, wanted);
	assert_int_equal(scene->store.counts.damaged, 0);
}

static void a_file_cut_anywhere_has_the_records_before_and_later_ones(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 4);
	read_part(&scene->folder, "window", 0, &file);
	const struct history_entries *windows = entries_of(scene, HISTORY_WINDOW);
	assert_int_equal(whole_records(windows, file.len), 4);
	assert_int_equal(whole_records(windows, file.len - 1), 3);
	for (size_t len = 0; len <= file.len; len++)
		open_cut(scene, &file, len, whole_records(windows, len));
}

/* A power cut while blocks are written; their windows are all there. */
static void open_cut_blocks(const struct store_scene *from, const struct buf *windows,
			    const struct buf *blocks, size_t len)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	history_store_done(&scene->store);
	write_part(&scene->folder, "window", 0, windows->data, windows->len);
	write_part(&scene->folder, "block", 0, blocks->data, len);
	scene_open(scene);
	memcpy(scene->windows, from->windows, sizeof(scene->windows));
	scene->count = from->count;
	assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
	history_store_settle(&scene->store);
	if (entries_of(scene, HISTORY_BLOCK)->count != 3)
		fail_msg("cut at byte %zu: %zu blocks", len,
			 entries_of(scene, HISTORY_BLOCK)->count);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 1);
	assert_as_by_hand(scene, &EVER);
	scene_restart(scene);
	history_store_settle(&scene->store);
	assert_int_equal(scene->store.counts.merged, 0);
	assert_as_by_hand(scene, &EVER);
}

static void blocks_cut_anywhere_are_put_together_again(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf windows, blocks;

	(void)state;
	scene_add_many(scene, BEGIN, 2 * MINUTE + 30 * SECOND, 6);
	read_part(&scene->folder, "window", 0, &windows);
	history_store_settle(&scene->store);
	read_part(&scene->folder, "block", 0, &blocks);
	assert_int_equal(whole_records(entries_of(scene, HISTORY_BLOCK), blocks.len), 3);
	for (size_t len = 0; len <= blocks.len; len++)
		open_cut_blocks(scene, &windows, &blocks, len);
}

/* Opens a file of which a byte of the second payload is another one. Returns whether that record
 * is damaged. */
static bool is_damaged_by(const struct store_scene *from, const struct buf *file, size_t at)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_blend_ struct blend blend = new_blend();
	uint64_t damaged = 0;

	history_store_done(&scene->store);
	file->data[at] ^= (char)0xff;
	write_part(&scene->folder, "window", 0, file->data, file->len);
	file->data[at] ^= (char)0xff;
	scene_open(scene);
	assert_int_equal(
		history_store_blend(&scene->store, SERIES, &EVER, HISTORY_HOUR, &blend, &damaged),
		0);
	assert_int_equal(scene->store.counts.damaged, damaged);
	assert_true(damaged <= 1);
	for (size_t i = 0; i < from->count; i++)
		assert_int_equal(times_blended(&blend, i), damaged && i == 1 ? 0 : 1);
	assert_int_equal(blend.sum.windows, from->count - damaged);
	return damaged;
}

static void a_damaged_payload_is_counted_and_the_others_are_read(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file;
	size_t harmless = 0;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 4);
	read_part(&scene->folder, "window", 0, &file);
	const struct history_entry *second = &entries_of(scene, HISTORY_WINDOW)->entries[1];
	for (size_t i = 0; i < second->head.packed; i++)
		harmless += !is_damaged_by(scene, &file, second->place.offset + i);
	assert_true(harmless <= 1); /* a byte that only fills the stream up */
}

static void a_damaged_head_ends_its_file_and_no_other(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	static const bool wanted[] = {true, false, false, true, true, true};
	_cleanup_buf_ struct buf file;

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 3);
	scene_restart(scene);
	scene_add_many(scene, BEGIN + 3 * LENGTH, LENGTH, 3);
	uint64_t offset = entries_of(scene, HISTORY_WINDOW)->entries[1].place.offset;
	history_store_done(&scene->store);
	read_part(&scene->folder, "window", 0, &file);
	for (size_t i = 0; i < HISTORY_HEAD_BYTES; i++) {
		size_t at = (size_t)offset - 1 - i;

		file.data[at] ^= 1;
		write_part(&scene->folder, "window", 0, file.data, file.len);
		file.data[at] ^= 1;
		scene_open(scene);
		assert_are_there(scene, wanted);
		assert_int_equal(history_files_stats(scene->store.files)->damaged,
				 file.len - (offset - HISTORY_HEAD_BYTES));
		history_store_done(&scene->store);
	}
	scene_open(scene);
}

static void a_block_stands_for_its_damaged_windows_too(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_buf_ struct buf file;

	(void)state;
	scene_add_many(scene, BEGIN, MINUTE, 10);
	history_store_done(&scene->store);
	read_part(&scene->folder, "window", 0, &file);
	scene_open(scene);
	const struct history_entry *windows = entries_of(scene, HISTORY_WINDOW)->entries;
	for (size_t i = 2; i < 10; i += i == 2 ? 3 : 1)
		file.data[windows[i].place.offset + 9] ^= 0x55;
	write_part(&scene->folder, "window", 0, file.data, file.len);
	history_store_settle(&scene->store);
	assert_int_equal(scene->store.counts.damaged, 6);
	const struct history_entries *blocks = entries_of(scene, HISTORY_BLOCK);
	assert_int_equal(blocks->count, 2);
	assert_int_equal(blocks->entries[0].head.windows, 4);
	assert_int_equal(blocks->entries[1].head.windows, 0);
	assert_int_equal(blocks->entries[1].head.first, 5);
	assert_int_equal(blocks->entries[1].head.last, 9);
	history_store_settle(&scene->store);
	assert_int_equal(scene->store.counts.damaged, 6); /* they aren't looked at again */
	_cleanup_blend_ struct blend blend = blend_range(scene, &EVER, HISTORY_HOUR, 0);
	assert_int_equal(blend.sum.windows, 4);
	assert_int_equal(blend.sum.from, BEGIN);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(times_blended(&blend, i), i < 5 && i != 2);
}

/* ---- a full disk ---- */

/* Lets files grow to so many bytes, as if the disk were full then. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int unlimit_files(void **state)
{
	(void)state;
	limit_files(RLIM_INFINITY);
	return 0;
}

static void a_window_that_the_disk_has_no_room_for_is_counted(void **state)
{
	(void)state;
	for (rlim_t room = 0; room < HISTORY_HEAD_BYTES + 20; room += 7) {
		_cleanup_scene_ struct store_scene *scene = scene_new();
		_cleanup_buf_ struct buf file;

		scene_add_many(scene, BEGIN, LENGTH, 2);
		read_part(&scene->folder, "window", 0, &file);
		limit_files(file.len + room);
		assert_true(scene_add(scene, BEGIN + 2 * LENGTH, LENGTH) < 0);
		assert_int_equal(scene->store.counts.failed, 1);
		unlimit_files(NULL);
		assert_as_by_hand(scene, &EVER);
		scene_add_many(scene, BEGIN + 3 * LENGTH, LENGTH, 2);
		assert_int_equal(scene->store.counts.windows, 4);
		assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
		scene_restart(scene);
		assert_each_once(scene, &EVER, HISTORY_HOUR, 0);
		assert_int_equal(history_files_stats(scene->store.files)->damaged, 0);
	}
}

static void blocks_that_the_disk_has_no_room_for_are_made_later(void **state)
{
	(void)state;
	for (rlim_t room = 0; room < HISTORY_HEAD_BYTES + 20; room += 7) {
		_cleanup_scene_ struct store_scene *scene = scene_new();

		scene_add_many(scene, BEGIN, MINUTE, 10);
		limit_files(room);
		history_store_settle(&scene->store);
		assert_int_equal(scene->store.counts.merged, 0);
		unlimit_files(NULL);
		assert_as_by_hand(scene, &EVER);
		history_store_settle(&scene->store);
		assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 2);
		assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 1);
		assert_as_by_hand(scene, &EVER);
		scene_restart(scene);
		assert_as_by_hand(scene, &EVER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_that_were_added_are_read),
		cmocka_unit_test(a_restart_has_them_and_goes_on),
		cmocka_unit_test(a_restart_without_windows_is_one),
		cmocka_unit_test(each_series_has_its_own_windows),
		cmocka_unit_test(a_second_daemon_is_told_that_there_is_one),
		cmocka_unit_test(a_file_cut_anywhere_has_the_records_before_and_later_ones),
		cmocka_unit_test(blocks_cut_anywhere_are_put_together_again),
		cmocka_unit_test(a_damaged_payload_is_counted_and_the_others_are_read),
		cmocka_unit_test(a_damaged_head_ends_its_file_and_no_other),
		cmocka_unit_test(a_block_stands_for_its_damaged_windows_too),
		cmocka_unit_test_teardown(a_window_that_the_disk_has_no_room_for_is_counted,
					  unlimit_files),
		cmocka_unit_test_teardown(blocks_that_the_disk_has_no_room_for_are_made_later,
					  unlimit_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
