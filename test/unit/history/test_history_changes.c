// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_changes: what differs between two ranges beyond noise. */
#include "unit/history/made_rates.h"

#define COMPARISONS 1000

/* ---- Student's distribution ---- */

static double student_density(double t, double degrees)
{
	return exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2) -
		   (degrees + 1) / 2 * log1p(t * t / degrees)) /
	       sqrt(degrees * M_PI);
}

static double student_tail(double t, double degrees)
{
	const int steps = 20000;
	double width = 1 / t / steps, sum = 0;

	for (int i = 0; i <= steps; i++) {
		double s = i * width, weight = i == 0 || i == steps ? 1 : i % 2 ? 4 : 2;

		if (s > 0)
			sum += weight * student_density(1 / s, degrees) / (s * s);
		else if (degrees <= 1)
			sum += weight / M_PI;
	}
	return 2 * sum * width / 3;
}

static double student_outside(double t, double degrees)
{
	const int steps = 20000;
	double width = t / steps, sum = 0;

	for (int i = 0; i <= steps; i++)
		sum += (i == 0 || i == steps ? 1
			: i % 2		     ? 4
					     : 2) *
		       student_density(i * width, degrees);
	return 1 - 2 * sum * width / 3;
}

static void assert_near(double found, double wanted, double part)
{
	if (!(fabs(found - wanted) <= part * wanted))
		fail_msg("%.12g, not %.12g", found, wanted);
}

static void student_chances_are_those_of_the_tables(void **state)
{
	static const double rows[][3] = {{2.101, 18, 0.05},  {2.878, 18, 0.01}, {3.922, 18, 0.001},
					 {12.706, 1, 0.05},  {63.657, 1, 0.01}, {4.303, 2, 0.05},
					 {2.262, 9, 0.05},   {3.250, 9, 0.01},	{1.96, 1e6, 0.05},
					 {2.5758, 1e6, 0.01}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_near(student_chance(rows[i][0], rows[i][1]), rows[i][2], 2e-3);
		assert_near(student_chance(-rows[i][0], rows[i][1]), rows[i][2], 2e-3);
	}
}

static void student_chances_are_the_integral_of_the_density(void **state)
{
	static const double degrees[] = {1, 1.5, 2, 3.7, 9, 18, 40, 100, 1000, 1e5};
	static const double ts[] = {1.1, 1.5, 2, 2.5, 3, 4, 5};
	static const double small[] = {0.01, 0.1, 0.5, 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(degrees); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(ts); k++)
			assert_near(student_chance(ts[k], degrees[i]),
				    student_tail(ts[k], degrees[i]), 1e-5);
		for (size_t k = 0; k < ARRAY_SIZE(small); k++)
			assert_near(student_chance(small[k], degrees[i]),
				    student_outside(small[k], degrees[i]), 1e-7);
	}
}

static void student_chances_fall_from_one_to_nothing(void **state)
{
	static const double degrees[] = {0.5, 1, 1.3, 5, 18, 500, 1e6};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(degrees); i++) {
		double before = 1;

		assert_true(student_chance(0, degrees[i]) == 1);
		for (double t = 0.01; t < 1e9; t *= 1.1) {
			double chance = student_chance(t, degrees[i]);

			assert_true(chance >= 0 && chance <= before);
			before = chance;
		}
	}
}

/* ---- the generators of this test ---- */

static void assert_moments(double (*draw)(uint64_t *random), double mean, double variance)
{
	uint64_t random = 1;
	double sum = 0, squares = 0;
	const int count = 200000;

	for (int i = 0; i < count; i++) {
		double value = draw(&random);

		sum += value;
		squares += (value - mean) * (value - mean);
	}
	assert_true(fabs(sum / count - mean) < 5 * sqrt(variance / count));
	assert_near(squares / count, variance, 0.05);
}

static double draw_few(uint64_t *random)
{
	return draw_poisson(random, 0.7);
}

static double draw_many(uint64_t *random)
{
	return draw_poisson(random, 900);
}

static double draw_middle(uint64_t *random)
{
	return draw_poisson(random, 12);
}

static double draw_skewed(uint64_t *random)
{
	return draw_gamma(random, 0.25);
}

static void what_is_drawn_has_its_mean_and_its_variance(void **state)
{
	(void)state;
	assert_moments(draw_normal, 0, 1);
	assert_moments(draw_few, 0.7, 0.7);
	assert_moments(draw_middle, 12, 12);
	assert_moments(draw_many, 900, 900);
	assert_moments(draw_skewed, 1, 4);
}

