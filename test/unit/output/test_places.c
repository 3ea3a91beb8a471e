// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/unit.h"

#include "stack/places.h"

static const uint8_t id_a[] = {1, 2, 3}, id_b[] = {1, 2, 4};

static struct module module_of(const char *path, const uint8_t *build_id)
{
	return (struct module){.path = path,
			       .path_len = strlen(path),
			       .build_id = build_id,
			       .build_id_len = build_id ? sizeof(id_a) : 0,
			       .from = 0x1000,
			       .to = 0x9000,
			       .file_offset = 0x400};
}

static uint32_t add(struct tree *tree, uint32_t parent, const char *name,
		    const struct module *module, uint64_t address)
{
	struct frame frame = {.type = FRAME_TYPE_NATIVE,
			      .name = name,
			      .name_len = strlen(name),
			      .module = module,
			      .address = address};
	int64_t node = tree_child_with(tree, parent, &frame);

	assert_true(node > 0);
	return (uint32_t)node;
}

static struct tree *new_tree(void)
{
	struct tree *tree;

	assert_int_equal(tree_new(&tree, 1000, 1 << 16), 0);
	return tree;
}

static void frames_are_told_apart_by_their_places(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct module a = module_of("/bin/a", id_a), b = module_of("/bin/a", id_b);
	uint32_t first = add(tree, TREE_ROOT, "f", &a, 0x1234);

	(void)state;
	assert_int_equal(add(tree, TREE_ROOT, "f", &a, 0x1234), first);
	assert_true(add(tree, TREE_ROOT, "f", &a, 0x1235) != first);
	assert_true(add(tree, TREE_ROOT, "f", &b, 0x1234) != first);
	assert_true(add(tree, TREE_ROOT, "f", NULL, 0x1234) != first);
	assert_int_equal(add(tree, TREE_ROOT, "f", NULL, 1), add(tree, TREE_ROOT, "f", NULL, 2));
	struct frame frame = tree_frame_of(tree, first);
	assert_true(frame.address == 0x1234 && frame.module->from == 0x1000);
	assert_string_equal(frame.module->path, "/bin/a");
	assert_memory_equal(frame.module->build_id, id_a, sizeof(id_a));
}

static void a_copy_without_places_has_each_function_once(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree(), *whole = new_tree(), *plain = new_tree();
	struct module a = module_of("/bin/a", id_a);
	uint32_t one = add(tree, TREE_ROOT, "f", &a, 1), other = add(tree, TREE_ROOT, "f", &a, 2);
	_cleanup_free_ uint32_t *same = NULL, *merged = NULL;
	uint64_t weight;

	(void)state;
	tree_add(tree, add(tree, one, "g", &a, 3), 10);
	tree_add(tree, add(tree, other, "g", &a, 3), 20);
	assert_int_equal(tree_merge(whole, tree, TREE_ROOT, &same), 0);
	assert_int_equal(tree_count(whole), 5);
	assert_true(tree_frame_of(whole, same[one]).address == 1);
	tree_drop_places(plain);
	assert_int_equal(tree_merge(plain, tree, TREE_ROOT, &merged), 0);
	assert_int_equal(tree_count(plain), 3);
	assert_int_equal(merged[one], merged[other]);
	assert_null(tree_frame_of(plain, merged[one]).module);
	assert_int_equal(tree_weigh(plain, merged[one], &weight), 0);
	assert_true(weight == 30);
}

/* A place each is a node each: there are more of them than of functions. */
static void a_tree_with_many_nodes_takes_no_more_places(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree(); /* of 1,000 nodes */
	struct module a = module_of("/bin/a", id_a);
	uint32_t first = add(tree, TREE_ROOT, "f", &a, 0);

	(void)state;
	for (uint64_t address = 1; address < 5000; address++)
		add(tree, TREE_ROOT, "f", &a, address);
	assert_int_equal(tree_count(tree), 1000 / 16 + 2);
	assert_non_null(tree_frame_of(tree, first).module);
	assert_null(tree_frame_of(tree, add(tree, TREE_ROOT, "f", &a, 5000)).module);
	assert_int_equal(add(tree, first, "f", &a, 1), add(tree, first, "f", &a, 2));
}

static void siblings_with_places_have_an_order(void **state)
{
	struct module a = module_of("/bin/a", id_a), b = module_of("/bin/b", NULL);
	struct frame frames[] = {
		{.name = "f", .name_len = 1},
		{.name = "f", .name_len = 1, .module = &a, .address = 1},
		{.name = "f", .name_len = 1, .module = &a, .address = 2},
		{.name = "f", .name_len = 1, .module = &b, .address = 1},
		{.name = "g", .name_len = 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(frames); j++) {
			int r = frames_compare(&frames[i], &frames[j]);

			assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
		}
	}
}

static void places_are_listed_by_file_each_once(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct module a = module_of("/bin/a", id_a), b = module_of("/bin/b", id_b);
	struct line_text texts[LINE_LEVELS];
	struct places *places;

	(void)state;
	add(tree, TREE_ROOT, "f", &a, 7);
	add(tree, TREE_ROOT, "f", &b, 7);
	add(tree, TREE_ROOT, "g", &a, 7);
	add(tree, TREE_ROOT, "h", &a, 5);
	uint32_t last = add(tree, TREE_ROOT, "no place", NULL, 0);
	assert_int_equal(places_new(&places, tree), 0);
	assert_int_equal(places->count, 2);
	for (size_t i = 0; i < places->count; i++) {
		const struct places_file *file = &places->files[i];
		bool is_a = strcmp(file->module->path, "/bin/a") == 0;

		assert_int_equal(file->count, is_a ? 2 : 1);
		assert_int_equal(file->addresses[0], is_a ? 5 : 7);
		assert_int_equal(file->addresses[file->count - 1], 7);
	}
	for (uint32_t node = 1; node <= last; node++) {
		struct frame frame = tree_frame_of(tree, node);

		assert_int_equal(places_lines(places, &frame, texts), 0); /* nobody has read them */
		assert_int_equal(places_lines(NULL, &frame, texts), 0);
	}
	places_free(places);
}

static void a_tree_without_places_has_none(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct places *places;

	(void)state;
	assert_int_equal(places_new(&places, tree), 0);
	assert_int_equal(places->count, 0);
	places_free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_told_apart_by_their_places),
		cmocka_unit_test(a_copy_without_places_has_each_function_once),
		cmocka_unit_test(a_tree_with_many_nodes_takes_no_more_places),
		cmocka_unit_test(siblings_with_places_have_an_order),
		cmocka_unit_test(places_are_listed_by_file_each_once),
		cmocka_unit_test(a_tree_without_places_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
