// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_anomalies: which processes are unlike their own past. */
#include "unit/history/made_processes.h"

#define SEEDS	120
#define WINDOWS 10

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

static struct comparison compare(const struct made_rate *rates, size_t count)
{
	struct comparison comparison = fill(rates, count);

	assert_int_equal(
		history_anomalies_make(comparison.functions, comparison.spans, &comparison.found),
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
	_cleanup_comparison_ struct comparison empty = compare(NULL, 0);
	struct history_span none[HISTORY_SIDES] = {{0}};
	struct history_anomalies found;

	(void)state;
	assert_int_equal(empty.found.count, 0);
	assert_true(!empty.found.processes && !empty.found.functions && !empty.found.news_count &&
		    !empty.found.refused);
	assert_int_equal(history_anomalies_make(empty.functions, none, &found), 0);
	assert_int_equal(found.count, 0);
	history_anomalies_done(&found);
	history_anomalies_done(&found); /* twice does no harm */
}

static void equal_ranges_have_no_anomaly(void **state)
{
	static const struct made_rate rates[] = {
		{"[7]a;main;f", 3000, 3000}, {"[8]b;main;f", 500, 500}, {"[8]b;g", 70, 70}};
	_cleanup_comparison_ struct comparison equal = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(equal.found.count, 0);
	assert_int_equal(equal.found.processes, 2);
	assert_int_equal(equal.found.functions, 5);
	assert_int_equal(equal.found.news_count, 0);
}

static void a_process_that_is_slower_is_told_with_its_function(void **state)
{
	static const struct made_rate rates[] = {{"[Pod]p;[Con]x;[7]a;~t;main;f", 3000, 3900},
						 {"[Pod]p;[Con]x;[7]a;~t;main;g", 600, 600},
						 {"[8]b;main;f", 3000, 3000},
						 {"main;f", 100, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *slower = &made.found.anomalies[0];
	assert_string_equal(slower->name, "[7]a");
	assert_string_equal(slower->container, "[Con]x");
	assert_false(slower->is_silent);
	assert_int_equal(history_anomaly_pid(slower), 7);
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
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

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

/* The largest first, and of equal ones in the order of their names. */
static void a_new_process_is_told_apart_with_its_rate(void **state)
{
	static const struct made_rate rates[] = {
		{"[Con]x;[7]a;main;f", 0, 300},
		{"[Con]x;[7]a;main;g", 0, 3000},
		{"[8]a;main;f", 900, 900},
		{"[Pod]p;[12]e;f", 0, 9000},
		{"[9]b;f", 0, 30},
	};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(made.found.count, 0);
	assert_int_equal(made.found.news_count, 3);
	assert_string_equal(made.found.news[0].name, "[12]e");
	assert_string_equal(made.found.news[0].container, "[Pod]p");
	const struct history_anomaly *began = &made.found.news[1];
	assert_string_equal(began->name, "[7]a");
	assert_string_equal(began->container, "[Con]x");
	assert_true(!began->is_silent && !began->rate.is_change);
	assert_near(began->rate.after, 110, 0.01);
	assert_true(!began->changes_count && !began->changes);
	assert_string_equal(made.found.news[2].name, "[9]b");
	assert_null(made.found.news[2].container);
	assert_true(made.found.processes == 1 && made.found.functions == 2);
}

static void of_a_silent_process_only_the_rate_is_told(void **state)
{
	static const struct made_rate rates[] = {
		{"[7]a;main;f", 300, 0}, {"[7]a;g", 3000, 0}, {"[8]a;main;f", 900, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(made.found.count, 1);
	const struct history_anomaly *silent = &made.found.anomalies[0];
	assert_string_equal(silent->name, "[7]a");
	assert_true(silent->is_silent && silent->rate.is_change);
	assert_int_equal(silent->changes_count, 0);
	assert_true(silent->rate.after == 0);
	assert_near(silent->rate.before, 110, 0.01);
	assert_true(made.found.processes == 2 && made.found.functions == 2);
	assert_int_equal(made.found.news_count, 0);
}

static void another_name_is_another_process(void **state)
{
	static const struct made_rate rates[] = {{"[7]sh;main", 900, 0}, {"[7]app;main", 0, 900}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(made.found.count, 1);
	assert_true(anomaly_of(&made.found, "[7]sh")->is_silent);
	assert_int_equal(made.found.news_count, 1);
	assert_string_equal(made.found.news[0].name, "[7]app");
	assert_true(made.found.processes == 1 && made.found.functions == 0);
}

static void a_new_function_of_a_known_process_is_told(void **state)
{
	static const struct made_rate rates[] = {{"[7]a;main;old", 1000, 1000},
						 {"[7]a;main;new", 0, 500},
						 {"[7]a;main;gone", 500, 0}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));

	(void)state;
	assert_int_equal(made.found.count, 1);
	assert_int_equal(made.found.anomalies[0].changes_count, 2);
	assert_true(change_of(&made.found.anomalies[0], "new")->self.before == 0);
	assert_true(change_of(&made.found.anomalies[0], "gone")->self.after == 0);
	assert_false(made.found.anomalies[0].rate.is_change);
	assert_int_equal(made.found.functions, 4);
}

/* ---- who isn't judged ---- */

static void leave_out(struct functions *functions, const char *name)
{
	for (size_t i = 0; i < functions_count(functions); i++) {
		const struct function_row *row = functions_at(functions, i);

		if (row->type == FRAME_TYPE_PROCESS && strcmp(row->name, name) == 0)
			functions_leave_out(functions, i);
	}
}

static void assert_same_rates(const struct history_rate *a, const struct history_rate *b)
{
	assert_true(a->before == b->before && a->after == b->after && a->error == b->error);
	assert_true(a->chance == b->chance && a->is_change == b->is_change);
}

static void assert_same_list(const struct history_anomaly *a, const struct history_anomaly *b,
			     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(a[i].name, b[i].name);
		assert_same_rates(&a[i].rate, &b[i].rate);
		assert_true(a[i].size == b[i].size);
		assert_int_equal(a[i].changes_count, b[i].changes_count);
		for (size_t k = 0; k < a[i].changes_count; k++) {
			assert_string_equal(a[i].changes[k].name, b[i].changes[k].name);
			assert_same_rates(&a[i].changes[k].self, &b[i].changes[k].self);
			assert_same_rates(&a[i].changes[k].total, &b[i].changes[k].total);
		}
	}
}

static void assert_same_found(const struct history_anomalies *a, const struct history_anomalies *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->news_count, b->news_count);
	assert_int_equal(a->processes, b->processes);
	assert_int_equal(a->functions, b->functions);
	assert_same_list(a->anomalies, b->anomalies, a->count);
	assert_same_list(a->news, b->news, a->news_count);
}

static void who_is_left_out_is_in_no_list(void **state)
{
	static const struct made_rate with[] = {
		{"[10]more;f", 1000, 1500},  {"[11]same;f", 700, 700}, {"[12]new;f", 0, 500},
		{"[20]grew;f", 1000, 90000}, {"[20]grew;g", 900, 0},   {"[21]ended;f", 5000, 0},
		{"[22]later;f", 0, 7000},    {"[23]as;f", 60, 60},
	};
	_cleanup_comparison_ struct comparison made = fill(with, ARRAY_SIZE(with));
	_cleanup_comparison_ struct comparison without = compare(with, 3);

	(void)state;
	leave_out(made.functions, "[20]grew");
	leave_out(made.functions, "[21]ended");
	leave_out(made.functions, "[22]later");
	leave_out(made.functions, "[23]as");
	assert_int_equal(history_anomalies_make(made.functions, made.spans, &made.found), 0);
	assert_same_found(&made.found, &without.found);
	assert_int_equal(made.found.count, 1);
	assert_string_equal(made.found.news[0].name, "[12]new");
	assert_true(made.found.processes == 2 && made.found.functions == 2);
}

static void where_all_are_left_out_there_is_nothing(void **state)
{
	static const struct made_rate rates[] = {{"[7]a;f", 1000, 9000}, {"[8]b;f", 0, 9000}};
	_cleanup_comparison_ struct comparison made = fill(rates, ARRAY_SIZE(rates));

	(void)state;
	leave_out(made.functions, "[7]a");
	leave_out(made.functions, "[8]b");
	assert_int_equal(history_anomalies_make(made.functions, made.spans, &made.found), 0);
	assert_true(!made.found.count && !made.found.news_count);
	assert_true(!made.found.processes && !made.found.functions);
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
	static const char *const wanted[] = {"[13]large", "[14]gone", "[17]turn",
					     "[11]twin",  "[12]twin", "[10]small"};
	_cleanup_comparison_ struct comparison made = compare(many, ARRAY_SIZE(many));

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
	assert_int_equal(history_anomalies_make(functions, spans, &found), 0);
	assert_int_equal(found.count, 4);
	assert_string_equal(found.anomalies[0].name, "[6]q");
	assert_string_equal(found.anomalies[1].name, "[7]a");
	assert_string_equal(found.anomalies[2].name, "[8]m");
	assert_string_equal(found.anomalies[3].name, "[9]z");
	history_anomalies_done(&found);
	functions_free(functions);
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
	assert_int_equal(history_anomalies_make(made.functions, made.spans, &made.found), 0);
	assert_int_equal(made.found.count, ARRAY_SIZE(names));
	assert_int_equal(made.found.processes, ARRAY_SIZE(names));
	for (size_t i = 0; i + 1 < ARRAY_SIZE(names); i++) /* the last one isn't valid UTF-8 */
		assert_non_null(anomaly_of(&made.found, names[i]));
	for (size_t i = 0; i < made.found.count; i++) {
		const struct history_anomaly *anomaly = &made.found.anomalies[i];
		bool has_number = strncmp(anomaly->name, "[7]", 3) == 0;

		assert_int_equal(anomaly->changes_count, 1);
		assert_int_equal(history_anomaly_pid(anomaly), has_number ? 7 : 0);
	}
}

static void a_process_below_a_process_is_told_with_its_own_functions(void **state)
{
	static const struct made_rate rates[] = {{"[7]a;main;[8]b;f", 1000, 3000},
						 {"[7]a;main;g", 1000, 1000},
						 {"[7]a;[7]a;[9]c", 1000, 1000}};
	_cleanup_comparison_ struct comparison made = compare(rates, ARRAY_SIZE(rates));
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
		RATE_COUNTED, {60, 20}, 1, .planted = 0, .slower = 1.2};
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	int others = 0, first = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
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
	if (first < 47 || others > 2)
		fail_msg("it is the first one in %d of 50; %d have others", first, others);
}

/* In at most one of 100 comparisons of equals there is an anomaly. */
static void assert_alarms(const struct crowd_question *question, int seeds)
{
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	int alarms = 0;

	for (int seed = 1; seed <= seeds; seed++) {
		struct history_anomalies found = compare_crowd(&crowd, question, (uint64_t)seed);

		alarms += found.count > 0;
		history_anomalies_done(&found);
	}
	if (alarms > seeds / 100)
		fail_msg("%d of %d comparisons of equals have anomalies", alarms, seeds);
}

static void assert_hardly_ever_alarmed(const struct crowd_question *question)
{
	assert_alarms(question, SEEDS);
}

static void equal_ranges_of_counted_samples_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_COUNTED, {60, 20}, .noise = 1});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_COUNTED, {10, 10}, .noise = 1});
}