/* ---- drawn windows ---- */

static void assert_first_is_slow(const struct rate_question *question)
{
	_cleanup_rates_ struct rate_columns columns = rate_columns_new();
	char name[16];

	snprintf(name, sizeof(name), "f%02d", SLOW);
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct history_change *changes;
		size_t count = compare_drawn(&columns, question, seed, &changes);

		assert_true(count > 0);
		assert_string_equal(changes[0].name, name);
		assert_true(changes[0].self.is_change && changes[0].total.is_change);
		assert_true(changes[0].self.after > changes[0].self.before);
		assert_near(changes[0].self.after / changes[0].self.before, question->slower, 0.1);
		history_changes_free(changes, count);
	}
}

static void a_function_that_is_a_fifth_slower_is_the_first_change(void **state)
{
	(void)state;
	assert_first_is_slow(&(struct rate_question){RATE_COUNTED, {10, 10}, false, 1, 1.2});
}

static void it_is_the_first_one_also_where_lengths_differ(void **state)
{
	(void)state;
	assert_first_is_slow(&(struct rate_question){RATE_COUNTED, {40, 30}, true, 1, 1.2});
}

static void assert_hardly_ever_changed(const struct rate_question *question)
{
	int changed = count_changed(question, COMPARISONS);

	if (changed > COMPARISONS / 100)
		fail_msg("%d of %d comparisons of equals have changes", changed, COMPARISONS);
}

static void equal_ranges_of_counted_samples_have_no_change(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_COUNTED, {10, 10}, false, 1, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_COUNTED, {10, 10}, true, 1, 1});
}

static void equal_ranges_that_vary_more_than_counting_have_no_change(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_UNEVEN, {10, 10}, false, 1, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_UNEVEN, {10, 10}, true, 1, 1});
}

static void equal_ranges_of_skewed_weights_have_no_change(void **state)
{
	static const enum rate_shape shapes[] = {RATE_GAMMA, RATE_RARE, RATE_LOGNORMAL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++)
		assert_hardly_ever_changed(
			&(struct rate_question){shapes[i], {10, 10}, false, 0, 1});
}

static void bursts_that_all_functions_have_are_no_change(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_BURSTS, {10, 10}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_BURSTS, {10, 10}, true, 0, 1});
}

static void a_few_counted_windows_beside_many_have_no_change(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_COUNTED, {1, 10}, false, 1, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_COUNTED, {10, 2}, false, 1, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_COUNTED, {10, 40}, false, 1, 1});
}

static void six_windows_tell_and_five_do_not(void **state)
{
	(void)state;
	for (int windows = 1; windows < 10; windows++) {
		struct history_span span = {
			.length = 30.0 * windows, .squares = 900.0 * windows, .noise = 1};

		assert_int_equal(history_span_tells(&span), windows >= 6);
	}
	/* One long window and short ones. */
	struct history_span uneven = {.length = 3600, .squares = 3500.0 * 3500, .noise = 1};
	assert_false(history_span_tells(&uneven));
	assert_false(history_span_tells(&(struct history_span){0}));
	assert_hardly_ever_changed(&(struct rate_question){RATE_UNEVEN, {6, 6}, false, 1, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_GAMMA, {6, 6}, false, 0, 1});
}

static void a_few_skewed_windows_beside_many_have_no_change(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_GAMMA, {3, 10}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_GAMMA, {10, 40}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_LOGNORMAL, {40, 10}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_BURSTS, {10, 40}, false, 0, 1});
}

static void assert_never_changed(const struct rate_question *question)
{
	assert_int_equal(count_changed(question, 300), 0);
}

static void one_window_on_each_side_tells_no_change_of_weights(void **state)
{
	(void)state;
	for (enum rate_shape shape = RATE_COUNTED; shape <= RATE_BURSTS; shape++) {
		assert_never_changed(&(struct rate_question){shape, {1, 1}, false, 0, 1});
		assert_never_changed(&(struct rate_question){shape, {1, 1}, true, 0, 10});
	}
}

static void one_window_beside_many_is_not_known_exactly(void **state)
{
	(void)state;
	assert_hardly_ever_changed(&(struct rate_question){RATE_GAMMA, {1, 10}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_LOGNORMAL, {10, 1}, false, 0, 1});
	assert_hardly_ever_changed(&(struct rate_question){RATE_UNEVEN, {1, 40}, true, 0, 1});
}

