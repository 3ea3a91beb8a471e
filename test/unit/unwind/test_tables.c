// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables that are asked for, built and shared, and how long they stay. */
#include "unit/unwind/tables_scene.h"
#include "unit/lib/folder.h"

#include "loop/loop.h"
#include "file/symbol_file.h"
#include "elf/fd_budget.h"
#include "unwind/tables.h"

static void a_table_is_pending_until_it_is_built(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	assert_true(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_PENDING);
	assert_int_equal(scene.changes, 0);
	wait_for_tables(&scene);
	assert_int_equal(scene.changes, 1);
	assert_false(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.built, 1);
	assert_int_equal(stats.rows, 1000);
	assert_int_equal(stats.bytes, 1000 * 4);
	assert_int_equal(stats.unsupported[1], 2);
	assert_int_equal(stats.arena.used, stats.bytes);
	table_unref(table);
	scene_done(&scene);
}

static void a_span_tells_where_its_code_is_in_the_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 100, .content = 5000, .checksum = 1, .tracks_bx = true};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	struct table *table = get(&scene, "a");
	wait_for_tables(&scene);
	struct span span = span_of(&scene, table);
	/* Its segment begins at 0x1040 in the file and at 0x402040 as linked. */
	assert_int_equal(span.start + 0x40 - span.base, 0x402040 - LOW);
	assert_int_equal(span.what, 7 | SPAN_TABLE << SPAN_KIND_SHIFT | SPAN_TRACKS_BX);
	assert_int_equal(*arena_words(scene.arena, span.index), 5000 + 50);
	/* A part of it, as mprotect() makes them. */
	struct span part = {.start = 0x7f0000002000, .end = 0x7f0000003000};
	table_span(scene.tables, table, 0x2000, &part);
	assert_int_equal(part.base, span.base);
	/* A mapping with the end of one segment, or none of them. */
	struct span other = {.start = 0x10000, .end = 0x11000};
	table_span(scene.tables, table, 0, &other);
	assert_int_equal(other.start + 0x140 - other.base, 0x400140 - LOW);
	struct span none = {.start = 0x10000, .end = 0x11000};
	table_span(scene.tables, table, 0x5000, &none);
	assert_int_equal(none.what, SPAN_BARE << SPAN_KIND_SHIFT);
	table_unref(table);
	scene_done(&scene);
}

static void no_offset_of_a_mapping_reaches_too_far(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 100);
	wait_for_tables(&scene);
	static const uint64_t offsets[] = {UINT64_MAX, UINT64_MAX - 0xfff, 1ULL << 63, 0x3040};
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct span span = {.start = 0x10000, .end = 0x20000};

		table_span(scene.tables, table, offsets[i], &span);
		assert_int_equal(span.what, SPAN_BARE << SPAN_KIND_SHIFT);
	}
	table_unref(table);
	scene_done(&scene);
}

static void one_file_is_read_once(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	struct table *again = get(&scene, "a");
	assert_ptr_equal(table, again);
	wait_for_tables(&scene);
	struct table *late = get(&scene, "a");
	assert_ptr_equal(table, late);
	assert_int_equal(builds, 1);
	assert_int_equal(stats_of(&scene).shared, 0);
	table_unref(table);
	table_unref(again);
	table_unref(late);
	scene_done(&scene);
}

static void a_large_table_crosses_chunks_a_small_one_does_not(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	assert_int_equal(arena_take(scene.arena, CHUNK_WORDS - 100, false), 1);
	struct table *large = get_new(&scene, "a", LARGE), *small = get_new(&scene, "b", 1000);
	wait_for_tables(&scene);
	uint32_t at = span_of(&scene, large).index;
	assert_int_equal(at, CHUNK_WORDS - 99 + LARGE / 2);
	assert_int_equal(*arena_words(scene.arena, at - LARGE / 2), CHUNK_WORDS - 99);
	assert_int_equal(span_of(&scene, small).index % SPAN_WORDS, 500 % SPAN_WORDS);
	assert_int_equal(stats_of(&scene).bytes, (LARGE + LEFT_OVER + 1000) * 4);
	table_unref(large);
	table_unref(small);
	scene_done(&scene);
}