static void equal_ranges_that_vary_more_than_counting_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_UNEVEN, {40, 15}, .noise = 1});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_UNEVEN, {10, 10}, .noise = 1});
}

static void equal_ranges_of_skewed_weights_have_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_GAMMA, {40, 15}, .noise = 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_GAMMA, {10, 10}, .noise = 0});
}

static void bursts_of_a_process_are_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_BURSTS, {40, 20}, .noise = 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_BURSTS, {20, 20}, .noise = 0});
}

static void weights_that_come_in_few_windows_are_no_anomaly(void **state)
{
	(void)state;
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_RARE, {30, 10}, .noise = 0});
	assert_hardly_ever_alarmed(&(struct crowd_question){RATE_LOGNORMAL, {30, 10}, .noise = 0});
}

/* ---- processes that begin within the range before ---- */

/* A process from its window number `begins` on: of it the record has a third, and then all. */
static void blend_begun(struct blend *blend, int windows, int begins)
{
	for (int i = 0; i < windows; i++) {
		int part = blend->side == HISTORY_AFTER || i > begins ? 3 : i == begins;
		const struct made_rate rates[] = {{"[7]a;f", 300 * part, 300 * part},
						  {"[7]a;main;g", 3000 * part, 3000 * part},
						  {"[8]b;f", 600, 600}};

		blend_made(blend, rates, ARRAY_SIZE(rates), i);
	}
}

