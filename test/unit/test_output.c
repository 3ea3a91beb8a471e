// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "output/output.h"

static const struct profile_meta plain_meta = {.title = "On-CPU Time Flame Graph",
					       .count_name = "samples"};

static struct tree *new_tree(void)
{
	struct tree *tree;

	assert_int_equal(tree_new(&tree, 100000, 8 << 20), 0);
	return tree;
}

static uint32_t add_child(struct tree *tree, uint32_t parent, enum frame_type type,
			  const char *name)
{
	int64_t node = tree_child(tree, parent, type, name, strlen(name));

	assert_true(node > 0);
	return (uint32_t)node;
}

/* `[7]app;main;work` with 60, `…;main;read_[k]` with 30, `…;main;java_[j]` with 10. */
static struct tree *new_small_tree(uint32_t *main_node)
{
	struct tree *tree = new_tree();
	uint32_t process = add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[7]app");

	*main_node = add_child(tree, process, FRAME_TYPE_NATIVE, "main");
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_NATIVE, "work"), 60);
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_KERNEL, "read"), 30);
	tree_add(tree, add_child(tree, *main_node, FRAME_TYPE_JIT, "java"), 10);
	return tree;
}

static char *write_with(const char *extension, const struct tree *tree, uint32_t start,
			const struct profile_meta *meta)
{
	_cleanup_buf_ struct buf out = BUF_INIT(64 << 20);
	const struct output *output = output_find(extension);
	size_t len;

	assert_non_null(output);
	assert_int_equal(output->write(tree, start, meta, &out), 0);
	char *text = buf_take_string(&out, &len, NULL);
	assert_non_null(text);
	assert_int_equal(strlen(text), len); /* no NUL in it */
	return text;
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		count++;
	return count;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("missing: %s", part);
}

static void assert_has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("not expected: %s", part);
}

/*
 * Well-formed enough: characters of XML 1.0 in UTF-8, tags that close in order, quoted attributes
 * without `<`, no reference but the five of XML, and elements only of the kinds the writer makes.
 */
struct xml {
	const char *at;
	char open[16][16];
	int depth;
};

static void check_characters(const char *text)
{
	for (size_t len = strlen(text), at = 0; at < len;) {
		size_t bytes = utf8_sequence(text + at, len - at);
		unsigned char c = (unsigned char)text[at];

		assert_true(bytes > 0);
		assert_true(c >= 0x20 || c == '\n' || c == '\t');
		assert_true(memcmp(text + at, "\xef\xbf\xbe", bytes < 3 ? bytes : 3) != 0 &&
			    memcmp(text + at, "\xef\xbf\xbf", bytes < 3 ? bytes : 3) != 0);
		at += bytes;
	}
}

static void check_reference(const char *at)
{
	static const char *const known[] = {"&lt;", "&gt;", "&amp;", "&quot;"};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strncmp(at, known[i], strlen(known[i])) == 0)
			return;
	}
	fail_msg("unknown reference: %.12s", at);
}

static void check_attributes(struct xml *xml)
{
	while (*xml->at == ' ') {
		size_t name = strspn(++xml->at, "abcdefghijklmnopqrstuvwxyzBV-0123456789");

		assert_true(name > 0 && strncmp(xml->at, "on", 2) != 0);
		xml->at += name;
		assert_int_equal(strncmp(xml->at, "=\"", 2), 0);
		for (xml->at += 2; *xml->at != '"'; xml->at++) {
			assert_true(*xml->at && *xml->at != '<' && *xml->at != '\n');
			if (*xml->at == '&')
				check_reference(xml->at);
		}
		xml->at++;
	}
}

static void check_tag(struct xml *xml)
{
	static const char *const known[] = {"svg",  "style", "g",    "title",
					    "rect", "path",  "text", "script"};
	bool closes = xml->at[1] == '/', is_known = false;
	size_t len;

	xml->at += closes ? 2 : 1;
	len = strspn(xml->at, "abcdefghijklmnopqrstuvwxyz");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		is_known |= strlen(known[i]) == len && memcmp(xml->at, known[i], len) == 0;
	assert_true(is_known);
	if (closes) {
		assert_true(xml->depth > 0);
		assert_int_equal(strlen(xml->open[--xml->depth]), len);
		assert_memory_equal(xml->open[xml->depth], xml->at, len);
		xml->at += len;
	} else {
		assert_true(xml->depth < (int)ARRAY_SIZE(xml->open));
		snprintf(xml->open[xml->depth++], sizeof(xml->open[0]), "%.*s", (int)len, xml->at);
		xml->at += len;
		check_attributes(xml);
		if (*xml->at == '/') {
			xml->at++;
			xml->depth--;
		}
	}
	assert_int_equal(*xml->at++, '>');
}

