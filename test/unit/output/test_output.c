// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/output/tree_text.h"

static void every_extension_has_its_output_and_an_unknown_one_has_none(void **state)
{
	(void)state;
	assert_string_equal(output_find("svg")->content_type, "image/svg+xml");
	assert_string_equal(output_find("html")->content_type, "text/html; charset=utf-8");
	assert_string_equal(output_find("folded")->content_type, "text/plain; charset=utf-8");
	assert_string_equal(output_find("json")->content_type, "application/json");
	assert_string_equal(output_find("frames")->content_type, "application/octet-stream");
	assert_string_equal(output_find("jsonl")->content_type, "application/x-ndjson");
	assert_null(output_find("exe"));
	assert_null(output_find(""));
}

static void a_folded_line_has_the_path_with_suffixes_and_the_own_weight(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	tree_add(tree, main_node, 5);
	_cleanup_free_ char *text = write_with("folded", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(text, "[7]app;main 5\n"
				  "[7]app;main;java_[j] 10\n"
				  "[7]app;main;read_[k] 30\n"
				  "[7]app;main;work 60\n");
}

static void folded_lines_of_a_subtree_begin_with_the_frames_that_lead_to_it(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[8]other"), 1);
	_cleanup_free_ char *from_main = write_with("folded", tree, main_node, &plain_meta);
	assert_string_equal(from_main, "[7]app;main;java_[j] 10\n"
				       "[7]app;main;read_[k] 30\n"
				       "[7]app;main;work 60\n");
	uint32_t process = tree_parent(tree, main_node);
	_cleanup_free_ char *from_process = write_with("folded", tree, process, &plain_meta);
	assert_string_equal(from_main, from_process);
	assert_int_equal(tree_parent(tree, process), TREE_ROOT);
	assert_int_equal(tree_parent(tree, TREE_ROOT), TREE_ROOT);
}

/* `[7]app;C.run (pkg/a.py:12)_[p];C.run (pkg/a.py)_[p];[python]_[p]` with 5. */
static struct tree *new_python_tree(uint32_t *first)
{
	struct tree *tree = new_tree();
	uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	*first = node = add_python(tree, node, "C.run", "pkg/a.py", 12);
	node = add_python(tree, node, "C.run", "pkg/a.py", 0);
	node = add_python(tree, node, "[python]", "", 0);
	tree_add(tree, node, 5);
	return tree;
}

static void a_frame_with_a_source_shows_its_file_and_its_line(void **state)
{
	uint32_t first;
	_cleanup_tree_ struct tree *tree = new_python_tree(&first);

	(void)state;
	_cleanup_free_ char *folded = write_with("folded", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(folded, "[7]app;C.run (pkg/a.py:12)_[p];C.run (pkg/a.py)_[p];"
				    "[python]_[p] 5\n");
	_cleanup_free_ char *part =
		write_with("folded", tree, tree_parent(tree, first) + 2, &plain_meta);
	assert_string_equal(part, folded);
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(svg);
	assert_has(svg, "<title>C.run (pkg/a.py:12)_[p] (5 samples, 100.00%)</title>");
	assert_has(svg, ">C.run (pkg/a.py:12)</text>");
	assert_has(svg, "<title>C.run (pkg/a.py)_[p] (5 samples, 100.00%)</title>");
	assert_has(svg, "<path class=\"y");
}

static void json_has_file_and_line_in_fields_of_their_own(void **state)
{
	uint32_t first;
	_cleanup_tree_ struct tree *tree = new_python_tree(&first);
	_cleanup_free_ char *text = write_with("json", tree, first, &plain_meta);

	(void)state;
	assert_string_equal(text, "{\"name\":\"C.run\",\"kind\":\"python\",\"file\":\"pkg/a.py\","
				  "\"line\":12,\"self\":0,\"total\":5,\"children\":["
				  "{\"name\":\"C.run\",\"kind\":\"python\",\"file\":\"pkg/a.py\","
				  "\"self\":0,\"total\":5,\"children\":["
				  "{\"name\":\"[python]\",\"kind\":\"python\","
				  "\"self\":5,\"total\":5,\"children\":[]}]}]}\n");
}

static void hostile_files_stay_one_frame(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	tree_add(tree, add_python(tree, TREE_ROOT, "f;g", "a;b\n<\xff>.py", 4294967295), 1);
	_cleanup_free_ char *folded = write_with("folded", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(folded, "f:g (a:b <" UTF8_REPLACEMENT ">.py:4294967295)_[p] 1\n");
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(svg);
}

static void hostile_names_stay_one_frame_in_folded_text(void **state)
{
	static const char *const names[][2] = {
		{"a;b\nc 7", "a:b c 7"},
		{"tab\there\x7f\x01", "tab here  "},
		{"bad\xff\xc0\x80z", "bad" UTF8_REPLACEMENT UTF8_REPLACEMENT UTF8_REPLACEMENT "z"},
		{"nel\xc2\x85ls\xe2\x80\xa8ps\xe2\x80\xa9", "nel ls ps "},
		{"gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5"},
		{"cut\xe2\x82", "cut" UTF8_REPLACEMENT UTF8_REPLACEMENT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_tree_ struct tree *tree = new_tree();
		uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, names[i][0]);
		char expected[128];

		tree_add(tree, add_child(tree, node, FRAME_TYPE_NATIVE, "leaf"), 3);
		_cleanup_free_ char *text = write_with("folded", tree, TREE_ROOT, &plain_meta);
		snprintf(expected, sizeof(expected), "%s;leaf 3\n", names[i][1]);
		assert_string_equal(text, expected);
	}
}

static void stacks_without_a_frame_are_not_lost_in_folded_text(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	tree_add(tree, TREE_ROOT, 4);
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "a"), 3);
	_cleanup_free_ char *text = write_with("folded", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(text, "[unknown] 4\na 3\n");
}

static void json_is_the_tree_with_names_as_they_are(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	_cleanup_free_ char *text = write_with("json", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(
		text,
		"{\"name\":\"all\",\"kind\":\"root\",\"self\":0,\"total\":100,\"children\":["
		"{\"name\":\"[7]app\",\"kind\":\"process\",\"self\":0,\"total\":100,\"children\":["
		"{\"name\":\"main\",\"kind\":\"native\",\"self\":0,\"total\":100,\"children\":["
		"{\"name\":\"java\",\"kind\":\"jit\",\"self\":10,\"total\":10,\"children\":[]},\n"
		"{\"name\":\"read\",\"kind\":\"kernel\",\"self\":30,\"total\":30,\"children\":[]},"
		"\n"
		"{\"name\":\"work\",\"kind\":\"native\",\"self\":60,\"total\":60,\"children\":[]}"
		"]}]}]}\n");
	_cleanup_free_ char *part = write_with("json", tree, main_node, &plain_meta);
	assert_int_equal(strncmp(part, "{\"name\":\"main\",", 15), 0);
}

static void json_strings_are_escaped_and_valid_utf8(void **state)
{
	static const char name[] = "q\"b\\n\n\x01\x1f\0\x7f</s>;\xff\xc3\xbc";
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	int64_t node = tree_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name, sizeof(name) - 1);
	tree_add(tree, (uint32_t)node, UINT64_C(1) << 63);
	_cleanup_free_ char *text = write_with("json", tree, (uint32_t)node, &plain_meta);
	assert_string_equal(text, "{\"name\":\"q\\\"b\\\\n\\u000a\\u0001\\u001f\\u0000\\u007f</s>;"
				  "\xef\xbf\xbd\xc3\xbc\",\"kind\":\"native\","
				  "\"self\":9223372036854775808,\"total\":9223372036854775808,"
				  "\"children\":[]}\n");
}

static void an_empty_tree_makes_a_picture_that_says_so(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(svg);
	assert_int_equal(count_of(svg, "<title>"), 1);
	assert_has(svg, "d=\"M10 84h1180\"><title>all (0 samples, 0.00%)</title>");
	assert_has(svg, ">no samples</text>");
	uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]idle");
	_cleanup_free_ char *part = write_with("svg", tree, node, &plain_meta);
	check_xml(part);
	assert_has(part, ">no samples</text>");
	_cleanup_free_ char *folded = write_with("folded", tree, TREE_ROOT, &plain_meta);
	assert_string_equal(folded, "");
	_cleanup_tree_ struct tree *bare = new_tree();
	_cleanup_free_ char *json = write_with("json", bare, TREE_ROOT, &plain_meta);
	assert_string_equal(json, "{\"name\":\"all\",\"kind\":\"root\",\"self\":0,\"total\":0,"
				  "\"children\":[]}\n");
}

static void a_stack_of_1200_frames_is_whole_in_every_output(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t node = TREE_ROOT;
	char name[16];

	(void)state;
	for (int i = 0; i < 1200; i++) {
		snprintf(name, sizeof(name), "f%04d", i);
		node = add_child(tree, node, FRAME_TYPE_NATIVE, name);
	}
	tree_add(tree, node, 2);
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(svg);
	assert_int_equal(count_of(svg, "<title>"), 1201);
	assert_has(svg, "d=\"M10 84h1180\"><title>f1199 (2 samples, 100.00%)</title>");
	_cleanup_free_ char *part = write_with("svg", tree, node, &plain_meta);
	assert_int_equal(count_of(part, "<title>"), 1201);
	_cleanup_free_ char *folded = write_with("folded", tree, node, &plain_meta);
	assert_int_equal(count_of(folded, ";"), 1199);
	assert_has(folded, ";f1199 2\n");
	_cleanup_free_ char *json = write_with("json", tree, TREE_ROOT, &plain_meta);
	assert_int_equal(count_of(json, "\"children\":["), 1201);
	assert_int_equal(count_of(json, "]}"), 1201);
}

static void huge_weights_are_written_whole(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	struct profile_meta meta = {.count_name = "bytes"};
	uint64_t quarter = UINT64_C(1) << 61;

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "a"), quarter);
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "b"), 3 * quarter);
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &meta);
	assert_has(svg, "<title>all (9,223,372,036,854,775,808 bytes, 100%)</title>");
	assert_has(svg, "d=\"M10 84h295\"><title>a (2,305,843,009,213,693,952 bytes, 25.00%)<");
	assert_has(svg, "d=\"M305 84h885\"><title>b (6,917,529,027,641,081,856 bytes, 75.00%)<");
	assert_has(svg, ">Flame Graph</text>");
	_cleanup_free_ char *folded = write_with("folded", tree, TREE_ROOT, &meta);
	assert_string_equal(folded, "a 2305843009213693952\nb 6917529027641081856\n");
}

