// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_anomalies: which processes are unlike their own past. */
#include "unit/history/made_processes.h"

#define SEEDS	500
#define WINDOWS 10
#define MOST	1000 /* changes */

/* ---- windows by hand ---- */

struct made_rate {
	const char *stack;
	double before, after; /* weight of a window of 30 s */
};

struct comparison {
	struct functions *functions;
	struct history_span spans[HISTORY_SIDES];
	struct history_anomalies found;
};

static void comparison_done(struct comparison *comparison)
{
	history_anomalies_done(&comparison->found);
	functions_free(comparison->functions);
}
#define _cleanup_comparison_ _cleanup_(comparison_done)

/* Adds a window of a side. Weights vary a little, each stack's in its own way. */
static void blend_made(struct blend *blend, const struct made_rate *rates, size_t count, int window)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	for (size_t i = 0; i < count; i++) {
		double weight = blend->side == HISTORY_AFTER ? rates[i].after : rates[i].before;

		weight *= 1 + 0.002 * (double)(((size_t)window * (i + 1)) % 7) - 0.006;
		if (weight >= 1)
			add_stack(tree, rates[i].stack, (uint64_t)weight, 0);
	}
	_cleanup_window_ struct made_window made = window_of(tree, BEGIN, 30 * SECOND);
	assert_int_equal(blend_window(blend, &made), 0);
}

static struct comparison fill(const struct made_rate *rates, size_t count)
{
	struct comparison comparison = {0};

	assert_int_equal(functions_new(&comparison.functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {
			.functions = comparison.functions, .side = side, .by_process = true};

		for (int i = 0; i < WINDOWS; i++)
			blend_made(&blend, rates, count, i);
		comparison.spans[side] =
			(struct history_span){.length = blend.length, .squares = blend.squares};
	}
	return comparison;
}

static struct comparison compare(const struct made_rate *rates, size_t count, size_t max)
{
	struct comparison comparison = fill(rates, count);