/* ---- windows by hand ---- */

struct made_function {
	const char *name;
	double before[4], after[4]; /* weights of windows of 30 s; those below 0 aren't there */
};

/* Adds a window of a side; its functions lie below `main`. */
static void blend_made(struct blend *blend, const struct made_function *rows, size_t count,
		       int window)
{
	_cleanup_tree_ struct tree *tree = new_tree();
	char stack[64];

	for (size_t i = 0; i < count; i++) {
		double weight = blend->side == HISTORY_AFTER ? rows[i].after[window]
							     : rows[i].before[window];

		snprintf(stack, sizeof(stack), "[7]app;main;%s", rows[i].name);
		if (weight > 0)
			add_stack(tree, stack, (uint64_t)weight, 0);
	}
	_cleanup_window_ struct made_window made = window_of(tree, BEGIN, 30 * SECOND);
	assert_int_equal(blend_window(blend, &made), 0);
}

static size_t compare_made(const struct made_function *rows, size_t count,
			   const int windows[HISTORY_SIDES], double noise, size_t max,
			   struct history_change **changes)
{
	struct functions *functions;
	struct history_span spans[HISTORY_SIDES];

	assert_int_equal(functions_new(&functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .side = side};

		for (int i = 0; i < windows[side]; i++)
			blend_made(&blend, rows, count, i);
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = noise};
	}
	int64_t found = history_changes(functions, spans, max, changes);
	assert_true(found >= 0);
	functions_free(functions);
	return (size_t)found;
}

static const int four_each[] = {4, 4}, one_each[] = {1, 1};

static void changes_are_in_the_order_of_their_own_weights(void **state)
{
	static const struct made_function rows[] = {
		{"small", {100, 101, 99, 100}, {200, 201, 199, 200}},
		{"large", {5000, 5010, 4990, 5000}, {8000, 8010, 7990, 8000}},
		{"gone", {900, 910, 890, 900}, {0, 0, 0, 0}},
		{"new", {0, 0, 0, 0}, {400, 410, 390, 400}},
		{"same", {300, 400, 350, 320}, {310, 390, 360, 315}},
	};
	static const char *const wanted[] = {"large", "gone", "new", "small", "main"};
	struct history_change *changes;
	size_t count = compare_made(rows, ARRAY_SIZE(rows), four_each, 0, 100, &changes);

	(void)state;
	assert_int_equal(count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < count; i++)
		assert_string_equal(changes[i].name, wanted[i]);
	assert_near(changes[0].self.before, 5000 / 30., 1e-12);
	assert_near(changes[0].self.after, 8000 / 30., 1e-12);
	assert_true(changes[1].self.after == 0 && changes[2].self.before == 0);
	assert_true(changes[4].total.is_change && !changes[4].self.is_change);
	assert_int_equal(changes[4].type, FRAME_TYPE_NATIVE);
	history_changes_free(changes, count);
	count = compare_made(rows, ARRAY_SIZE(rows), four_each, 0, 2, &changes);
	assert_int_equal(count, 2);
	assert_string_equal(changes[1].name, "gone");
	history_changes_free(changes, count);
}

static void an_error_is_at_least_that_of_the_means(void **state)
{
	static const struct made_function rows[] = {{"f", {10, 12, 14, 16}, {40, 42, 47, 51}}};
	struct history_change *changes;
	size_t count = compare_made(rows, 1, four_each, 0, 100, &changes);
	double left = (9 + 1 + 1 + 9) / 3. / 4, right = (25 + 9 + 4 + 36) / 3. / 4;
	double t = 32 / sqrt(left + right);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(changes[0].name, "f");
	assert_true(changes[0].self.error >= sqrt(left + right) / 30 * 0.999999);
	assert_true(changes[0].self.error <= sqrt(left + right) / 30 * 1.25);
	assert_true(changes[0].self.chance > student_chance(t, 6));
	assert_true(changes[0].self.chance < 0.001);
	history_changes_free(changes, count);
}

static void counted_samples_are_never_better_known_than_by_their_number(void **state)
{
	static const struct made_function rows[] = {
		{"f", {100, 100, 100, 100}, {110, 110, 110, 110}},
		{"g", {900, 900, 900, 900}, {1200, 1200, 1200, 1200}}};
	struct history_change *changes;
	size_t count = compare_made(rows, 2, four_each, 1, 100, &changes);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(changes[0].name, "g");
	assert_string_equal(changes[1].name, "main");
	assert_true(changes[0].self.error >= sqrt(3600 + 4800) / 120 * 0.999999);
	assert_true(changes[0].self.error <= sqrt(3600 + 4800) / 120 * 1.1);
	history_changes_free(changes, count);
}

