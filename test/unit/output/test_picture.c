// SPDX-License-Identifier: GPL-2.0-or-later
#include <time.h>

#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

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

static void svg_titles_tell_of_how_many_events_the_weight_is_a_part(void **state)
{
	struct profile_meta meta = plain_meta;
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	meta.count_name = "misses";
	meta.event_name = "references";
	meta.is_part_of_events = true;
	tree_add_events(tree, main_node, 1000);
	tree_add_events(tree, main_node + 1, 600); /* work */
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &meta);
	check_xml(text);
	assert_has(text, "<title>all (100 misses, 100%; of 1,600 references 6.25%)</title>");
	assert_has(text, "<title>main (100 misses, 100.00%; of 1,600 references 6.25%)</title>");
	assert_has(text, "<title>work (60 misses, 60.00%; of 600 references 10.00%)</title>");
	assert_has(text, "<title>java_[j] (10 misses, 10.00%)</title>");
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
	assert_has(text, "</path><text stroke=\"none\" x=\"485\" y=\"88\">work</text>\n");
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

static void names_without_room_are_shortened_at_the_front(void **state)
{
	static const struct {
		enum frame_type type;
		const char *label;
	} frames[] = {
		{FRAME_TYPE_JIT, ">Cart.addItem</text>"},
		{FRAME_TYPE_INTERPRETED, ">Cart.addItem</text>"},
		{FRAME_TYPE_NATIVE, ">com.shop.Car…</text>"},
	};
	const char *name = "com.shop.Cart.addItem (Cart.java:42)";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		_cleanup_tree_ struct tree *tree = new_tree();

		tree_add(tree, add_child(tree, TREE_ROOT, frames[i].type, name), 98);
		tree_add(tree, TREE_ROOT, 1082);
		_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
		check_xml(text);
		assert_has(text, frames[i].label);
		assert_has(text, "<title>com.shop.Cart.addItem (Cart.java:42)");
	}
}

static void what_a_narrow_child_weighs_is_told_apart_from_its_parent(void **state)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	uint32_t node = add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "node");

	(void)state;
	tree_add(tree, node, 1000);
	tree_add(tree, add_child(tree, node, FRAME_TYPE_NATIVE, "narrow"), 1);
	tree_add(tree, add_child(tree, TREE_ROOT, FRAME_TYPE_NATIVE, "wide"), 1000000);
	_cleanup_free_ char *text = write_with("svg", tree, TREE_ROOT, &plain_meta);
	check_xml(text);
	assert_int_equal(count_of(text, "data-self"), 1);
	assert_has(text, "\" data-self=\"1000\" d=\"M");
}

static void a_page_has_the_same_picture(void **state)
{
	uint32_t main_node;
	_cleanup_tree_ struct tree *tree = new_small_tree(&main_node);

	(void)state;
	_cleanup_free_ char *svg = write_with("svg", tree, TREE_ROOT, &plain_meta);
	_cleanup_free_ char *page = write_with("html", tree, TREE_ROOT, &plain_meta);
	assert_has(page, "<title>On-CPU Time Flame Graph</title>");
	assert_has(page,
		   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
	assert_has_not(page, "<?xml");
	char *frames = strstr(svg, "<g id=\"frames\"");
	assert_has(page, frames);
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
	assert_int_equal(weight_of(tree), 1180000); /* a tenth of a pixel is 100 */
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
	meta = (struct profile_meta){.count_name = "us",
				     .event_name = "waits",
				     .events = 5000,
				     .samples = 2500,
				     .lost = 3,
				     .truncated = 4321};
	_cleanup_free_ char *waits = write_with("svg", tree, TREE_ROOT, &meta);
	assert_has(waits, ">100 us · 5,000 waits · thinned to 1 in 2 · 3 lost · "
			  "4,321 us truncated</text>");
	meta = (struct profile_meta){.count_name = "bytes",
				     .event_name = "objects",
				     .events = 5000,
				     .samples = 2500,
				     .by_bytes = true};
	_cleanup_free_ char *drawn = write_with("svg", tree, TREE_ROOT, &meta);
	assert_has(drawn, ">100 bytes · 5,000 objects · from 2,500 samples</text>");
	meta.left_out = 1250;
	_cleanup_free_ char *thinned = write_with("svg", tree, TREE_ROOT, &meta);
	assert_has(thinned, " · from 2,500 samples · thinned to 1 in 1.5</text>");
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
	assert_true(strlen(text) < 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(svg_titles_have_name_suffix_weight_and_percentage),
		cmocka_unit_test(svg_titles_tell_of_how_many_events_the_weight_is_a_part),
		cmocka_unit_test(svg_frames_lie_above_their_parents_side_by_side),
		cmocka_unit_test(svg_of_a_subtree_stands_on_the_frames_that_lead_to_it),
		cmocka_unit_test(hostile_names_bring_no_markup_into_the_svg),
		cmocka_unit_test(names_cut_anywhere_stay_well_formed),
		cmocka_unit_test(names_without_room_are_shortened_at_the_front),
		cmocka_unit_test(what_a_narrow_child_weighs_is_told_apart_from_its_parent),
		cmocka_unit_test(a_page_has_the_same_picture),
		cmocka_unit_test(
			frames_under_a_tenth_of_a_pixel_are_left_out_and_totals_stay_right),
		cmocka_unit_test(the_second_line_says_what_is_known_and_only_that),
		cmocka_unit_test(the_legend_names_the_kinds_that_are_seen),
		cmocka_unit_test(ten_thousand_narrow_frames_take_little_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
