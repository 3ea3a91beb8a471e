// SPDX-License-Identifier: GPL-2.0-or-later
/* stack/tree_rest: a large tree within a number of nodes. */
#include "stack/tree_rest.h"
#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

#define NAME_BYTES (8u << 20)

/* Totals and events by node, as the tree itself adds them up. */
struct both_sums {
	uint64_t *totals, *events;
};

static void sums_done(struct both_sums *sums)
{
	free(sums->totals);
	free(sums->events);
}
#define _cleanup_sums_ _cleanup_(sums_done)

static struct both_sums sums_of(const struct tree *tree)
{
	size_t count = tree_count(tree);
	struct both_sums sums = {calloc(count, sizeof(uint64_t)), tree_sum_events(tree)};

	assert_non_null(sums.totals);
	assert_non_null(sums.events);
	for (uint32_t i = 0; i < count; i++)
		sums.totals[i] = tree_node_of(tree, i).weight;
	for (uint32_t i = (uint32_t)count - 1; i > 0; i--)
		sums.totals[tree_parent(tree, i)] += sums.totals[i];
	return sums;
}

static bool is_rest(const struct frame *frame)
{
	return frame->type == FRAME_TYPE_MARKER && frame->name_len == strlen(FRAME_REST) &&
	       memcmp(frame->name, FRAME_REST, frame->name_len) == 0;
}

static struct tree *tree_of_at_most(const struct tree *from, size_t max_nodes)
{
	struct tree *within;

	assert_int_equal(tree_within(&within, from, max_nodes, NAME_BYTES), 0);
	assert_true(tree_count(within) <= max_nodes);
	return within;
}

/* A tree with weights of all sizes, events that are others, and nodes without weight. */
static struct tree *random_tree(uint64_t *random, size_t nodes)
{
	struct tree *tree = new_tree();
	char name[32];

	for (size_t i = 0; i < nodes; i++) {
		uint32_t parent = (uint32_t)(random_next(random) % tree_count(tree));

		snprintf(name, sizeof(name), "f%d", (int)(random_next(random) % 40));
		uint32_t node =
			add_child(tree, parent, FRAME_TYPE_NATIVE + random_next(random) % 3, name);
		if (random_next(random) % 4)
			tree_add(tree, node,
				 random_next(random) >> (20 + random_next(random) % 44));
		if (random_next(random) % 4)
			tree_add_events(tree, node, random_next(random) % 1000);
	}
	tree_add(tree, TREE_ROOT, random_next(random) % 100);
	tree_add_events(tree, TREE_ROOT, random_next(random) % 100);
	return tree;
}

/* Marks the nodes of `from` that are in `within`, by their ways from the root; each of them has
 * the weight and the events that it had, with all that lies below it. */
static bool *mark_kept(struct tree *from, const struct tree *within)
{
	_cleanup_sums_ struct both_sums had = sums_of(from), has = sums_of(within);
	size_t count = tree_count(within);
	_cleanup_free_ uint32_t *origins = calloc(count, sizeof(*origins));
	bool *kept = calloc(tree_count(from), sizeof(*kept));

	assert_true(origins && kept);
	for (uint32_t i = 0; i < count; i++) {
		struct frame frame = tree_frame_of(within, i);
		struct tree_node node = tree_node_of(within, i), was;
		uint32_t origin = TREE_ROOT;

		if (i && is_rest(&frame))
			continue;
		if (i)
			origin = add_child(from, origins[node.parent], frame.type, frame.name);
		assert_false(kept[origin]);
		kept[origin] = true;
		origins[i] = origin;
		was = tree_node_of(from, origin);
		assert_true(node.weight == was.weight && node.events == was.events);
		assert_true(has.totals[i] == had.totals[origin]);
		assert_true(has.events[i] == had.events[origin]);
	}
	return kept;
}

static void assert_lightest_are_put_together(const struct tree *from, const bool *kept)
{
	_cleanup_sums_ struct both_sums had = sums_of(from);
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 1; i < tree_count(from); i++) {
		if (kept[i] && had.totals[i] < least)
			least = had.totals[i];
		if (!kept[i] && had.totals[i] > most)
			most = had.totals[i];
	}
	assert_true(most == 0 || most < least);
}

static void assert_within(struct tree *from, size_t max_nodes)
{
	_cleanup_tree_ struct tree *within = tree_of_at_most(from, max_nodes);
	size_t count = tree_count(from);
	_cleanup_sums_ struct both_sums had = sums_of(from), has = sums_of(within);

	assert_true(has.totals[TREE_ROOT] == had.totals[TREE_ROOT]);
	assert_true(has.events[TREE_ROOT] == had.events[TREE_ROOT]);
	_cleanup_free_ bool *kept = mark_kept(from, within);
	assert_int_equal(tree_count(from), count); /* no node is new */
	assert_lightest_are_put_together(from, kept);
}

