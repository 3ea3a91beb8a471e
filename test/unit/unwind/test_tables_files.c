// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of files that change, go, or hang. */
#include "unit/unwind/tables_scene.h"
#include "unit/lib/folder.h"

#include <fcntl.h>
#include <semaphore.h>

#include "file/symbol_file.h"
#include "elf/fd_budget.h"
#include "unwind/tables.h"

static void a_changed_file_has_another_table(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *before = get_new(&scene, "a", 1000);
	wait_for_tables(&scene);
	usleep(20000);					  /* file times are coarse */
	struct table *after = get_new(&scene, "a", 2000); /* written anew */
	wait_for_tables(&scene);
	assert_ptr_not_equal(before, after);
	assert_int_equal(kind_of(&scene, before), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, after), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).rows, 3000);
	table_unref(before);
	table_unref(after);
	scene_done(&scene);
}

static void a_file_written_to_before_it_was_read_has_no_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10};
	struct symbol_place place = {1, 1, 2};

	(void)state;
	scene_make(&scene, 4);
	for (int held = 0; held < 2; held++) {
		put(&scene, "a", &plan);
		struct symbol_file *file = look_at(&scene, "a", held);
		int fd = openat(scene.folder.fd, "a", O_WRONLY | O_APPEND | O_CLOEXEC);
		assert_int_equal(write(fd, "more", 4), 4);
		close(fd);
		struct table *table = tables_get(scene.tables, file, &place);
		wait_for_tables(&scene);
		assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
		table_unref(table);
		symbol_file_unref(file);
		assert_int_equal(unlinkat(scene.folder.fd, "a", 0), 0);
	}
	assert_int_equal(builds, 0);
	assert_int_equal(stats_of(&scene).failed, 2);
	scene_done(&scene);
}

static void a_file_whose_process_has_gone_is_read_when_another_has_it(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10};
	struct symbol_place place = {999999998, 1, 2}, other = {999999999, 1, 2};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct symbol_file *file = look_at(&scene, "a", false);
	assert_int_equal(renameat(scene.folder.fd, "a", scene.folder.fd, "b"), 0);
	struct table *table = tables_get(scene.tables, file, &place);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
	assert_int_equal(renameat(scene.folder.fd, "b", scene.folder.fd, "a"), 0);
	table_unref(tables_get(scene.tables, file, &place));
	assert_false(table_is_pending(table)); /* the same process won't do better */
	table_unref(tables_get(scene.tables, file, &other));
	assert_true(table_is_pending(table));
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

/* Two processes that have it ask in turn, each time they hear that it changed. */
static void other_processes_are_not_asked_without_end(void **state)
{
	struct scene scene;
	struct plan plan = {.error = -EIO};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get_as(&scene, "a", true, 1);
	for (int i = 0; i < 50; i++) {
		wait_for_tables(&scene);
		table_unref(get_as(&scene, "a", true, 2 + i % 2));
	}
	assert_int_equal(builds, 1 + 4);
	table_unref(table);
	scene_done(&scene);
}

static void what_can_not_be_read_is_asked_ever_less(void **state)
{
	struct scene scene;
	struct plan plan = {.error = -EIO};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get(&scene, "a");
	wait_for_tables(&scene);
	sweep(&scene, 100);
	assert_int_equal(builds, 1 + 6); /* after 1, 3, 7, 15, 31 and 63 */
	assert_int_equal(stats_of(&scene).failed, 1);
	table_unref(table);
	scene_done(&scene);
}

static void a_build_that_hangs_is_given_up_and_others_go_on(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10, .hangs = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "hanging", &plan);
	struct table *a = get_new(&scene, "a", 10);
	wait_for_tables(&scene);
	struct table *hanging = get(&scene, "hanging");
	struct table *b = get_new(&scene, "b", 10);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, hanging), SPAN_NO_TABLE);
	assert_int_equal(worker_given_up(scene.worker), 1);
	assert_int_equal(stats_of(&scene).failed, 1);
	/* It isn't asked again; one file says nothing of its file system's others. */
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	tables_sweep(scene.tables);
	assert_false(table_is_pending(hanging));
	assert_int_equal(builds, 3);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	/* When the answer comes at last, it is asked for what is missing. */
	sem_post(&may_go_on);
	sem_post(&may_go_on);
	for (int i = 0; i < 1000 && !table_is_pending(hanging); i++) {
		usleep(1000);
		tables_sweep(scene.tables);
	}
	wait_for_tables(&scene);
	sweep(&scene, 1);
	assert_int_equal(kind_of(&scene, hanging), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	table_unref(hanging);
	scene_done(&scene);
}

static void what_still_hangs_at_the_end_hinders_nobody(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 10, .hangs = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "hanging", &plan);
	struct table *table = get(&scene, "hanging");
	wait_for_tables(&scene);
	assert_int_equal(worker_given_up(scene.worker), 1);
	table_unref(table);
	scene_done(&scene);
	sem_post(&may_go_on);
	usleep(20000); /* it returns and finds nobody */
}

static void many_files_are_built_one_after_the_other(void **state)
{
	enum { MANY = 300 };
	struct scene scene;
	struct table *tables[MANY];
	char name[16];

	(void)state;
	scene_make(&scene, 4);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i);
		tables[i] = get_new(&scene, name, (uint32_t)(1 + i));
	}
	assert_int_equal(stats_of(&scene).pending, MANY);
	wait_for_tables(&scene);
	for (int i = 0; i < MANY; i++) {
		struct span span = span_of(&scene, tables[i]);
		struct span next = span_of(&scene, tables[(i + 1) % MANY]);

		assert_int_equal(span.what >> SPAN_KIND_SHIFT, SPAN_TABLE);
		assert_int_not_equal(span.index, next.index);
	}
	for (int i = 0; i < MANY; i++) {
		table_unref(tables[i]);
		tables_sweep(scene.tables);
		assert_int_equal(stats_of(&scene).tables, i ? MANY - i : MANY);
	}
	sweep(&scene, 4);
	assert_int_equal(stats_of(&scene).arena.bytes, 0);
	scene_done(&scene);
}

static void who_has_a_table_may_outlive_them_all(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = table_ref(get_new(&scene, "a", 10));
	wait_for_tables(&scene);
	table_unref(table);
	scene_done(&scene);
	assert_false(table_is_pending(table));
	table_unref(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_changed_file_has_another_table),
		cmocka_unit_test(a_file_written_to_before_it_was_read_has_no_table),
		cmocka_unit_test(a_file_whose_process_has_gone_is_read_when_another_has_it),
		cmocka_unit_test(other_processes_are_not_asked_without_end),
		cmocka_unit_test(what_can_not_be_read_is_asked_ever_less),
		cmocka_unit_test(a_build_that_hangs_is_given_up_and_others_go_on),
		cmocka_unit_test(what_still_hangs_at_the_end_hinders_nobody),
		cmocka_unit_test(many_files_are_built_one_after_the_other),
		cmocka_unit_test(who_has_a_table_may_outlive_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