/* A range before of 20 windows, and one after it. */
static struct comparison compare_begun(int begins)
{
	struct comparison made = {0};

	assert_int_equal(functions_new(&made.functions), 0);
	for (int side = 0; side < HISTORY_SIDES; side++) {
		struct blend blend = {
			.functions = made.functions, .side = side, .by_process = true};

		blend_begun(&blend, side == HISTORY_BEFORE ? 20 : WINDOWS, begins);
		made.spans[side] =
			(struct history_span){.length = blend.length, .squares = blend.squares};
	}
	assert_int_equal(history_anomalies_make(made.functions, made.spans, &made.found), 0);
	return made;
}

/* Its past is what follows the record that has its beginning, so what it did is told as it was. */
static void a_process_is_compared_with_its_own_past(void **state)
{
	(void)state;
	for (int begins = 1; begins <= 20; begins++) {
		_cleanup_comparison_ struct comparison made = compare_begun(begins);
		const struct function_row *row = find_owned(made.functions, NULL, "[7]a");
		int past = begins < 20 ? 19 - begins : 0; /* windows that are its past */
		bool is_judged = past >= 6;
		const struct history_rate rate =
			history_compare_row(made.functions, row, row->total, made.spans);

		assert_int_equal(made.found.count, 0);
		assert_int_equal(made.found.news_count, is_judged ? 0 : 1);
		assert_int_equal(made.found.processes, is_judged ? 2 : 1);
		assert_int_equal(made.found.functions, is_judged ? 4 : 1);
		assert_int_equal(history_is_judged(made.functions, row, made.spans), is_judged);
		if (past)
			assert_near(rate.before, 330, 0.01);
		assert_near(rate.after, 330, 0.01);
		assert_near(row->late_length, begins < 20 ? 30 * (begins + 1) : 0, 1e-9);
	}
}