static void what_is_kept_is_exact_and_the_lightest_are_put_together(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (size_t turn = 0; turn < 100; turn++) {
		_cleanup_tree_ struct tree *tree = random_tree(&random, 1 + turn * 7);
		size_t count = tree_count(tree);

		for (size_t max = 2; max < count; max = max * 3 / 2 + 1)
			assert_within(tree, max);
		assert_within(tree, count);
		assert_within(tree, count + 1000);
	}
}

static void assert_folded(const struct tree *tree, const char *expected)
{
	_cleanup_free_ char *text = write_with("folded", tree, TREE_ROOT, &plain_meta);

	assert_string_equal(text, expected);
}

static struct tree *tree_of_two_branches(void)
{
	struct tree *tree = new_tree();
	uint32_t left = add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "left");
	uint32_t right = add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "right");

	tree_add(tree, left, 1);
	tree_add(tree, add_child(tree, left, FRAME_TYPE_NATIVE, "heavy"), 1000);
	tree_add(tree, add_child(tree, left, FRAME_TYPE_NATIVE, "light"), 2);
	uint32_t also = add_child(tree, left, FRAME_TYPE_NATIVE, "also");
	tree_add(tree, add_child(tree, also, FRAME_TYPE_NATIVE, "below"), 1);
	tree_add(tree, add_child(tree, right, FRAME_TYPE_NATIVE, "heavy"), 500);
	return tree;
}

static void a_rest_lies_below_the_frame_whose_children_it_has(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_of_two_branches();
	_cleanup_tree_ struct tree *within = tree_of_at_most(tree, 6);

	(void)state;
	assert_folded(within, "left 1\nleft;[rest] 3\nleft;heavy 1000\nright;heavy 500\n");
}

static void where_only_the_root_fits_all_is_its_rest(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_of_two_branches();
	_cleanup_tree_ struct tree *within = tree_of_at_most(tree, 2);
	struct tree *none;

	(void)state;
	tree_add(tree, TREE_ROOT, 0);
	assert_folded(within, "[rest] 1504\n");
	assert_int_equal(tree_within(&none, tree, 1, NAME_BYTES), -ENOSPC);
}

static void a_rest_may_be_made_smaller_again(void **state)
{
	uint64_t random = 5;
	_cleanup_tree_ struct tree *tree = random_tree(&random, 2000);
	uint64_t weight = weight_of(tree);

	(void)state;
	for (size_t max = 1000; max >= 2; max /= 2) {
		struct tree *within = tree_of_at_most(tree, max);

		tree_free(tree);
		tree = within;
		assert_true(weight_of(tree) == weight);
	}
}

static void equal_weights_are_kept_or_put_together_as_one(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name), 7);
	}
	_cleanup_tree_ struct tree *within = tree_of_at_most(tree, 100);
	assert_folded(within, "[rest] 700\n");
	_cleanup_tree_ struct tree *all = tree_of_at_most(tree, 101);
	assert_int_equal(tree_count(all), 101);
}

static void events_without_weight_stay(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (int i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		tree_add_events(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name), 3);
	}
	_cleanup_tree_ struct tree *within = tree_of_at_most(tree, 2);
	tree_show_events(within);
	assert_folded(within, "[rest] 30\n");
}

static void sources_and_files_with_code_stay(void **state)
{
	struct module module = {.path = "/lib/x.so", .path_len = 9};
	struct frame frame = {.type = FRAME_TYPE_NATIVE,
			      .name = "f",
			      .name_len = 1,
			      .source = {"f.c", 3, 12},
			      .module = &module,
			      .address = 16};
	_cleanup_tree_ struct tree *tree = new_tree();
	int64_t node = tree_child_with(tree, TREE_ROOT, &frame);

	(void)state;
	assert_true(node > 0);
	tree_add(tree, (uint32_t)node, 100);
	tree_add(tree, add_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, "g"), 1);
	tree_add(tree, add_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, "h"), 1);
	_cleanup_tree_ struct tree *within = tree_of_at_most(tree, 3);
	struct frame kept = tree_frame_of(within, 1), rest = tree_frame_of(within, 2);
	assert_int_equal(frames_compare(&kept, &frame), 0);
	assert_true(is_rest(&rest));
	assert_int_equal(tree_node_of(within, 2).weight, 2);
}

static void too_few_bytes_for_names_are_an_error(void **state)
{
	_cleanup_tree_ struct tree *tree = tree_of_two_branches();
	struct tree *within;

	(void)state;
	assert_int_equal(tree_within(&within, tree, 6, 8), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_is_exact_and_the_lightest_are_put_together),
		cmocka_unit_test(a_rest_lies_below_the_frame_whose_children_it_has),
		cmocka_unit_test(where_only_the_root_fits_all_is_its_rest),
		cmocka_unit_test(a_rest_may_be_made_smaller_again),
		cmocka_unit_test(equal_weights_are_kept_or_put_together_as_one),
		cmocka_unit_test(events_without_weight_stay),
		cmocka_unit_test(sources_and_files_with_code_stay),
		cmocka_unit_test(too_few_bytes_for_names_are_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