	assert_int_equal(history_anomalies_make(comparison.functions, comparison.spans, max,
						&comparison.found),
			 0);
	return comparison;
}

static const struct history_anomaly *anomaly_of(const struct history_anomalies *found,
						const char *name)
{
	for (size_t i = 0; i < found->count; i++) {
		if (strcmp(found->anomalies[i].name, name) == 0)
			return &found->anomalies[i];
	}
	return NULL;
}

static void assert_near(double found, double wanted, double part)
{
	if (!(fabs(found - wanted) <= part * fabs(wanted)))
		fail_msg("%.12g, not %.12g", found, wanted);
}

/* Returns the change of a function; NULL: it has none. */
static const struct history_change *change_of(const struct history_anomaly *anomaly,
					      const char *name)
{
	for (size_t i = 0; i < anomaly->changes_count; i++) {
		if (strcmp(anomaly->changes[i].name, name) == 0)
			return &anomaly->changes[i];
	}
	return NULL;
}

static void nothing_is_like_nothing(void **state)
{
	_cleanup_comparison_ struct comparison empty = compare(NULL, 0, MOST);
	struct history_span none[HISTORY_SIDES] = {{0}};
	struct history_anomalies found;

	(void)state;
	assert_int_equal(empty.found.count, 0);
	assert_true(!empty.found.processes && !empty.found.functions && !empty.found.began &&
		    !empty.found.ended);
	assert_int_equal(history_anomalies_make(empty.functions, none, MOST, &found), 0);
	assert_int_equal(found.count, 0);
	history_anomalies_done(&found);
	history_anomalies_done(&found); /* twice does no harm */
}

static void equal_ranges_have_no_anomaly(void **state)
{
	static const struct made_rate rates[] = {
		{"[7]a;main;f", 3000, 3000}, {"[8]b;main;f", 500, 500}, {"[8]b;g", 70, 70}};
	_cleanup_comparison_ struct comparison equal = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(equal.found.count, 0);
	assert_int_equal(equal.found.processes, 2);
	assert_int_equal(equal.found.functions, 5);
	assert_true(!equal.found.began && !equal.found.ended);
}

static void a_process_that_is_slower_is_told_with_its_function(void **state)
{
	static const struct made_rate rates[] = {{"[Pod]p;[Con]x;[7]a;~t;main;f", 3000, 3900},
						 {"[Pod]p;[Con]x;[7]a;~t;main;g", 600, 600},
						 {"[8]b;main;f", 3000, 3000},
						 {"main;f", 100, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *slower = &made.found.anomalies[0];
	assert_string_equal(slower->name, "[7]a");
	assert_string_equal(slower->container, "[Con]x");
	assert_true(!slower->is_new && !slower->is_silent && !slower->is_alive);
	assert_null(slower->limits.path);
	assert_true(slower->rate.is_change && slower->rate.error > 0);
	assert_near(slower->rate.before, 120, 0.01);
	assert_near(slower->rate.after, 150, 0.01);
	assert_int_equal(slower->changes_count, 2);
	assert_string_equal(slower->changes[0].name, "f");
	assert_string_equal(slower->changes[1].name, "main");
	assert_true(slower->changes[0].self.is_change);
	assert_near(slower->changes[0].self.after, 130, 0.01);
	assert_true(slower->changes[1].total.is_change && !slower->changes[1].self.is_change);
	assert_int_equal(functions_at(made.functions, slower->changes[0].row)->process,
			 functions_at(made.functions, slower->changes[1].row)->process);
}

static void a_steady_process_may_have_functions_that_changed(void **state)
{
	static const struct made_rate rates[] = {
		{"[7]a;main;up", 1000, 2000},	{"[7]a;main;down", 2000, 1000},
		{"[7]a;main;same", 3000, 3000}, {"[8]b;main;up", 1000, 1000},
		{"[8]b;main;down", 2000, 2000},
	};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *steady = &made.found.anomalies[0];
	assert_string_equal(steady->name, "[7]a");
	assert_null(steady->container);
	assert_false(steady->rate.is_change);
	assert_near(steady->rate.before, 200, 0.01);
	assert_near(steady->rate.after, 200, 0.01);
	assert_int_equal(steady->changes_count, 2);
	assert_true(change_of(steady, "up")->self.after > change_of(steady, "up")->self.before);
	assert_true(change_of(steady, "down")->self.after < change_of(steady, "down")->self.before);
}

static void of_a_new_process_only_the_rate_is_told(void **state)
{
	static const struct made_rate rates[] = {{"[Con]x;[7]a;main;f", 0, 300},
						 {"[Con]x;[7]a;main;g", 0, 3000},
						 {"[8]a;main;f", 900, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *new = &made.found.anomalies[0];
	assert_string_equal(new->name, "[7]a");
	assert_string_equal(new->container, "[Con]x");
	assert_true(new->is_new && !new->is_silent &&new->rate.is_change);
	assert_int_equal(new->changes_count, 0);
	assert_true(new->rate.before == 0);
	assert_near(new->rate.after, 110, 0.01);
	assert_true(made.found.processes == 1 && made.found.functions == 2);
	assert_true(made.found.began == 1 && made.found.ended == 0);
}

static void of_a_silent_process_only_the_rate_is_told(void **state)
{
	static const struct made_rate rates[] = {
		{"[7]a;main;f", 300, 0}, {"[7]a;g", 3000, 0}, {"[8]a;main;f", 900, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *silent = &made.found.anomalies[0];
	assert_string_equal(silent->name, "[7]a");
	assert_true(silent->is_silent && !silent->is_new && silent->rate.is_change);
	assert_int_equal(silent->changes_count, 0);
	assert_true(silent->rate.after == 0);
	assert_near(silent->rate.before, 110, 0.01);
	assert_true(made.found.processes == 1 && made.found.functions == 2);
	assert_true(made.found.began == 0 && made.found.ended == 1);
}

static void another_name_is_another_process(void **state)
{
	static const struct made_rate rates[] = {{"[7]sh;main", 900, 0}, {"[7]app;main", 0, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 2);
	assert_true(anomaly_of(&made.found, "[7]sh")->is_silent);
	assert_true(anomaly_of(&made.found, "[7]app")->is_new);
	assert_true(made.found.processes == 0 && made.found.functions == 0);
	assert_true(made.found.began == 1 && made.found.ended == 1);
}

/* A process of which there are few samples began by chance. */
static void a_new_process_with_a_few_samples_is_no_anomaly(void **state)
{
	static const struct made_rate rates[] = {{"[8]a;main;f", 900, 900}};
	_cleanup_comparison_ struct comparison made = fill(rates, 1);
	_cleanup_tree_ struct tree *tree = new_tree();
	struct blend blend = {
		.functions = made.functions, .side = HISTORY_AFTER, .by_process = true};

	(void)state;
	add_stack(tree, "[9]c;f", 3, 0);
	_cleanup_window_ struct made_window window = window_of(tree, BEGIN, 30 * SECOND);
	assert_int_equal(blend_window(&blend, &window), 0);
	made.spans[0].noise = made.spans[1].noise = 1;
	assert_int_equal(history_anomalies_make(made.functions, made.spans, MOST, &made.found), 0);
	assert_int_equal(made.found.count, 0);
	assert_int_equal(made.found.began, 1);
}

static void a_new_function_of_a_known_process_is_told(void **state)
{
	static const struct made_rate rates[] = {{"[7]a;main;old", 1000, 1000},
						 {"[7]a;main;new", 0, 500},
						 {"[7]a;main;gone", 500, 0}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);

	(void)state;
	assert_int_equal(made.found.count, 1);
	assert_int_equal(made.found.anomalies[0].changes_count, 2);
	assert_true(change_of(&made.found.anomalies[0], "new")->self.before == 0);
	assert_true(change_of(&made.found.anomalies[0], "gone")->self.after == 0);
	assert_false(made.found.anomalies[0].rate.is_change);
	assert_int_equal(made.found.functions, 4);
}

/* ---- order and number ---- */

static const struct made_rate many[] = {
	{"[10]small;main;f", 1000, 1100}, {"[11]twin;f", 1000, 1500},	 {"[12]twin;f", 1000, 1500},
	{"[13]large;main;f", 1000, 9000}, {"[13]large;main;g", 10, 900}, {"[14]gone;f", 5000, 0},
	{"[15]new;main;f", 0, 3000},	  {"[16]same;main;f", 700, 700}, {"[17]turn;f", 1000, 3000},
	{"[17]turn;g", 3000, 1000},
};

static void the_largest_change_comes_first(void **state)
{
	static const char *const wanted[] = {"[13]large", "[14]gone", "[15]new",  "[17]turn",
					     "[11]twin",  "[12]twin", "[10]small"};
	_cleanup_comparison_ struct comparison made = compare(many, ARRAY_SIZE(many), MOST);

	(void)state;
	assert_int_equal(made.found.count, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		/* The twins' weights vary each in its own way. */
		if (strstr(wanted[i], "twin"))
			assert_has(made.found.anomalies[i].name, "twin");
		else
			assert_string_equal(made.found.anomalies[i].name, wanted[i]);
	}
	assert_int_equal(made.found.anomalies[0].changes_count, 3);
	assert_string_equal(made.found.anomalies[0].changes[0].name, "f");
	assert_string_equal(made.found.anomalies[0].changes[1].name, "g");
	assert_string_equal(made.found.anomalies[0].changes[2].name, "main");
}

static void equal_changes_are_in_the_order_of_their_names(void **state)
{
	struct functions *functions;
	static const char *const stacks[] = {"[9]z;f", "[8]m;f", "[7]a;f", "[6]q;f"};
	struct history_span spans[HISTORY_SIDES];
	struct history_anomalies found;

	(void)state;
	assert_int_equal(functions_new(&functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {.functions = functions, .side = side, .by_process = true};

		for (int window = 0; window < WINDOWS; window++) {
			_cleanup_tree_ struct tree *tree = new_tree();

			for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
				add_stack(tree, stacks[i], (uint64_t)(1000 * (1 + side) + window),
					  0);
			_cleanup_window_ struct made_window made =
				window_of(tree, BEGIN, 30 * SECOND);
			assert_int_equal(blend_window(&blend, &made), 0);
		}
		spans[side] =
			(struct history_span){.length = blend.length, .squares = blend.squares};
	}
	assert_int_equal(history_anomalies_make(functions, spans, MOST, &found), 0);
	assert_int_equal(found.count, 4);
	assert_string_equal(found.anomalies[0].name, "[6]q");
	assert_string_equal(found.anomalies[1].name, "[7]a");
	assert_string_equal(found.anomalies[2].name, "[8]m");
	assert_string_equal(found.anomalies[3].name, "[9]z");
	history_anomalies_done(&found);
	functions_free(functions);
}

/* However few changes are taken: what is told is true, and is no more than that. */
static void of_more_changes_than_the_most_the_largest_are_told(void **state)
{
	_cleanup_comparison_ struct comparison whole = compare(many, ARRAY_SIZE(many), MOST);
	size_t all = 0;

	(void)state;
	for (size_t i = 0; i < whole.found.count; i++)
		all += whole.found.anomalies[i].changes_count +
		       whole.found.anomalies[i].rate.is_change;
	for (size_t max = 0; max <= all + 1; max++) {
		_cleanup_comparison_ struct comparison cut = compare(many, ARRAY_SIZE(many), max);
		size_t told = 0;

		assert_int_equal(cut.found.processes, whole.found.processes);
		assert_int_equal(cut.found.functions, whole.found.functions);
		for (size_t i = 0; i < cut.found.count; i++) {
			const struct history_anomaly *anomaly = &cut.found.anomalies[i];
			const struct history_anomaly *same =
				anomaly_of(&whole.found, anomaly->name);

			assert_non_null(same);
			assert_true(anomaly->rate.before == same->rate.before);
			assert_true(anomaly->rate.after == same->rate.after);
			assert_true(anomaly->changes_count <= same->changes_count);
			for (size_t k = 0; k < anomaly->changes_count; k++)
				assert_string_equal(anomaly->changes[k].name,
						    same->changes[k].name);
			told += anomaly->changes_count + anomaly->rate.is_change;
		}
		assert_int_equal(told, max < all ? max : all);
		if (max == 1)
			assert_string_equal(cut.found.anomalies[0].name, "[13]large");
	}
}

/* ---- names that no process should have ---- */

static void add_process(struct tree *tree, const char *name, size_t len, uint64_t weight)
{
	struct frame frame = {.type = FRAME_TYPE_PROCESS, .name = name, .name_len = len};
	int64_t node = tree_child_with(tree, TREE_ROOT, &frame);

	assert_true(node > 0);
	tree_add(tree, add_child(tree, (uint32_t)node, FRAME_TYPE_NATIVE, "f"), weight);
}

static void any_name_of_a_process_is_taken_as_it_is(void **state)
{
	static char large[70000];
	static const char *const names[] = {"",
					    "[",
					    "]",
					    "[]",
					    "[7",
					    "a",
					    "[7]",
					    "7]",
					    "[-7]a",
					    "[7]]]",
					    "[[7]a",
					    large,
					    "[999999999999999999999]a",
					    "[7]\xff\xfe"};
	_cleanup_comparison_ struct comparison made = {0};

	(void)state;
	memset(large, '[', sizeof(large) - 1);
	assert_int_equal(functions_new(&made.functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {
			.functions = made.functions, .side = side, .by_process = true};

		for (int window = 0; window < WINDOWS; window++) {
			_cleanup_tree_ struct tree *tree = new_tree();

			for (size_t i = 0; i < ARRAY_SIZE(names); i++)
				add_process(tree, names[i], strlen(names[i]),
					    (uint64_t)(1000 * (1 + side) + window));
			_cleanup_window_ struct made_window window_made =
				window_of(tree, BEGIN, 30 * SECOND);
			assert_int_equal(blend_window(&blend, &window_made), 0);
		}
		made.spans[side] =
			(struct history_span){.length = blend.length, .squares = blend.squares};
	}
	assert_int_equal(history_anomalies_make(made.functions, made.spans, MOST, &made.found), 0);
	assert_int_equal(made.found.count, ARRAY_SIZE(names));
	assert_int_equal(made.found.processes, ARRAY_SIZE(names));
	for (size_t i = 0; i + 1 < ARRAY_SIZE(names); i++) /* the last one isn't valid UTF-8 */
		assert_non_null(anomaly_of(&made.found, names[i]));
	for (size_t i = 0; i < made.found.count; i++)
		assert_int_equal(made.found.anomalies[i].changes_count, 1);
}

static void a_process_below_a_process_is_told_with_its_own_functions(void **state)
{
	static const struct made_rate rates[] = {{"[7]a;main;[8]b;f", 1000, 3000},
						 {"[7]a;main;g", 1000, 1000},
						 {"[7]a;[7]a;[9]c", 1000, 1000}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates), MOST);
	const struct history_anomaly *below = anomaly_of(&made.found, "[8]b");

	(void)state;
	assert_non_null(below);
	assert_true(below->rate.is_change);
	assert_int_equal(below->changes_count, 1);
	assert_string_equal(below->changes[0].name, "f");
	const struct history_anomaly *above = anomaly_of(&made.found, "[7]a");
	assert_non_null(above);
	assert_int_equal(above->changes_count, 1);
	assert_string_equal(above->changes[0].name, "main");
}

/* ---- drawn windows ---- */

static void drawn_weights_are_where_they_belong(void **state)
{
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	_cleanup_blend_ struct blend blend = new_process_blend();
	uint64_t weights[ALL_OF];

	(void)state;
	for (int i = 0; i < ALL_OF; i++)
		weights[i] = (uint64_t)i + 1;
	blend_crowd(&blend, &crowd, weights);
	for (int i = 0; i < ALL_OF; i += 7) {
		char process[32], function[16];

		snprintf(process, sizeof(process), "[%d]app", FIRST_PID + i / OF_PROCESS);
		snprintf(function, sizeof(function), "f%d", i % OF_PROCESS);
		const struct function_row *row = find_owned(blend.functions, process, function);
		assert_non_null(row);
		assert_true(row->self[0].sum == i + 1);
	}
}

/* Function 3 of a process that has 50 samples a second, a sixteenth of them there. */
static void one_process_among_many_whose_one_function_is_a_fifth_slower_is_found(void **state)
{
	static const struct crowd_question question = {
		RATE_COUNTED, {120, 20}, 1, .planted = 0, .slower = 1.2};
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	int others = 0, first = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct history_anomalies found = compare_crowd(&crowd, &question, seed);
		const struct history_anomaly *planted = anomaly_of(&found, "[101]app");

		assert_int_equal(found.processes, PROCESSES);
		assert_int_equal(found.functions, PROCESSES * (OF_PROCESS + 1));
		if (planted) {
			assert_true(planted->changes_count >= 1);
			assert_string_equal(planted->changes[0].name, "f3");
			first += planted == &found.anomalies[0];
			others += found.count > 1;
		}
		history_anomalies_done(&found);
	}
	if (first < 95 || others > 3)
		fail_msg("it is the first one in %d of 100; %d have others", first, others);
}

/* Returns in how many of the comparisons of equals there is an anomaly. */
static int count_alarms(const struct crowd_question *question)
{
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	int alarms = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct history_anomalies found = compare_crowd(&crowd, question, seed);

		alarms += found.count > 0;
		history_anomalies_done(&found);
	}
	return alarms;
}

static void assert_hardly_ever_alarmed(const struct crowd_question *question)
{
	int alarms = count_alarms(question);

	if (alarms > SEEDS / 100)
		fail_msg("%d of %d comparisons of equals have anomalies", alarms, SEEDS);
}

static void equal_ranges_of_counted_samples_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_COUNTED, {120, 20}, 1, 0, 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_COUNTED, {10, 10}, 1, 0, 0});
}

static void equal_ranges_that_vary_more_than_counting_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_UNEVEN, {60, 20}, 1, 0, 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_UNEVEN, {10, 10}, 1, 0, 0});
}

static void equal_ranges_of_skewed_weights_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_GAMMA, {120, 20}, 0, 0, 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_GAMMA, {10, 10}, 0, 0, 0});
}

