// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_store: windows that are put together, ranges of them, clocks that are set,
 * states. */
#include "unit/history/store_scene.h"

#define LENGTH (30 * SECOND)

/* ---- putting together ---- */

static void assert_entry(const struct history_entries *of, size_t number, uint64_t first,
			 uint64_t last, int64_t from, int64_t until)
{
	assert_true(number < of->count);
	const struct history_head *head = &of->entries[number].head;
	assert_int_equal(head->first, first);
	assert_int_equal(head->last, last);
	assert_int_equal(head->from, from);
	assert_int_equal(head->until, until);
	assert_int_equal(head->windows, last - first + 1);
}

static void windows_of_a_slot_become_a_block_and_blocks_an_hour(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 240); /* two hours */
	history_store_settle(&scene->store);
	const struct history_entries *blocks = entries_of(scene, HISTORY_BLOCK);
	const struct history_entries *hours = entries_of(scene, HISTORY_HOUR);
	assert_int_equal(blocks->count, 24);
	assert_int_equal(hours->count, 2);
	assert_int_equal(scene->store.counts.merged, 26);
	for (size_t i = 0; i < 24; i++)
		assert_entry(blocks, i, 10 * i, 10 * i + 9, BEGIN + (int64_t)i * 5 * MINUTE,
			     BEGIN + (int64_t)(i + 1) * 5 * MINUTE);
	assert_entry(hours, 0, 0, 119, BEGIN, BEGIN + HOUR);
	assert_entry(hours, 1, 120, 239, BEGIN + HOUR, BEGIN + 2 * HOUR);
	history_store_settle(&scene->store);
	scene_restart(scene);
	history_store_settle(&scene->store);
	assert_int_equal(scene->store.counts.merged, 0);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 2);
	assert_as_by_hand(scene, &EVER);
}

static void a_slot_that_is_not_over_waits(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	int64_t slot = 5 * MINUTE, now = scene->store.begun / slot * slot;

	(void)state;
	scene_add_many(scene, now - slot, MINUTE, 5);
	scene_add_many(scene, now + slot - MINUTE, MINUTE, 1); /* not before it has ended */
	history_store_settle(&scene->store);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 1);
	assert_entry(entries_of(scene, HISTORY_BLOCK), 0, 0, 4, now - slot, now);
	assert_as_by_hand(scene, &EVER);
}

static void windows_before_and_after_a_restart_become_one_block(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	int64_t at = scene_add_many(scene, BEGIN, LENGTH, 4);
	scene_restart(scene);
	scene_add_many(scene, at + 12 * SECOND, LENGTH, 4);
	history_store_settle(&scene->store);
	const struct history_entries *blocks = entries_of(scene, HISTORY_BLOCK);
	assert_int_equal(blocks->count, 1);
	assert_entry(blocks, 0, 0, 7, BEGIN, at + 12 * SECOND + 4 * LENGTH);
	assert_int_equal(blocks->entries[0].head.covered_ns, 8 * LENGTH);
	assert_as_by_hand(scene, &EVER);
}

static void samples_of_another_period_are_in_another_block(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	_cleanup_tree_ struct tree *tree = scene_tree(0);

	(void)state;
	for (int i = 0; i < 10; i++) {
		_cleanup_window_ struct made_window window =
			window_of(tree, BEGIN + i * LENGTH, LENGTH);

		window.head.period_ns = i < 4 ? 10000000 : 20000000;
		assert_int_equal(
			history_store_add(&scene->store, SERIES, &window.head, &window.payload), 0);
	}
	history_store_settle(&scene->store);
	const struct history_entries *blocks = entries_of(scene, HISTORY_BLOCK);
	assert_int_equal(blocks->count, 2);
	assert_entry(blocks, 0, 0, 3, BEGIN, BEGIN + 4 * LENGTH);
	assert_entry(blocks, 1, 4, 9, BEGIN + 4 * LENGTH, BEGIN + 10 * LENGTH);
	assert_int_equal(blocks->entries[0].head.period_ns, 10000000);
	assert_int_equal(blocks->entries[1].head.period_ns, 20000000);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 2);
	assert_int_equal(history_store_period(&scene->store, SERIES, &EVER, UINT64_MAX), 10000000);
	struct history_range late = {BEGIN + 6 * LENGTH, INT64_MAX};
	assert_int_equal(history_store_period(&scene->store, SERIES, &late, UINT64_MAX), 20000000);
	assert_int_equal(history_store_period(&scene->store, SERIES, &EVER, 5000000), 5000000);
	assert_int_equal(history_store_period(&scene->store, "none", &EVER, 7), 7);
}

