// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/buf_text.h"
#include "unit/output/tree_figures.h"

#include "output/format/output.h"
#include "stack/tree.h"

static struct tree *new_tree(void)
{
	struct tree *tree;

	assert_int_equal(tree_new(&tree, 100000, 8 << 20), 0);
	return tree;
}

static uint32_t child(struct tree *tree, uint32_t parent, enum frame_type type, const char *name)
{
	int64_t node = tree_child(tree, parent, type, name, strlen(name));

	assert_true(node > 0);
	return (uint32_t)node;
}

/* Adds a stack `a;b;c` of native frames. */
static uint32_t add(struct tree *tree, const char *stack, uint64_t weight)
{
	char text[256], *rest = text;
	uint32_t node = TREE_ROOT;

	snprintf(text, sizeof(text), "%s", stack);
	for (char *name; (name = strsep(&rest, ";"));)
		node = child(tree, node, FRAME_TYPE_NATIVE, name);
	tree_add(tree, node, weight);
	return node;
}

static char *folded(const struct tree *tree, uint32_t start)
{
	_cleanup_buf_ struct buf out = BUF_INIT(64 << 20);

	assert_int_equal(folded_write(tree, start, &(struct profile_meta){0}, &out), 0);
	return take_text(&out, NULL);
}

static void assert_folded(const struct tree *tree, uint32_t start, const char *expected)
{
	_cleanup_free_ char *text = folded(tree, start);

	assert_string_equal(text, expected);
}

static void the_same_frame_below_the_same_parent_is_one_node(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t a = child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "a"), b;

	(void)state;
	assert_int_equal(child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "a"), a);
	assert_int_not_equal(child(tree, TREE_ROOT, FRAME_TYPE_KERNEL, "a"), a);
	b = child(tree, a, FRAME_TYPE_NATIVE, "a"); /* recursion */
	assert_int_not_equal(b, a);
	assert_int_equal(tree_child(tree, a, FRAME_TYPE_NATIVE, "abc", 1), b);
	assert_int_equal(node_count(tree), 4);
	assert_int_equal(tree_parent(tree, b), a);
	assert_int_equal(tree_frame_of(tree, b).type, FRAME_TYPE_NATIVE);
	assert_int_equal(weight_of(tree), 0);
}

static void weights_add_up(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add(tree, "a;b", 3);
	add(tree, "a;b", 4);
	add(tree, "a", 1);
	tree_add(tree, TREE_ROOT, 2);
	assert_int_equal(weight_of(tree), 10);
	assert_folded(tree, TREE_ROOT, "[unknown] 2\na 1\na;b 7\n");
}

/* What a walk tells, as text. */
struct walk {
	char text[512];
	size_t len;
	const char *skip;
};

static bool note_open(void *arg, const struct tree_frame *node)
{
	struct walk *walk = arg;

	walk->len += (size_t)snprintf(walk->text + walk->len, sizeof(walk->text) - walk->len,
				      "%.*s%u:%d/%d(", (int)node->frame.name_len, node->frame.name,
				      node->depth, (int)node->self, (int)node->total);
	return !walk->skip || strcmp(node->frame.name, walk->skip) != 0;
}

static void note_close(void *arg, const struct tree_frame *node)
{
	struct walk *walk = arg;

	(void)node;
	walk->text[walk->len++] = ')';
}

static void assert_walk(const struct tree *tree, uint32_t start, const char *skip,
			const char *expected)
{
	static const struct tree_visitor visitor = {note_open, note_close};
	struct walk walk = {.skip = skip};

	assert_int_equal(tree_walk(tree, start, &visitor, &walk), 0);
	assert_string_equal(walk.text, expected);
}

static uint32_t child_with(struct tree *tree, uint32_t parent, const char *name, const char *file,
			   uint32_t line)
{
	struct frame frame = {.type = FRAME_TYPE_PYTHON,
			      .name = name,
			      .name_len = strlen(name),
			      .source = {file, strlen(file), line}};
	int64_t number = tree_frame(tree, &frame);

	assert_true(number > 0);
	assert_int_equal(tree_frame(tree, &frame), number);
	int64_t node = tree_child_of(tree, parent, (uint32_t)number);
	assert_int_equal(tree_child_of(tree, parent, (uint32_t)number), node);
	return (uint32_t)node;
}

