// SPDX-License-Identifier: GPL-2.0-or-later
/* Two folded texts made comparable: processes by name, lines and addresses by version; what both
 * have in common; which changes are shown. */
#include <stdio.h>

#include "base/cleanup.h"
#include "diff_text.h"
#include "output/diff/comparable.h"
#include "output/diff/difference.h"
#include "output/diff/frame_place.h"

/* Checks both texts after comparable_make(). Returns how many files and modules differ. */
static size_t assert_comparable(enum places_wish places, const char *before, const char *after,
				const char *fresh_before, const char *fresh_after)
{
	_cleanup_comparable_ struct comparable comparable = {0};
	_cleanup_diff_text_ struct diff_text text;
	const char *wanted[2] = {[STACKS_AFTER] = fresh_after, [STACKS_BEFORE] = fresh_before};

	diff_text_read(&text, before, after);
	assert_int_equal(comparable_make(&comparable, &text.stacks, places), 0);
	for (int side = 0; side < 2; side++) {
		const struct buf *fresh = &comparable.texts[side];

		if (fresh->len != strlen(wanted[side]) ||
		    memcmp(fresh->data, wanted[side], fresh->len) != 0)
			fail_msg("%.*s, wanted %s", (int)fresh->len, fresh->data, wanted[side]);
		for (int i = 0; i < STACKS_PADDING; i++)
			assert_int_equal(fresh->data[fresh->len + (size_t)i], 0);
	}
	return comparable.versions;
}

static void processes_are_told_by_their_name(void **state)
{
	(void)state;
	assert_comparable(PLACES_BY_VERSION, "[12]web;web;f 1\n[Con]c;[13]web;f 2\n",
			  "[Pod]p;[Con]c;[99]web;[12]f 4\n[7];g 8\n[x]y;[5]z 3\n",
			  "web;web;f 1\n[Con]c;web;f 2\n",
			  "[Pod]p;[Con]c;web;[12]f 4\n;g 8\n[x]y;[5]z 3\n");
}