/* Adds windows with gaps, some short, some that are longer than a slot. */
static void add_random_windows(struct store_scene *scene, uint64_t *random, int64_t from,
			       int64_t until)
{
	while (from < until && scene->count < WINDOWS_MAX) {
		uint64_t kind = random_next(random) % 16;
		int64_t length = kind == 0   ? 7 * MINUTE
				 : kind == 1 ? SECOND + (int64_t)(random_next(random) % 1000000)
					     : LENGTH;

		assert_int_equal(scene_add(scene, from, length), 0);
		from += length + (random_next(random) % 10 ? 0 : 45 * SECOND);
		if (random_next(random) % 40 == 0)
			from += (int64_t)(random_next(random) % 40) * MINUTE;
		if (random_next(random) % 60 == 0)
			scene_restart(scene);
		if (random_next(random) % 20 == 0)
			history_store_settle(&scene->store);
	}
}

static struct history_range random_range(uint64_t *random, int64_t from, int64_t until)
{
	uint64_t step = random_next(random) % 2 ? 1 : (uint64_t)(15 * SECOND);
	uint64_t steps = (uint64_t)(until - from) / step;
	int64_t a = from + (int64_t)(random_next(random) % steps * step);
	int64_t b = from + (int64_t)(random_next(random) % steps * step);

	return (struct history_range){a < b ? a : b, a < b ? b : a};
}

static void assert_random_ranges(struct store_scene *scene, uint64_t *random, int64_t from,
				 int64_t until)
{
	for (int i = 0; i < 40; i++) {
		struct history_range range = random_range(random, from, until);

		for (int level = 0; level < HISTORY_LEVELS; level++)
			assert_each_once(scene, &range, level, 0);
	}
	for (int i = 0; i < 4; i++) {
		struct history_range range = random_range(random, from, until);

		assert_as_by_hand(scene, &range);
	}
}

static void each_window_is_in_a_range_once_or_not_at_all(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		_cleanup_scene_ struct store_scene *scene = scene_new();
		uint64_t random = seed;

		add_random_windows(scene, &random, BEGIN + (int64_t)seed * 7 * MINUTE,
				   BEGIN + 4 * HOUR);
		history_store_settle(&scene->store);
		assert_true(entries_of(scene, HISTORY_HOUR)->count >= 3);
		assert_random_ranges(scene, &random, BEGIN - HOUR, BEGIN + 6 * HOUR);
		assert_as_by_hand(scene, &EVER);
	}
}

static void a_range_without_windows_is_empty(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	static const struct history_range ranges[] = {
		{0, BEGIN}, {BEGIN + HOUR, INT64_MAX}, {BEGIN + MINUTE, BEGIN + MINUTE}};

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 120);
	history_store_settle(&scene->store);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		_cleanup_blend_ struct blend blend =
			blend_range(scene, &ranges[i], HISTORY_HOUR, 0);

		assert_int_equal(blend.sum.windows, 0);
		assert_int_equal(tree_count(blend.tree), 1);
	}
}

static void large_records_are_read_where_they_fit(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	const struct history_entry **chosen;
	struct history_range range = {BEGIN - MINUTE, BEGIN + HOUR + 7 * MINUTE};
	static const int64_t counts[] = {134, 14 + 11, 1 + 1 + 4};

	(void)state;
	scene_add_many(scene, BEGIN, LENGTH, 240);
	history_store_settle(&scene->store);
	struct history_series *series = history_index_find(&scene->store.index, SERIES, false);
	assert_int_equal(history_series_choose(series, &range, HISTORY_WINDOW, &chosen), counts[0]);
	free(chosen);
	/* 13 blocks and 4 windows behind them */
	assert_int_equal(history_series_choose(series, &range, HISTORY_BLOCK, &chosen), 13 + 4);
	free(chosen);
	assert_int_equal(history_series_choose(series, &range, HISTORY_HOUR, &chosen), counts[2]);
	for (int i = 1; i < counts[2]; i++)
		assert_int_equal(chosen[i]->head.first, chosen[i - 1]->head.last + 1);
	free(chosen);
}