static void another_file_or_line_is_another_node(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t f = child_with(tree, TREE_ROOT, "f", "a.py", 3);

	(void)state;
	assert_int_not_equal(child_with(tree, TREE_ROOT, "f", "a.py", 4), f);
	assert_int_not_equal(child_with(tree, TREE_ROOT, "f", "b.py", 3), f);
	assert_int_not_equal(child_with(tree, TREE_ROOT, "f", "", 3), f);
	assert_int_not_equal(child(tree, TREE_ROOT, FRAME_TYPE_PYTHON, "f"), f);
	assert_int_equal(child_with(tree, TREE_ROOT, "f", "a.py", 3), f);
	assert_int_equal(node_count(tree), 6);
	struct frame frame = tree_frame_of(tree, f);
	assert_int_equal(frame.type, FRAME_TYPE_PYTHON);
	assert_string_equal(frame.name, "f");
	assert_string_equal(frame.source.file, "a.py");
	assert_int_equal(frame.source.file_len, 4);
	assert_int_equal(frame.source.line, 3);
}

static bool note_source(void *arg, const struct tree_frame *node)
{
	struct walk *walk = arg;

	walk->len += (size_t)snprintf(walk->text + walk->len, sizeof(walk->text) - walk->len,
				      "%s %s %u\n", node->frame.name, node->frame.source.file,
				      node->frame.source.line);
	return true;
}

static void siblings_of_one_name_are_in_order_of_file_and_line(void **state)
{
	static const struct tree_visitor visitor = {note_source, NULL};
	_cleanup_tree_ struct tree *tree = new_tree(), *other = new_tree();
	struct walk walk = {.len = 0};

	(void)state;
	child_with(tree, TREE_ROOT, "f", "b.py", 1);
	child_with(tree, TREE_ROOT, "f", "a.py", 20);
	child_with(tree, child_with(tree, TREE_ROOT, "f", "a.py", 3), "g", "a.py", 7);
	child_with(tree, TREE_ROOT, "e", "c.py", 1);
	/* Sources are kept where trees are merged. */
	assert_int_equal(merge(other, tree, TREE_ROOT), 0);
	assert_int_equal(tree_walk(other, TREE_ROOT, &visitor, &walk), 0);
	assert_string_equal(walk.text, "  0\n"
				       "e c.py 1\n"
				       "f a.py 3\n"
				       "g a.py 7\n"
				       "f a.py 20\n"
				       "f b.py 1\n");
}

static void a_walk_goes_in_order_with_totals_and_may_skip(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	add(tree, "z", 1);
	add(tree, "b;y", 2);
	add(tree, "b;x;w", 3);
	add(tree, "b", 4);
	uint32_t b = child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "b");
	assert_walk(tree, TREE_ROOT, NULL, "0:0/10(b1:4/9(x2:0/3(w3:3/3())y2:2/2())z1:1/1())");
	assert_walk(tree, b, NULL, "b0:4/9(x1:0/3(w2:3/3())y1:2/2())");
	assert_walk(tree, TREE_ROOT, "b", "0:0/10(b1:4/9()z1:1/1())");
	assert_walk(tree, b, "b", "b0:4/9()");
}

static void siblings_are_sorted_by_bytes_then_length_then_kind(void **state)
{
	static const char *const names[] = {"b", "a\xff", "a", "aa", "B", "", "a\x01", "\xc3\xbc"};
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		tree_add(tree, child(tree, TREE_ROOT, FRAME_TYPE_KERNEL, names[i]), 1);
		tree_add(tree, child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, names[i]), 1);
	}
	assert_walk(tree, TREE_ROOT, NULL,
		    "0:0/16(1:1/1()1:1/1()B1:1/1()B1:1/1()a1:1/1()a1:1/1()a\x01"
		    "1:1/1()a\x01"
		    "1:1/1()aa1:1/1()aa1:1/1()a\xff"
		    "1:1/1()a\xff"
		    "1:1/1()b1:1/1()b1:1/1()"
		    "\xc3\xbc"
		    "1:1/1()\xc3\xbc"
		    "1:1/1())");
}