static void check_xml(const char *text)
{
	struct xml xml = {.at = text};
	static const char declaration[] = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

	check_characters(text);
	assert_int_equal(strncmp(text, declaration, sizeof(declaration) - 1), 0);
	xml.at += sizeof(declaration) - 1;
	while (*xml.at) {
		if (strncmp(xml.at, "<![CDATA[", 9) == 0) {
			xml.at = strstr(xml.at, "]]>");
			assert_non_null(xml.at);
			xml.at += 3;
		} else if (*xml.at == '<') {
			check_tag(&xml);
		} else {
			if (*xml.at == '&')
				check_reference(xml.at);
			assert_true(*xml.at != '>' || xml.depth == 0 ||
				    strcmp(xml.open[xml.depth - 1], "style") == 0);
			assert_int_not_equal(strncmp(xml.at, "]]>", 3), 0);
			xml.at++;
		}
	}
	assert_int_equal(xml.depth, 0);
	assert_int_equal(count_of(text, "<script>"), 1);
	assert_int_equal(count_of(text, "\"><title>"), count_of(text, "<title>"));
	assert_int_equal(count_of(text, "%)</title></path>"), count_of(text, "<title>"));
}

static void every_extension_has_its_output_and_an_unknown_one_has_none(void **state)
{
	(void)state;
	assert_string_equal(output_find("svg")->content_type, "image/svg+xml");
	assert_string_equal(output_find("folded")->content_type, "text/plain; charset=utf-8");
	assert_string_equal(output_find("json")->content_type, "application/json");
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

static void svg_titles_have_name_suffix_weight_and_percentage(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	tree_add(tree, main_node, 1134);
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(text);
	assert_int_equal(count_of(text, "<title>"), 6);
	assert_has(text, "<title>all (1,234 samples, 100%)</title>");
	assert_has(text, "<title>[7]app (1,234 samples, 100.00%)</title>");
	assert_has(text, "<title>read_[k] (30 samples, 2.43%)</title>");
	assert_has(text, "<title>java_[j] (10 samples, 0.81%)</title>");
	assert_has(text, "<title>work (60 samples, 4.86%)</title>");
	assert_has(text, ">On-CPU Time Flame Graph</text>");
}

static void svg_frames_lie_above_their_parents_side_by_side(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_has(text, "d=\"M10 132h1180\"><title>all (");
	assert_has(text, "d=\"M10 84h118\"><title>java_[j] (");
	assert_has(text, "d=\"M128 84h354\"><title>read_[k] (");
	assert_has(text, "d=\"M482 84h708\"><title>work (");
	assert_has(text, "</path><text x=\"485\" y=\"88\">work</text>\n");
}

static void svg_of_a_subtree_stands_on_the_frames_that_lead_to_it(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_PROCESS, "[8]other"), 900);
	_cleanup_free_ char *text = write_with("svg", tree, main_node, &plain_meta);
	check_xml(text);
	assert_has(text, "<title>all (100 samples, 100%)</title>");
	assert_has(text, "<title>[7]app (100 samples, 100.00%)</title>");
	assert_has(text, "<title>main (100 samples, 100.00%)</title>");
	assert_has(text, "<title>work (60 samples, 60.00%)</title>");
	assert_has_not(text, "[8]other");
	_cleanup_free_ char *whole = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_has(whole, "<title>all (1,000 samples, 100%)</title>");
}

static void hostile_names_bring_no_markup_into_the_svg(void **state)
{
	static const char *const names[] = {
		"</title><script>alert(1)</script>",
		"]]>",
		"<![CDATA[x]]>",
		"&#1;&bad;",
		"\"'><a",
		"a;b\nc",
		"ctl\x01\x02\x08\x0b\x0c\x0e\x1f\x7f",
		"\xff\xfe\xc0\x80",
		"\xef\xbf\xbe",
		"\xef\xbf\xbf",
		"\xed\xa0\x80",
		"nel\xc2\x85",
		"</g></svg>",
		"<!--",
		"<?xml?>",
		"",
		"x (9 samples, 1.00%)",
		"\xe2\x82",
		"-->",
	};
	_cleanup_tree_ struct tree *tree = new_tree();
	struct profile_meta meta = {
		.title = "</text><script>", .count_name = "\"/><b>&\x01", .host = "a]]><b>\x02"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, names[i]), 10);
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &meta);
	check_xml(text);
	assert_int_equal(count_of(text, "<title>"), ARRAY_SIZE(names) + 1);
	assert_has(text, "<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt; (10 ");
	assert_has(text, "<title>]]&gt; (10 ");
	assert_has(text, "<title>&amp;#1;&amp;bad; (10 ");
	assert_has(text, "<title>a;b c (10 ");
	assert_has_not(text, "&#");
	assert_has_not(text, "alert(1)</script>");
}

static void names_cut_anywhere_stay_well_formed(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		char name[200];

		snprintf(name, sizeof(name), "%.*s%s", (int)i % 12, "abcdefghijkl",
			 "<&>\xe6\x97\xa5\xe6\x9c\xac\xf0\x9f\x94\xa5\xff\xc3\xbc&<and on and on");
		tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name), 1 + i);
	}
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(text);
	assert_has(text, "…</text>");
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

