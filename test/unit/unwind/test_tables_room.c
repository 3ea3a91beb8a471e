// SPDX-License-Identifier: GPL-2.0-or-later
/* Which tables are in the arena when there is no room for all. */
#include "unit/unwind/tables_scene.h"
#include "unit/lib/folder.h"

#include "unwind/tables.h"

#define HALF (CHUNK_WORDS / 2 - 100)

static void those_that_nobody_wants_go_first_then_those_used_least(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 2);
	struct table *a = get_new(&scene, "a", HALF), *b = get_new(&scene, "b", HALF);
	struct table *c = get_new(&scene, "c", HALF), *d = get_new(&scene, "d", HALF);
	wait_for_tables(&scene);
	kind_of(&scene, b);
	kind_of(&scene, a);
	kind_of(&scene, c);
	kind_of(&scene, d);
	table_unref(d);
	scene.changes = 0;
	assert_true(tables_evict(scene.tables, 1));
	assert_int_equal(scene.changes, 0);
	assert_int_equal(stats_of(&scene).evicted, 1);
	assert_true(tables_evict(scene.tables, HALF + LEFT_OVER)); /* it is on its way */
	assert_int_equal(stats_of(&scene).evicted, 1);
	assert_true(tables_evict(scene.tables, HALF + LEFT_OVER + 1));
	assert_int_equal(stats_of(&scene).evicted, 2);
	assert_int_equal(scene.changes, 1);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, c), SPAN_TABLE);
	assert_true(tables_evict(scene.tables, SIZE_MAX));
	assert_int_equal(scene.changes, 2);
	assert_int_equal(stats_of(&scene).evicted, 4);
	assert_int_equal(stats_of(&scene).tables, 0);
	assert_false(tables_evict(scene.tables, SIZE_MAX));
	table_unref(a);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

static void a_newcomer_gets_its_room_at_the_next_sweep(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", HALF), *b = get_new(&scene, "b", HALF);
	wait_for_tables(&scene);
	kind_of(&scene, a); /* `b` is used least */
	struct table *c = get_new(&scene, "c", HALF);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, c), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	struct tables_stats stats = stats_of(&scene);
	assert_int_equal(stats.refused, 1);
	assert_int_equal(stats.evicted, 1);
	sweep(&scene, 2);
	assert_int_equal(kind_of(&scene, c), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	/* Who was let go chases nobody: it waits until there is room. */
	int before = builds;
	sweep(&scene, 10);
	assert_int_equal(builds, before);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).evicted, 1);
	table_unref(a);
	sweep(&scene, 4);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	table_unref(b);
	table_unref(c);
	scene_done(&scene);
}

static void several_newcomers_get_room_together(void **state)
{
	struct scene scene;
	struct table *old[4], *new[2];
	char name[2] = "a";

	(void)state;
	scene_make(&scene, 1);
	for (int i = 0; i < 4; i++, name[0]++)
		old[i] = get_new(&scene, name, CHUNK_WORDS / 4 - 10);
	wait_for_tables(&scene);
	for (int i = 0; i < 2; i++, name[0]++)
		new[i] = get_new(&scene, name, CHUNK_WORDS / 4 - 10);
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).evicted, 2);
	sweep(&scene, 2);
	for (int i = 0; i < 4; i++)
		assert_int_equal(kind_of(&scene, old[i]), i < 2 ? SPAN_NO_TABLE : SPAN_TABLE);
	for (int i = 0; i < 2; i++)
		assert_int_equal(kind_of(&scene, new[i]), SPAN_TABLE);
	for (int i = 0; i < 4; i++)
		table_unref(old[i]);
	for (int i = 0; i < 2; i++)
		table_unref(new[i]);
	scene_done(&scene);
}

static void a_giant_drives_nobody_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", HALF + 200);
	wait_for_tables(&scene);
	struct table *b = get_new(&scene, "b", HALF + 200);
	wait_for_tables(&scene);
	sweep(&scene, 4);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	/* Once there is room it is welcome. */
	table_unref(a);
	sweep(&scene, 8);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	assert_int_equal(stats_of(&scene).evicted, 0);
	table_unref(b);
	scene_done(&scene);
}

/* There are words enough, but not in a row. */
static void a_large_newcomer_gets_words_in_a_row(void **state)
{
	enum { MANY = 16, EACH = CHUNK_WORDS / MANY - 8 };
	struct scene scene;
	struct table *small[MANY];
	char name[2] = "a";
	int left = 0;

	(void)state;
	scene_make(&scene, 1);
	for (int i = 0; i < MANY; i++, name[0]++)
		small[i] = get_new(&scene, name, EACH);
	wait_for_tables(&scene);
	for (int i = 0; i < MANY; i++)
		kind_of(&scene, small[i]);
	for (int i = 0; i < MANY; i += 2)
		table_unref(small[i]);
	sweep(&scene, 4);
	assert_int_equal(stats_of(&scene).tables, MANY / 2);
	struct table *large = get_new(&scene, "large", 3 * EACH);
	wait_for_tables(&scene);
	assert_int_equal(stats_of(&scene).evicted, 1);
	sweep(&scene, 2);
	assert_int_equal(kind_of(&scene, large), SPAN_TABLE);
	for (int i = 1; i < MANY; i += 2) {
		left += kind_of(&scene, small[i]) == SPAN_TABLE;
		table_unref(small[i]);
	}
	assert_int_equal(left, MANY / 2); /* who was let go has found another place */
	table_unref(large);
	scene_done(&scene);
}

static void what_never_fits_drives_nobody_out(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene, 1);
	struct table *a = get_new(&scene, "a", 1000), *b = get_new(&scene, "b", CHUNK_WORDS);
	wait_for_tables(&scene);
	sweep(&scene, 3);
	assert_int_equal(kind_of(&scene, a), SPAN_TABLE);
	assert_int_equal(kind_of(&scene, b), SPAN_NO_TABLE);
	assert_int_equal(stats_of(&scene).refused, 1);
	assert_int_equal(stats_of(&scene).evicted, 0);
	assert_int_equal(builds, 2);
	/* There is more room in another arena. */
	new_arena(&scene, 2);
	tables_set_arena(scene.tables, scene.arena);
	wait_for_tables(&scene);
	assert_int_equal(kind_of(&scene, b), SPAN_TABLE);
	table_unref(a);
	table_unref(b);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_that_nobody_wants_go_first_then_those_used_least),
		cmocka_unit_test(a_newcomer_gets_its_room_at_the_next_sweep),
		cmocka_unit_test(several_newcomers_get_room_together),
		cmocka_unit_test(a_giant_drives_nobody_out),
		cmocka_unit_test(a_large_newcomer_gets_words_in_a_row),
		cmocka_unit_test(what_never_fits_drives_nobody_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