static void one_window_on_each_side_tells_a_change_of_samples(void **state)
{
	static const struct made_function rows[] = {{"f", {900}, {1200}}, {"g", {900}, {930}}};
	struct history_change *changes;
	size_t count = compare_made(rows, 2, one_each, 1, 100, &changes);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(changes[0].name, "f");
	assert_string_equal(changes[1].name, "main");
	history_changes_free(changes, count);
	count = compare_made(rows, 2, one_each, 0, 100, &changes);
	assert_int_equal(count, 0);
	history_changes_free(changes, count);
}

static void what_hardly_varies_has_to_change_by_a_hundredth(void **state)
{
	static const struct made_function rows[] = {
		{"equal", {100000, 100000, 100000, 100000}, {100900, 100900, 100900, 100900}},
		{"nearly", {100000, 100010, 99990, 100000}, {100900, 100910, 100890, 100900}},
		{"less", {100000, 100010, 99990, 100000}, {99100, 99110, 99090, 99100}},
		{"more", {1000000, 1000100, 999900, 1000000}, {1020000, 1020100, 1019900, 1020000}},
	};
	struct history_change *changes;
	size_t count = compare_made(rows, 4, four_each, 0, 100, &changes);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(changes[0].name, "more");
	assert_string_equal(changes[1].name, "main");
	history_changes_free(changes, count);
}

static void without_any_variance_less_than_a_hundredth_is_no_change(void **state)
{
	(void)state;
	for (double weight = 100; weight < 1e15; weight *= 1.7) {
		double other = floor(floor(weight) * 1.0099);
		struct made_function row = {.name = "f"};
		struct history_change *changes;

		for (int i = 0; i < 4; i++) {
			row.before[i] = floor(weight);
			row.after[i] = other;
		}
		assert_int_equal(compare_made(&row, 1, four_each, 0, 100, &changes), 0);
		history_changes_free(changes, 0);
	}
}

static void whether_equal_windows_changed_is_no_matter_of_rounding(void **state)
{
	int told = 0;

	(void)state;
	for (int weight = 1; weight <= 300; weight++) {
		struct made_function row = {.name = "f"};
		struct history_change *changes;

		for (int i = 0; i < 3; i++) {
			row.before[i] = weight;
			row.after[i] = 2 * weight;
		}
		size_t count = compare_made(&row, 1, (const int[]){3, 3}, 0, 100, &changes);
		told += count > 0;
		history_changes_free(changes, count);
	}
	if (told > 0 && told < 300)
		fail_msg("of 300 that doubled without variance %d are told", told);
}

static void a_side_without_windows_tells_nothing(void **state)
{
	static const struct made_function rows[] = {{"f", {900, 900, 900, 900}, {0}}};
	struct history_change *changes;

	(void)state;
	for (int noise = 0; noise < 2; noise++) {
		assert_int_equal(compare_made(rows, 1, (const int[]){4, 0}, noise, 10, &changes),
				 0);
		history_changes_free(changes, 0);
		assert_int_equal(compare_made(rows, 1, (const int[]){0, 0}, noise, 10, &changes),
				 0);
		history_changes_free(changes, 0);
	}
}

/* ---- what is held ---- */

/* Compares states, each of a record of its own. */
static size_t compare_states(const struct made_function *rows, size_t count, size_t max,
			     struct history_change **changes)
{
	struct functions *functions;
	struct history_span spans[HISTORY_SIDES];

	assert_int_equal(functions_new(&functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .side = side};

		blend_made(&blend, rows, count, 0);
		spans[side] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .is_state = true};
	}
	int64_t found = history_changes(functions, spans, max, changes);
	assert_true(found >= 0);
	functions_free(functions);
	return (size_t)found;
}