/* In the range's first record it was there already, as far as anybody knows. */
static void what_the_first_record_has_counts(void **state)
{
	_cleanup_comparison_ struct comparison made = compare_begun(0);
	const struct function_row *row = find_owned(made.functions, NULL, "[7]a");

	(void)state;
	assert_true(row->late_length == 0 && row->late_squares == 0);
	assert_near(row->total[HISTORY_BEFORE].sum, 3300 + 19 * 9900, 0.01);
	assert_true(made.found.processes == 2 && !made.found.news_count);
}

/* Steady processes, each of which begins somewhere in the range before: within a window. */
static void a_steady_process_is_never_told_wherever_it_began(void **state)
{
	(void)state;
	assert_alarms(&(struct crowd_question){RATE_COUNTED, {PROCESSES, 15}, 1, .begins = true},
		      300);
	assert_alarms(&(struct crowd_question){RATE_UNEVEN, {PROCESSES, 10}, 1, .begins = true},
		      300);
	assert_alarms(&(struct crowd_question){RATE_GAMMA, {PROCESSES, 10}, 0, .begins = true},
		      300);
}

/* Of most of them the first sample comes late by chance, and of many there is none after. */
static void seldom_samples_are_no_beginning_and_no_silence(void **state)
{
	(void)state;
	assert_alarms(&(struct crowd_question){RATE_COUNTED, {40, 10}, 1, .scale = 0.01}, 300);
	assert_alarms(&(struct crowd_question){RATE_COUNTED, {12, 6}, 1, .scale = 0.002}, 300);
}