static void files_of_equal_content_share_a_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 1000, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_ptr_not_equal(a, b);
	assert_int_equal(builds, 2);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.built, 1);
	assert_int_equal(stats.shared, 1);
	assert_int_equal(stats.tables, 1);
	assert_int_equal(stats.arena.used, 1000 * 4);
	assert_int_equal(span_of(&scene, a).index, span_of(&scene, b).index);
	/* It stays as long as one of them is there. */
	table_unref(a);
	sweep(&scene, 3);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).tables, 1);
	table_unref(b);
	scene_done(&scene);
}

static void a_forged_checksum_does_not_get_a_file_into_anothers_table(void **state)
{
	struct scene scene;
	struct plan plan = {.words = 1000, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "a", &plan);
	plan.content = 8;
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).shared, 0);
	assert_int_equal(*arena_words(scene.arena, span_of(&scene, a).index), 7 + 500);
	assert_int_equal(*arena_words(scene.arena, span_of(&scene, b).index), 8 + 500);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

/* What was in those words before is no part of it. */
static void a_table_in_used_words_is_shared_too(void **state)
{
	struct scene scene;
	struct plan plan = {.words = LARGE, .content = 7, .checksum = 7};

	(void)state;
	scene_make(&scene, 4);
	int64_t start = arena_take(scene.arena, 2 * LARGE, false);
	int64_t lid = arena_take(scene.arena, CHUNK_WORDS - 2 * LARGE - 1, false);
	assert_true(lid > start);
	memset(arena_words(scene.arena, (uint32_t)start), 0x77, 8 * LARGE);
	arena_give(scene.arena, (uint32_t)start, 2 * LARGE);
	arena_settle(scene.arena);
	arena_settle(scene.arena);
	put(&scene, "a", &plan);
	put(&scene, "b", &plan);
	struct table *a = get(&scene, "a"), *b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_true(span_of(&scene, a).index < lid);
	assert_int_equal(stats_of(&scene).shared, 1);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

static void files_without_tables_are_told_from_files_that_can_not_be_read(void **state)
{
	static const struct {
		const char *name;
		int error;
		enum span_kind kind;
	} cases[] = {
		{"no_elf", -ENOEXEC, SPAN_BARE},    {"foreign", 0, SPAN_BARE},
		{"no_cfi", -ENOENT, SPAN_BARE},	    {"broken", -EBADMSG, SPAN_NO_TABLE},
		{"too_big", -EFBIG, SPAN_NO_TABLE}, {"io_error", -EIO, SPAN_NO_TABLE},
	};
	struct scene scene;
	struct table *tables[ARRAY_SIZE(cases)];

	(void)state;
	scene_make(&scene, 4);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan plan = {.error = cases[i].error, .foreign = true, .words = 10};

		put(&scene, cases[i].name, &plan);
		tables[i] = get(&scene, cases[i].name);
	}
	wait_for_tables(&scene);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(kind_of(&scene, tables[i]), cases[i].kind);
	assert_int_equal(stats_of(&scene).bare, 3);
	assert_int_equal(stats_of(&scene).failed, 3);
	/* Only the last may become better. */
	sweep(&scene, 1);
	assert_int_equal(builds, ARRAY_SIZE(cases) + 1);
	assert_int_equal(stats_of(&scene).failed, 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		table_unref(tables[i]);
	scene_done(&scene);
}

static void a_file_that_could_not_be_looked_at_is_never_asked_for(void **state)
{
	struct scene scene;
	struct symbol_place place = {1, 1, 2};
	struct symbol_file *file = symbol_file_nameless("/gone");

	(void)state;
	scene_make(&scene, 4);
	struct table *table = tables_get(scene.tables, file, &place);
	assert_non_null(table);
	assert_false(table_is_pending(table));
	assert_int_equal(kind_of(&scene, table), SPAN_NO_TABLE);
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

static void the_vdso_is_a_file_like_others(void **state)
{
	struct scene scene;
	struct symbol_place place = {0};

	(void)state;
	scene_make(&scene, 4);
	struct symbol_file *file = symbol_files_vdso(scene.files, false);
	assert_non_null(file);
	struct table *table = tables_get(scene.tables, file, &place);
	assert_true(table_is_pending(table));
	symbol_files_trim(scene.files, 0); /* it can't be opened anew */
	wait_for_tables(&scene);
	assert_int_equal(builds, 1);
	assert_int_equal(kind_of(&scene, table),
			 SPAN_BARE); /* it was read: its bytes are no plan */
	table_unref(table);
	symbol_file_unref(file);
	scene_done(&scene);
}

/* ---- time ---- */

static void tables_leave_after_a_whole_window_without_a_reference(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *table = get_new(&scene, "a", 1000);
	wait_for_tables(&scene);
	tables_sweep(scene.tables);
	tables_sweep(scene.tables);
	assert_int_equal(stats_of(&scene).tables, 1);
	table_unref(table);
	tables_sweep(scene.tables);
	assert_int_equal(stats_of(&scene).tables, 1);
	table = get(&scene, "a"); /* back in time */
	assert_int_equal(kind_of(&scene, table), SPAN_TABLE);
	assert_int_equal(builds, 1);
	table_unref(table);
	tables_sweep(scene.tables);
	tables_sweep(scene.tables);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.tables, 0);
	assert_int_equal(stats.arena.used, 0);
	assert_int_equal(stats.arena.given, 1000 * 4);
	sweep(&scene, 2);
	assert_int_equal(stats_of(&scene).arena.bytes, 0);
	scene_done(&scene);
}

static void what_nobody_wants_any_more_is_not_built(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *a = get_new(&scene, "a", 10), *b = get_new(&scene, "b", 10);
	table_unref(b); /* while `a` is being built */
	wait_for_tables(&scene);
	assert_int_equal(builds, 1);
	b = get(&scene, "b");
	wait_for_tables(&scene);
	assert_int_equal(builds, 2);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

static void tables_come_back_with_a_new_arena(void **state)
{
	struct scene scene;
	struct plan bare = {.error = -ENOENT};

	(void)state;
	scene_make(&scene, 4);
	put(&scene, "bare", &bare);
	struct table *a = get_new(&scene, "a", 1000), *b = get(&scene, "bare");
	struct table *c = get_new(&scene, "c", 1000);
	wait_for_tables(&scene);
	table_unref(c);
	new_arena(&scene, 4); /* the one before is gone, with all its memory */
	tables_set_arena(scene.tables, NULL);
	assert_int_equal(kind_of(&scene, a), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_BARE);
	assert_int_equal(stats_of(&scene).tables, 0);
	struct table *d = get_new(&scene, "d", 500);
	assert_false(table_is_pending(d));
	assert_false(tables_evict(scene.tables, 1));
	tables_sweep(scene.tables);
	assert_int_equal(builds, 3);
	tables_set_arena(scene.tables, scene.arena);
	assert_true(table_is_pending(a));
	wait_for_tables(&scene);
	assert_int_equal(builds, 5); /* `a` and `d` */
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, d), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).arena.used, (1000 + 500) * 4);
	table_unref(a);
	table_unref(b);
	table_unref(d);
	scene_done(&scene);
}