static void states_are_compared_as_they_are(void **state)
{
	static const struct made_function rows[] = {
		{"grew", {4096}, {8192}}, {"fell", {9000}, {900}}, {"new", {0}, {10}},
		{"gone", {1}, {0}},	  {"same", {77}, {77}},
	};
	static const char *const wanted[] = {"fell", "grew", "new", "gone", "main"};
	struct history_change *changes;
	size_t count = compare_states(rows, ARRAY_SIZE(rows), 100, &changes);

	(void)state;
	assert_int_equal(count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(changes[i].name, wanted[i]);
		/* What it is, not a part of a second; nothing is drawn. */
		assert_true(changes[i].total.error == 0 && changes[i].total.chance == 0);
		assert_true(changes[i].total.is_change);
	}
	assert_true(changes[0].self.before == 9000 && changes[0].self.after == 900);
	assert_true(changes[2].self.before == 0 && changes[2].self.after == 10);
	assert_true(changes[3].self.before == 1 && changes[3].self.after == 0);
	assert_true(changes[4].self.before == 0 && !changes[4].self.is_change);
	assert_true(changes[4].self.chance == 1); /* equal */
	assert_true(changes[4].total.before == 4096 + 9000 + 1 + 77);
	history_changes_free(changes, count);
	count = compare_states(rows, ARRAY_SIZE(rows), 2, &changes);
	assert_int_equal(count, 2);
	assert_string_equal(changes[1].name, "grew");
	history_changes_free(changes, count);
}

static void a_state_has_to_change_by_a_hundredth(void **state)
{
	static const struct made_function rows[] = {
		{"equal", {1e6}, {1e6}},      {"little", {1e6}, {1e6 + 10000}},
		{"enough", {1e6}, {1010102}}, {"less", {1e6}, {990001}},
		{"fell", {1e6}, {990000}},
	};
	struct history_change *changes;
	size_t count = compare_states(rows, ARRAY_SIZE(rows), 100, &changes);

	(void)state;
	assert_int_equal(count, 2);
	assert_string_equal(changes[0].name, "enough");
	assert_string_equal(changes[1].name, "fell");
	history_changes_free(changes, count);
	/* All may be gone, or there was nothing at all. */
	static const struct made_function gone[] = {{"f", {5}, {0}}};
	assert_int_equal(compare_states(gone, 1, 100, &changes), 2);
	history_changes_free(changes, 2);
	assert_int_equal(compare_states(gone, 0, 100, &changes), 0);
	history_changes_free(changes, 0);
}

static void one_state_tells_and_none_does_not(void **state)
{
	struct history_span span = {.length = 0.001, .squares = 1, .is_state = true};

	(void)state;
	assert_true(history_span_tells(&span));
	span.length = 0;
	assert_false(history_span_tells(&span));
	span = (struct history_span){.length = 30, .squares = 900};
	assert_false(history_span_tells(&span)); /* a window of rates */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student_chances_are_those_of_the_tables),
		cmocka_unit_test(student_chances_are_the_integral_of_the_density),
		cmocka_unit_test(student_chances_fall_from_one_to_nothing),
		cmocka_unit_test(what_is_drawn_has_its_mean_and_its_variance),
		cmocka_unit_test(a_function_that_is_a_fifth_slower_is_the_first_change),
		cmocka_unit_test(it_is_the_first_one_also_where_lengths_differ),
		cmocka_unit_test(equal_ranges_of_counted_samples_have_no_change),
		cmocka_unit_test(equal_ranges_that_vary_more_than_counting_have_no_change),
		cmocka_unit_test(equal_ranges_of_skewed_weights_have_no_change),
		cmocka_unit_test(bursts_that_all_functions_have_are_no_change),
		cmocka_unit_test(a_few_counted_windows_beside_many_have_no_change),
		cmocka_unit_test(a_few_skewed_windows_beside_many_have_no_change),
		cmocka_unit_test(six_windows_tell_and_five_do_not),
		cmocka_unit_test(one_window_on_each_side_tells_no_change_of_weights),
		cmocka_unit_test(one_window_beside_many_is_not_known_exactly),
		cmocka_unit_test(changes_are_in_the_order_of_their_own_weights),
		cmocka_unit_test(an_error_is_at_least_that_of_the_means),
		cmocka_unit_test(counted_samples_are_never_better_known_than_by_their_number),
		cmocka_unit_test(one_window_on_each_side_tells_a_change_of_samples),
		cmocka_unit_test(what_hardly_varies_has_to_change_by_a_hundredth),
		cmocka_unit_test(without_any_variance_less_than_a_hundredth_is_no_change),
		cmocka_unit_test(whether_equal_windows_changed_is_no_matter_of_rounding),
		cmocka_unit_test(a_side_without_windows_tells_nothing),
		cmocka_unit_test(states_are_compared_as_they_are),
		cmocka_unit_test(a_state_has_to_change_by_a_hundredth),
		cmocka_unit_test(one_state_tells_and_none_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