/* Judged are those with six windows behind the record that has their beginning. */
static void who_began_too_late_is_new(void **state)
{
	static const struct crowd_question question = {
		RATE_GAMMA, {PROCESSES, 10}, 0, .begins = true};
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	struct history_anomalies found = compare_crowd(&crowd, &question, 1);

	(void)state;
	assert_int_equal(found.processes, PROCESSES - 6);
	assert_int_equal(found.functions, (PROCESSES - 6) * (OF_PROCESS + 1));
	assert_int_equal(found.news_count, 6);
	history_anomalies_done(&found);
}

/* ---- the limit of false discoveries ---- */

static const struct crowd_question marginal = {
	RATE_COUNTED, {20, 20}, 1, .planted = 0, .slower = 1.18};

/* Who is left out doesn't move the limit for others, however much it changed. Judged, it would. */
static void who_is_left_out_moves_no_limit(void **state)
{
	_cleanup_crowd_ struct crowd crowd = crowd_new();
	struct crowd_question with_huge = marginal;
	int moved = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct crowd_question left_out = marginal;
		struct history_anomalies found[3];

		left_out.huge = HUGE_LEFT_OUT;
		with_huge.huge = HUGE_JUDGED;
		found[0] = compare_crowd(&crowd, &marginal, seed);
		found[1] = compare_crowd(&crowd, &left_out, seed);
		found[2] = compare_crowd(&crowd, &with_huge, seed);
		assert_same_found(&found[0], &found[1]);
		assert_string_equal(found[2].anomalies[0].name, "[99]huge");
		moved += !anomaly_of(&found[0], "[101]app") && anomaly_of(&found[2], "[101]app");
		for (int i = 0; i < 3; i++)
			history_anomalies_done(&found[i]);
	}
	if (!moved)
		fail_msg("it would never have made a difference: this tests nothing");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_like_nothing),
		cmocka_unit_test(equal_ranges_have_no_anomaly),
		cmocka_unit_test(a_process_that_is_slower_is_told_with_its_function),
		cmocka_unit_test(a_steady_process_may_have_functions_that_changed),
		cmocka_unit_test(a_new_process_is_told_apart_with_its_rate),
		cmocka_unit_test(of_a_silent_process_only_the_rate_is_told),
		cmocka_unit_test(another_name_is_another_process),
		cmocka_unit_test(a_new_function_of_a_known_process_is_told),
		cmocka_unit_test(who_is_left_out_is_in_no_list),
		cmocka_unit_test(where_all_are_left_out_there_is_nothing),
		cmocka_unit_test(the_largest_change_comes_first),
		cmocka_unit_test(equal_changes_are_in_the_order_of_their_names),
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
		cmocka_unit_test(a_process_is_compared_with_its_own_past),
		cmocka_unit_test(what_the_first_record_has_counts),
		cmocka_unit_test(a_steady_process_is_never_told_wherever_it_began),
		cmocka_unit_test(seldom_samples_are_no_beginning_and_no_silence),
		cmocka_unit_test(who_began_too_late_is_new),
		cmocka_unit_test(who_is_left_out_moves_no_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