static void a_build_that_outlives_its_arena_lands_in_the_next(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 4);
	struct table *a = get_new(&scene, "a", 1000), *b = get_new(&scene, "b", 1000);
	new_arena(&scene, 4);
	tables_set_arena(scene.tables, NULL);
	tables_set_arena(scene.tables, scene.arena);
	assert_true(table_is_pending(a) && table_is_pending(b));
	wait_for_tables(&scene);
	assert_int_equal(builds, 2);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	/* And where there is none any more it is thrown away. */
	struct table *c = get_new(&scene, "c", 1000);
	tables_set_arena(scene.tables, NULL);
	worker_stop(scene.worker);
	loop_flush(scene.loop);
	assert_int_equal(kind_of(&scene, c), SPAN_NO_TABLE);
	table_unref(a);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_is_pending_until_it_is_built),
		cmocka_unit_test(a_span_tells_where_its_code_is_in_the_table),
		cmocka_unit_test(no_offset_of_a_mapping_reaches_too_far),
		cmocka_unit_test(one_file_is_read_once),
		cmocka_unit_test(a_large_table_crosses_chunks_a_small_one_does_not),
		cmocka_unit_test(files_of_equal_content_share_a_table),
		cmocka_unit_test(a_forged_checksum_does_not_get_a_file_into_anothers_table),
		cmocka_unit_test(a_table_in_used_words_is_shared_too),
		cmocka_unit_test(files_without_tables_are_told_from_files_that_can_not_be_read),
		cmocka_unit_test(a_file_that_could_not_be_looked_at_is_never_asked_for),
		cmocka_unit_test(the_vdso_is_a_file_like_others),
		cmocka_unit_test(tables_leave_after_a_whole_window_without_a_reference),
		cmocka_unit_test(what_nobody_wants_any_more_is_not_built),
		cmocka_unit_test(tables_come_back_with_a_new_arena),
		cmocka_unit_test(a_build_that_outlives_its_arena_lands_in_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