static void random_trees_have_the_totals_of_a_simple_sum(void **state)
{
	uint64_t random = 3;

	(void)state;
	for (int round = 0; round < 20; round++) {
		_cleanup_tree_ struct tree *tree = new_tree();
		uint64_t first[26] = {0}, sum = 0;

		for (int i = 0; i < 2000; i++) {
			uint64_t bits = random_next(&random);
			char stack[32];
			size_t depth = 1 + bits % 8, len = 0;

			for (size_t d = 0; d < depth; d++)
				len += (size_t)snprintf(stack + len, sizeof(stack) - len, "%s%c",
							d ? ";" : "",
							(char)('a' + (bits >> (8 + 4 * d)) % 6));
			add(tree, stack, bits >> 50);
			first[stack[0] - 'a'] += bits >> 50;
			sum += bits >> 50;
		}
		assert_true(weight_of(tree) == sum);
		_cleanup_free_ char *text = folded(tree, TREE_ROOT);
		for (char *line = text, *end; *line; line = end + 1) {
			end = strchr(line, '\n');
			*end = '\0';
			first[line[0] - 'a'] -= strtoull(strrchr(line, ' ') + 1, NULL, 10);
		}
		for (int i = 0; i < 26; i++)
			assert_true(first[i] == 0);
	}
}

static void merging_adds_weights_and_keeps_what_is_there(void **state)
{
	_cleanup_tree_ struct tree *into = new_tree(), *from = new_tree();

	(void)state;
	add(into, "a;b", 1);
	add(into, "c", 2);
	add(from, "x;y", 3); /* other numbers than in the first tree */
	add(from, "a;b", 4);
	add(from, "a", 5);
	tree_add(from, TREE_ROOT, 6);
	assert_int_equal(merge(into, from, TREE_ROOT), 0);
	assert_folded(into, TREE_ROOT, "[unknown] 6\na 5\na;b 5\nc 2\nx;y 3\n");
	assert_int_equal(weight_of(into), 21);
	assert_folded(from, TREE_ROOT, "[unknown] 6\na 5\na;b 4\nx;y 3\n");
}

static void a_second_value_goes_with_the_weight_and_can_take_its_place(void **state)
{
	_cleanup_tree_ struct tree *into = new_tree(), *from = new_tree();

	(void)state;
	tree_add_events(into, add(into, "a;b", 100), 1);
	tree_add_events(from, add(from, "a;b", 200), 2);
	uint32_t most = add(from, "a;c", 1);
	tree_add_events(from, most, UINT64_MAX);
	tree_add_events(from, most, 1);
	add(from, "a", 50);
	assert_int_equal(merge(into, from, TREE_ROOT), 0);
	assert_folded(into, TREE_ROOT, "a 50\na;b 300\na;c 1\n");
	tree_show_events(into);
	assert_folded(into, TREE_ROOT, "a;b 3\na;c 72057594037927935\n");
	assert_folded(from, TREE_ROOT, "a 50\na;b 200\na;c 1\n");
}

static void merging_a_subtree_brings_the_way_to_it_without_its_weights(void **state)
{
	_cleanup_tree_ struct tree *into = new_tree(), *from = new_tree();

	(void)state;
	add(from, "a", 1);
	add(from, "a;b", 2);
	uint32_t node = add(from, "a;b;c", 4);
	add(from, "a;b;c;d", 8);
	add(from, "a;b;e", 16);
	add(from, "f", 32);
	tree_add(from, TREE_ROOT, 64);
	assert_int_equal(merge(into, from, node), 0);
	assert_folded(into, TREE_ROOT, "a;b;c 4\na;b;c;d 8\n");
	assert_int_equal(weight_of(into), 12);
	assert_int_equal(node_count(into), 5);
	assert_folded(from, node, "a;b;c 4\na;b;c;d 8\n");
}

static void a_leaf_and_a_weightless_node_can_be_merged(void **state)
{
	_cleanup_tree_ struct tree *into = new_tree(), *from = new_tree();
	uint32_t leaf = add(from, "a;b", 7), empty = child(from, leaf, FRAME_TYPE_NATIVE, "empty");

	(void)state;
	assert_int_equal(merge(into, from, leaf), 0);
	assert_int_equal(merge(into, from, empty), 0);
	assert_int_equal(weight_of(into), 7);
	assert_folded(into, TREE_ROOT, "a;b 7\n");
	assert_folded(from, empty, "");
}