static void bursts_of_a_process_are_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_BURSTS, {60, 20}, 0, 0, 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_BURSTS, {20, 20}, 0, 0, 0});
}

static void weights_that_come_in_few_windows_are_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_RARE, {40, 10}, 0, 0, 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_LOGNORMAL, {40, 10}, 0, 0, 0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_like_nothing),
		cmocka_unit_test(equal_ranges_have_no_anomaly),
		cmocka_unit_test(a_process_that_is_slower_is_told_with_its_function),
		cmocka_unit_test(a_steady_process_may_have_functions_that_changed),
		cmocka_unit_test(of_a_new_process_only_the_rate_is_told),
		cmocka_unit_test(of_a_silent_process_only_the_rate_is_told),
		cmocka_unit_test(another_name_is_another_process),
		cmocka_unit_test(a_new_process_with_a_few_samples_is_no_anomaly),
		cmocka_unit_test(a_new_function_of_a_known_process_is_told),
		cmocka_unit_test(the_largest_change_comes_first),
		cmocka_unit_test(equal_changes_are_in_the_order_of_their_names),
		cmocka_unit_test(of_more_changes_than_the_most_the_largest_are_told),
		cmocka_unit_test(any_name_of_a_process_is_taken_as_it_is),
		cmocka_unit_test(a_process_below_a_process_is_told_with_its_own_functions),
		cmocka_unit_test(drawn_weights_are_where_they_belong),
		cmocka_unit_test(
			one_process_among_many_whose_one_function_is_a_fifth_slower_is_found),
		cmocka_unit_test(equal_ranges_of_counted_samples_have_no_anomaly),
		cmocka_unit_test(equal_ranges_that_vary_more_than_counting_have_no_anomaly),
		cmocka_unit_test(equal_ranges_of_skewed_weights_have_no_anomaly),
		cmocka_unit_test(bursts_of_a_process_are_no_anomaly),
		cmocka_unit_test(weights_that_come_in_few_windows_are_no_anomaly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