static void a_place_is_found_in_each_form_of_a_name(void **state)
{
	static const struct {
		const char *name, *group, *place;
		uint64_t number;
	} names[] = {
		{"f (a.py:12)", "a.py", ":12", 12},
		{"C.f (pkg/a b.py:7)_[p]", "pkg/a b.py", ":7", 7},
		{"A.run (A.java:33)_[i]", "A.java", ":33", 33},
		{"[libc.so.6+0x1f]", "libc.so.6", "+0x1f", 31},
		{"JS:*fib /x/hot.js:12:5_[j]", "/x/hot.js", ":12:5", 12},
		{"JS:~f hot.js:3", "hot.js", ":3", 3},
		{"f (a.py)", NULL, NULL, 0},
		{"operator() (a:)", NULL, NULL, 0},
		{"f(a.py:12)", NULL, NULL, 0},
		{"(a.py:12)", NULL, NULL, 0},
		{"[+0x1f]", NULL, NULL, 0},
		{"[m+0x]", NULL, NULL, 0},
		{"[m+0x1G]", NULL, NULL, 0},
		{"[m+0x11111111111111111]", NULL, NULL, 0},
		{"JS:", NULL, NULL, 0},
		{"JS:f:12", NULL, NULL, 0},
		{"JS: :1", NULL, NULL, 0},
		{")", NULL, NULL, 0},
		{"", NULL, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *name = names[i].name;
		struct place_in_name place;
		bool found = frame_place_find(name, strlen(name), &place);

		if (found != (names[i].group != NULL))
			fail_msg("%s", name);
		if (!found)
			continue;
		assert_int_equal(place.group_end - place.group_begin, strlen(names[i].group));
		assert_memory_equal(name + place.group_begin, names[i].group,
				    strlen(names[i].group));
		assert_int_equal(place.end - place.begin, strlen(names[i].place));
		assert_memory_equal(name + place.begin, names[i].place, strlen(names[i].place));
		assert_int_equal(place.number, names[i].number);
	}
}

#define SAME_BEFORE "f (a.py:1) 40\nf (a.py:2) 40\ng (a.py:9) 20\n"

static void lines_stay_where_the_file_is_the_same(void **state)
{
	(void)state;
	/* Another share of each line, and one line less: no move explains it better. */
	assert_int_equal(assert_comparable(PLACES_BY_VERSION, SAME_BEFORE,
					   "f (a.py:1) 60\nf (a.py:2) 25\ng (a.py:9) 15\n",
					   SAME_BEFORE,
					   "f (a.py:1) 60\nf (a.py:2) 25\ng (a.py:9) 15\n"),
			 0);
}

static void lines_that_moved_are_left_out_of_that_file_alone(void **state)
{
	(void)state;
	assert_int_equal(
		assert_comparable(
			PLACES_BY_VERSION, SAME_BEFORE "h (b.py:5)_[p] 50\n",
			"f (a.py:2) 40\nf (a.py:3) 40\ng (a.py:10) 20\nh (b.py:5)_[p] 50\n",
			"f (a.py) 40\nf (a.py) 40\ng (a.py) 20\nh (b.py:5)_[p] 50\n",
			"f (a.py) 40\nf (a.py) 40\ng (a.py) 20\nh (b.py:5)_[p] 50\n"),
		1);
}

static void one_line_that_is_another_now_has_not_moved(void **state)
{
	(void)state;
	assert_int_equal(assert_comparable(PLACES_BY_VERSION, "f (a.py:10) 100\n",
					   "f (a.py:20) 100\n", "f (a.py:10) 100\n",
					   "f (a.py:20) 100\n"),
			 0);
	/* Two functions that moved alike have. */
	assert_int_equal(assert_comparable(PLACES_BY_VERSION, "f (a.py:10) 100\ng (a.py:30) 100\n",
					   "f (a.py:13) 100\ng (a.py:33) 100\n",
					   "f (a.py) 100\ng (a.py) 100\n",
					   "f (a.py) 100\ng (a.py) 100\n"),
			 1);
}

static void a_name_that_looks_like_a_header_stays(void **state)
{
	(void)state;
	assert_comparable(PLACES_KEEP, "[1]# stackprobe x;f 5\n", "[2]g 5\n",
			  "# stackprobe x;f 5\n", "g 5\n");
	struct stacks_svg svg = {.meta = {.count_name = "samples"}, .is_diff = true};
	_cleanup_difference_ struct difference difference = {0};
	_cleanup_diff_text_ struct diff_text text;

	diff_text_read(&text, "[1]# stackprobe x;f 5\n", "[2]g 5\n");
	assert_int_equal(difference_make(&difference, &text.stacks, PLACES_KEEP, false, &svg), 0);
	assert_int_equal(difference.stacks.totals[STACKS_BEFORE], 5);
}

static void a_module_that_was_built_again_has_no_addresses(void **state)
{
	(void)state;
	assert_int_equal(
		assert_comparable(PLACES_BY_VERSION, "[m+0x10] 50\n[m+0x20] 50\n[n+0x10] 50\n",
				  "[m+0x18] 50\n[m+0x28] 50\n[n+0x10] 50\n",
				  "[m] 50\n[m] 50\n[n+0x10] 50\n", "[m] 50\n[m] 50\n[n+0x10] 50\n"),
		1);
}

static void what_is_asked_counts_more_than_versions(void **state)
{
	(void)state;
	assert_comparable(PLACES_KEEP, "f (a.py:1) 9\n", "f (a.py:2) 9\n", "f (a.py:1) 9\n",
			  "f (a.py:2) 9\n");
	assert_comparable(PLACES_DROP, "f (a.py:1) 9\n", "[m+0x1];f (a.py:1) 9\n", "f (a.py) 9\n",
			  "[m];f (a.py) 9\n");
}

/* ---- the difference ---- */

static void assert_warnings(const char *before, const char *after, const char *wanted)
{
	struct stacks_svg svg = {.meta = {.count_name = "samples"}, .is_diff = true};
	_cleanup_buf_ struct buf warnings = BUF_INIT(4096);
	_cleanup_difference_ struct difference difference = {0};
	_cleanup_diff_text_ struct diff_text text;

	diff_text_read(&text, before, after);
	assert_int_equal(difference_make(&difference, &text.stacks, PLACES_BY_VERSION, false, &svg),
			 0);
	difference_warnings(&difference, false, &warnings);
	buf_char(&warnings, '\0');
	assert_string_equal(warnings.data, wanted);
}

#define HEADER(unit, period, until)                                                                \
	"# stackprobe unit=" unit " counts=1 period_ns=" period " from=1000 until=" until          \
	" host=h\n"

static void what_misleads_is_said(void **state)
{
	(void)state;
	assert_warnings("[1]a;f 9\n", "[2]a;f 10\n", "");
	assert_warnings("[1]a;f 9\n", "[2]b;g 10\n",
			"the profiles have little in common: 0 % by processes, 0 % by leaves; "
			"processes only before: `a` (100 %); processes only after: `b` (100 %); "
			"leaves only before: `f` (100 %); leaves only after: `g` (100 %)\n");
	assert_warnings(HEADER("samples", "10000000", "11000") "f 9\n",
			HEADER("us", "10000000", "11000") "f 9\n",
			"before counts samples, after us\n");
	assert_warnings(HEADER("samples", "10000000", "11000") "f 9\n",
			HEADER("samples", "5000000", "11000") "f 9\n",
			"before has a sample each 10000 us, after each 5000 us: --normalize "
			"compares shares\n");
	assert_warnings(HEADER("samples", "10000000", "11000") "f 9\n",
			HEADER("samples", "10000000", "31000") "f 9\n",
			"before took 10.0 s, after 30.0 s: --normalize compares shares\n");
}

static void assert_rules(const char *before, const char *after, const char *unit, bool by_counts,
			 bool by_share)
{
	struct stacks_svg svg = {.meta = {.count_name = unit ? unit : "samples"}, .is_diff = true};
	_cleanup_difference_ struct difference difference = {0};
	_cleanup_diff_text_ struct diff_text text;

	diff_text_read(&text, before, after);
	assert_int_equal(
		difference_make(&difference, &text.stacks, PLACES_KEEP, unit != NULL, &svg), 0);
	assert_int_equal(svg.rules.by_counts, by_counts);
	assert_int_equal(svg.rules.by_share, by_share);
}

static void what_counts_as_a_change_follows_from_the_unit(void **state)
{
	(void)state;
	assert_rules("a 1\n", "a 1\n", NULL, false, true);
	assert_rules("a 1\n", "[1]a 1\n", NULL, true, true);
	assert_rules("[1]a 1\n", "[1]a 1\n", "samples", true, false);
	assert_rules("[1]a 1\n", "[1]a 1\n", "bytes", false, true);
	assert_rules("a 1\n", HEADER("samples", "1", "2000") "a 1\n", NULL, true, false);
	assert_rules("a 1\n", "# stackprobe unit=us from=1 until=2\na 1\n", NULL, false, true);
}

static int keep_text(void *arg, struct buf *text)
{
	struct buf *out = arg;

	buf_add(out, text->data, text->len);
	text->len = 0;
	return buf_error(out);
}

static void a_change_after_next_to_nothing_fits_the_head(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT(1 << 20);
	struct stacks_svg svg = {.meta = {.count_name = "samples"},
				 .width = 1200,
				 .is_diff = true,
				 .flush = keep_text,
				 .arg = &out};
	_cleanup_difference_ struct difference difference = {0};
	_cleanup_diff_text_ struct diff_text text;

	(void)state;
	diff_text_read(&text, "a 1\n", "a 1000000000000000000\n");
	assert_int_equal(difference_make(&difference, &text.stacks, PLACES_KEEP, false, &svg), 0);
	assert_int_equal(stacks_svg_write(&difference.stacks, &svg), 0);
	buf_char(&out, '\0');
	assert_non_null(strstr(out.data, "before 1 samples · +100000000000000%"));
}

static void a_change_within_the_noise_is_not_shown(void **state)
{
	const struct change_rules none = {0}, counts = {.by_counts = true},
				  share = {.by_share = true},
				  scaled = {.by_counts = true, .before_scale = 10};

	(void)state;
	assert_false(change_is_shown(&none, CHANGE_BY_RULES, 100, 5, 5));
	assert_true(change_is_shown(&none, CHANGE_BY_RULES, 100, 5, 6));
	/* 3 times the root of 200 is 42.4. */
	assert_false(change_is_shown(&counts, CHANGE_BY_RULES, 1000, 79, 121));
	assert_true(change_is_shown(&counts, CHANGE_BY_RULES, 1000, 78, 122));
	assert_true(change_is_shown(&counts, CHANGE_BY_RULES, 1000, 122, 78));
	assert_false(change_is_shown(&share, CHANGE_BY_RULES, 1000, 10, 19));
	assert_true(change_is_shown(&share, CHANGE_BY_RULES, 1000, 10, 20));
	/* 10 samples that stand for 100, beside 100 of 1: 3 times the root of 1100 is 99.5. */
	assert_false(change_is_shown(&scaled, CHANGE_BY_RULES, 1000, 100, 199));
	assert_true(change_is_shown(&scaled, CHANGE_BY_RULES, 1000, 100, 210));
}

static void a_verdict_counts_more_than_the_rules(void **state)
{
	const struct change_rules share = {.by_share = true};

	(void)state;
	assert_true(change_is_shown(&share, CHANGE_GROWN, 1000, 5, 6));
	assert_false(change_is_shown(&share, CHANGE_GROWN, 1000, 6, 5));
	assert_false(change_is_shown(&share, CHANGE_GROWN, 1000, 6, 6));
	assert_true(change_is_shown(&share, CHANGE_SHRUNK, 1000, 6, 5));
	assert_false(change_is_shown(&share, CHANGE_SHRUNK, 1000, 5, 6));
	assert_false(change_is_shown(&share, CHANGE_NOISE, 1000, 0, 900));
	assert_false(change_is_shown(&share, CHANGE_UNJUDGED, 1000, 0, 900));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_told_by_their_name),
		cmocka_unit_test(a_place_is_found_in_each_form_of_a_name),
		cmocka_unit_test(lines_stay_where_the_file_is_the_same),
		cmocka_unit_test(lines_that_moved_are_left_out_of_that_file_alone),
		cmocka_unit_test(one_line_that_is_another_now_has_not_moved),
		cmocka_unit_test(a_name_that_looks_like_a_header_stays),
		cmocka_unit_test(a_module_that_was_built_again_has_no_addresses),
		cmocka_unit_test(what_is_asked_counts_more_than_versions),
		cmocka_unit_test(what_misleads_is_said),
		cmocka_unit_test(what_counts_as_a_change_follows_from_the_unit),
		cmocka_unit_test(a_change_after_next_to_nothing_fits_the_head),
		cmocka_unit_test(a_change_within_the_noise_is_not_shown),
		cmocka_unit_test(a_verdict_counts_more_than_the_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