static void merging_tells_which_node_became_which(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree(), *into = new_tree();
	_cleanup_free_ uint32_t *numbers = NULL;
	uint32_t left = child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "left");
	uint32_t right = child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "right");

	(void)state;
	child(into, TREE_ROOT, FRAME_TYPE_NATIVE, "first");
	assert_int_equal(tree_merge(into, tree, right, &numbers), 0);
	assert_int_equal(numbers[right], child(into, TREE_ROOT, FRAME_TYPE_NATIVE, "right"));
	assert_int_equal(numbers[left], TREE_ROOT); /* not asked for */
	assert_int_equal(numbers[TREE_ROOT], TREE_ROOT);
}

static void the_bound_of_nodes_is_kept(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL;
	char name[16];

	(void)state;
	assert_int_equal(tree_new(&tree, 100, 1 << 20), 0);
	for (int i = 1; i < 100; i++) {
		snprintf(name, sizeof(name), "%d", i);
		tree_add(tree, child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name), 1);
	}
	assert_int_equal(tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "new", 3), -ENOSPC);
	assert_true(tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "7", 1) > 0);
	assert_int_equal(node_count(tree), 100);
	_cleanup_tree_ struct tree *other = new_tree();
	add(other, "another", 1);
	assert_int_equal(merge(tree, other, TREE_ROOT), -ENOSPC);
	assert_int_equal(weight_of(tree), 99);
}

static void the_bound_of_name_bytes_is_kept(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL;

	(void)state;
	assert_int_equal(tree_new(&tree, 100, 16), 0);
	assert_true(tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "0123456789", 10) > 0);
	assert_int_equal(tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "abcdef", 6), -ENOSPC);
	assert_true(tree_child(tree, TREE_ROOT, FRAME_TYPE_JIT, "0123456789", 10) > 0);
	assert_true(tree_child(tree, TREE_ROOT, FRAME_TYPE_JIT, "a", 1) > 0);
}

static void a_hundred_thousand_frames_deep_is_no_recursion(void **state)
{
	_cleanup_tree_ struct tree *tree = NULL, *into = NULL;
	uint32_t node = TREE_ROOT;

	(void)state;
	assert_int_equal(tree_new(&tree, 200000, 1 << 20), 0);
	assert_int_equal(tree_new(&into, 200000, 1 << 20), 0);
	for (int i = 0; i < 100000; i++)
		node = child(tree, node, FRAME_TYPE_NATIVE, "f");
	tree_add(tree, node, 1);
	_cleanup_free_ char *text = folded(tree, TREE_ROOT);
	assert_int_equal(strlen(text), 2 * 100000 + 2);
	assert_int_equal(merge(into, tree, node), 0);
	_cleanup_free_ char *merged = folded(into, TREE_ROOT);
	assert_string_equal(merged, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_frame_below_the_same_parent_is_one_node),
		cmocka_unit_test(weights_add_up),
		cmocka_unit_test(another_file_or_line_is_another_node),
		cmocka_unit_test(siblings_of_one_name_are_in_order_of_file_and_line),
		cmocka_unit_test(a_walk_goes_in_order_with_totals_and_may_skip),
		cmocka_unit_test(siblings_are_sorted_by_bytes_then_length_then_kind),
		cmocka_unit_test(random_trees_have_the_totals_of_a_simple_sum),
		cmocka_unit_test(merging_adds_weights_and_keeps_what_is_there),
		cmocka_unit_test(a_second_value_goes_with_the_weight_and_can_take_its_place),
		cmocka_unit_test(merging_a_subtree_brings_the_way_to_it_without_its_weights),
		cmocka_unit_test(a_leaf_and_a_weightless_node_can_be_merged),
		cmocka_unit_test(merging_tells_which_node_became_which),
		cmocka_unit_test(the_bound_of_nodes_is_kept),
		cmocka_unit_test(the_bound_of_name_bytes_is_kept),
		cmocka_unit_test(a_hundred_thousand_frames_deep_is_no_recursion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