static void a_full_buffer_is_an_error_of_every_output(void **state)
{
	static const char *const extensions[] = {"svg", "html", "folded", "json"};
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++) {
		_cleanup_free_ char *whole =
			write_with(extensions[i], tree, TREE_ROOT, &plain_meta);
		size_t step = strlen(whole) > 1000 ? 97 : 1;

		for (size_t max = 0; max < strlen(whole); max += step) {
			_cleanup_buf_ struct buf out = BUF_INIT(max);

			assert_int_equal(output_find(extensions[i])
						 ->write(tree, TREE_ROOT, &plain_meta, &out),
					 -ENOSPC);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_extension_has_its_output_and_an_unknown_one_has_none),
		cmocka_unit_test(a_folded_line_has_the_path_with_suffixes_and_the_own_weight),
		cmocka_unit_test(folded_lines_of_a_subtree_begin_with_the_frames_that_lead_to_it),
		cmocka_unit_test(a_frame_with_a_source_shows_its_file_and_its_line),
		cmocka_unit_test(json_has_file_and_line_in_fields_of_their_own),
		cmocka_unit_test(hostile_files_stay_one_frame),
		cmocka_unit_test(hostile_names_stay_one_frame_in_folded_text),
		cmocka_unit_test(stacks_without_a_frame_are_not_lost_in_folded_text),
		cmocka_unit_test(json_is_the_tree_with_names_as_they_are),
		cmocka_unit_test(json_strings_are_escaped_and_valid_utf8),
		cmocka_unit_test(an_empty_tree_makes_a_picture_that_says_so),
		cmocka_unit_test(a_stack_of_1200_frames_is_whole_in_every_output),
		cmocka_unit_test(huge_weights_are_written_whole),
		cmocka_unit_test(a_full_buffer_is_an_error_of_every_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