static void frames_under_a_tenth_of_a_pixel_are_left_out_and_totals_stay_right(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t main_node = add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "main");

	(void)state;
	tree_add(tree, add_child(tree, main_node, FRAME_TYPE_NATIVE, "aaa_too_narrow"), 99);
	tree_add(tree, add_child(tree, main_node, FRAME_TYPE_NATIVE, "big"), 1179802);
	uint32_t narrow = add_child(tree, main_node, FRAME_TYPE_NATIVE, "zzz_just_seen");
	tree_add(tree, narrow, 99);
	add_child(tree, main_node, FRAME_TYPE_NATIVE, "no_weight");
	assert_int_equal(tree_total(tree), 1180000); /* a tenth of a pixel is 100 */
	_cleanup_free_ char *hidden = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(hidden);
	assert_has_not(hidden, "too_narrow");
	assert_has_not(hidden, "no_weight");
	assert_has_not(hidden, "just_seen");
	assert_has(hidden, "<title>main (1,180,000 samples, 100.00%)</title>");
	/* The pruned one at the left leaves its gap. */
	assert_has(hidden,
		   " d=\"M10.099 84h1179.8\"><title>big (1,179,802 samples, 99.98%)</title>");
	tree_add(tree, narrow, 2);
	_cleanup_free_ char *seen = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_has(seen, "<title>zzz_just_seen (101 samples, 0.01%)</title>");
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

static void the_second_line_says_what_is_known_and_only_that(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);
	struct profile_meta meta = {.title = "On-CPU Time Flame Graph",
				    .count_name = "samples",
				    .host = "db<1>",
				    .from = 1700000000,
				    .until = 1700000180,
				    .period_ns = 10000000,
				    .lost = 1234,
				    .truncated = 5,
				    .processes = 3};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	_cleanup_free_ char *full = write_with("svg", tree, TREE_ROOT, &meta);
	check_xml(full);
	assert_has(full, ">db&lt;1&gt; · 3 processes · 2023-11-14 22:13:20–22:16:20 · 100 Hz · "
			 "100 samples · 1,234 lost · 5 truncated</text>");
	meta = (struct profile_meta){.count_name = "us",
				     .period_ns = 10101010,
				     .processes = 1,
				     .from = 1700000000,
				     .until = 1700086400};
	_cleanup_free_ char *days = write_with("svg", tree, TREE_ROOT, &meta);
	assert_has(days, ">1 process · 2023-11-14 22:13:20–2023-11-15 22:13:20 · 99 Hz · "
			 "100 us</text>");
	_cleanup_free_ char *bare = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_has(bare, "class=\"quiet\">100 samples</text>");
}

static void the_legend_names_the_kinds_that_are_seen(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	(void)state;
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_KERNEL, "idle"), 1);
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_has(text, ">kernel</text>");
	assert_has_not(text, ">native</text>");
	assert_has_not(text, ">JIT-compiled</text>");
}

static void ten_thousand_narrow_frames_take_little_room(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	char name[32];

	(void)state;
	for (int i = 0; i < 10000; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, name), 1);
	}
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	assert_int_equal(count_of(text, "<title>"), 10001);
	assert_true(strlen(text) < 1300000);
}

static void a_full_buffer_is_an_error_of_every_output(void **state)
{
	static const char *const extensions[] = {"svg", "folded", "json"};
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
		cmocka_unit_test(hostile_names_stay_one_frame_in_folded_text),
		cmocka_unit_test(stacks_without_a_frame_are_not_lost_in_folded_text),
		cmocka_unit_test(json_is_the_tree_with_names_as_they_are),
		cmocka_unit_test(json_strings_are_escaped_and_valid_utf8),
		cmocka_unit_test(svg_titles_have_name_suffix_weight_and_percentage),
		cmocka_unit_test(svg_frames_lie_above_their_parents_side_by_side),
		cmocka_unit_test(svg_of_a_subtree_stands_on_the_frames_that_lead_to_it),
		cmocka_unit_test(hostile_names_bring_no_markup_into_the_svg),
		cmocka_unit_test(names_cut_anywhere_stay_well_formed),
		cmocka_unit_test(an_empty_tree_makes_a_picture_that_says_so),
		cmocka_unit_test(a_stack_of_1200_frames_is_whole_in_every_output),
		cmocka_unit_test(
			frames_under_a_tenth_of_a_pixel_are_left_out_and_totals_stay_right),
		cmocka_unit_test(huge_weights_are_written_whole),
		cmocka_unit_test(the_second_line_says_what_is_known_and_only_that),
		cmocka_unit_test(the_legend_names_the_kinds_that_are_seen),
		cmocka_unit_test(ten_thousand_narrow_frames_take_little_room),
		cmocka_unit_test(a_full_buffer_is_an_error_of_every_output),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