/* ---- clocks ---- */

static void a_clock_set_back_loses_nothing_and_doubles_nothing(void **state)
{
	static const int64_t backs[] = {LENGTH,	     2 * MINUTE, 5 * MINUTE,
					40 * MINUTE, HOUR,	 30 * HOUR};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(backs); i++) {
		_cleanup_scene_ struct store_scene *scene = scene_new();
		uint64_t random = i;
		int64_t at = scene_add_many(scene, BEGIN, LENGTH, 100);

		history_store_settle(&scene->store);
		at = scene_add_many(scene, at - backs[i], LENGTH, 130);
		history_store_settle(&scene->store);
		scene_restart(scene);
		at = scene_add_many(scene, at - backs[i], LENGTH, 50);
		history_store_settle(&scene->store);
		assert_as_by_hand(scene, &EVER);
		assert_random_ranges(scene, &random, BEGIN - 31 * HOUR, BEGIN + 4 * HOUR);
		scene_restart(scene);
		assert_as_by_hand(scene, &EVER);
		assert_int_equal(scene->store.counts.damaged, 0);
		assert_int_equal(history_files_stats(scene->store.files)->damaged, 0);
	}
}

static void windows_of_the_future_are_put_together_once_the_clock_is_back(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();
	int64_t ahead = scene->store.begun / HOUR * HOUR + 1000 * HOUR;

	(void)state;
	scene_add_many(scene, ahead, LENGTH, 150);
	history_store_settle(&scene->store);
	scene_add_many(scene, BEGIN, LENGTH, 150);
	history_store_settle(&scene->store);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 30);
	assert_int_equal(entries_of(scene, HISTORY_HOUR)->count, 4);
	assert_as_by_hand(scene, &EVER);
}

/* Adds what is held at a moment. */
static void add_state(struct store_scene *scene, size_t number, int64_t moment)
{
	_cleanup_tree_ struct tree *tree = scene_tree(number);
	_cleanup_window_ struct made_window window = window_of(tree, moment, 0);

	window.head.is_state = 1;
	assert_int_equal(history_store_add(&scene->store, SERIES, &window.head, &window.payload),
			 0);
}

static void of_states_the_last_one_of_a_range_is_read(void **state)
{
	_cleanup_scene_ struct store_scene *scene = scene_new();

	(void)state;
	for (size_t i = 0; i < 40; i++)
		add_state(scene, i, BEGIN + (int64_t)i * 60 * (int64_t)NS_PER_S);
	history_store_settle(&scene->store);
	assert_int_equal(entries_of(scene, HISTORY_BLOCK)->count, 8);
	for (size_t last = 0; last < 40; last++) {
		struct history_range range = {BEGIN,
					      BEGIN + (int64_t)last * 60 * (int64_t)NS_PER_S + 1};
		_cleanup_tree_ struct tree *wanted = scene_tree(last);

		for (int coarsest = HISTORY_WINDOW; coarsest < HISTORY_LEVELS; coarsest++) {
			struct blend blend = blend_range(scene, &range, coarsest, 0);

			assert_same_trees(blend.tree, wanted);
			assert_int_equal(blend.sum.until, range.until - 1);
			assert_int_equal(blend.sum.is_state, 1);
			blend_done(&blend);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_a_slot_become_a_block_and_blocks_an_hour),
		cmocka_unit_test(a_slot_that_is_not_over_waits),
		cmocka_unit_test(windows_before_and_after_a_restart_become_one_block),
		cmocka_unit_test(samples_of_another_period_are_in_another_block),
		cmocka_unit_test(each_window_is_in_a_range_once_or_not_at_all),
		cmocka_unit_test(a_range_without_windows_is_empty),
		cmocka_unit_test(large_records_are_read_where_they_fit),
		cmocka_unit_test(a_clock_set_back_loses_nothing_and_doubles_nothing),
		cmocka_unit_test(windows_of_the_future_are_put_together_once_the_clock_is_back),
		cmocka_unit_test(of_states_the_last_one_of_a_range_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
