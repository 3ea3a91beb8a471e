// SPDX-License-Identifier: GPL-2.0-or-later
/* The difference of two ranges of history as a picture: from windows on disk to its frames. */
#include "unit/history/made_rates.h"
#include "unit/history/store_scene.h"

#include "history/history_state.h"
#include "loop/loop.h"
#include "output/svg/judged_functions.h"
#include "profile/render_difference.h"

#define WINDOW	    (30 * SECOND)
#define PATIENCE_NS (60 * NS_PER_S)
#define SEEDS	    10

struct made_stack {
	const char *stack;
	double rates[HISTORY_SIDES]; /* samples a second */
};

/* Two ranges, one after the other. */
struct made_ranges {
	const struct made_stack *stacks;
	size_t count;
	int windows[HISTORY_SIDES];
	int gap; /* this many windows of the range before are missing */
	uint64_t seed;
	bool negate, unjudged;
	unsigned without; /* frames */
};

struct scene {
	struct store_scene *store;
	struct loop *loop;
	struct worker *bulk;
	struct history *history;
	struct loop_timer patience;
	const struct made_ranges *ranges;
	struct judged_functions *judged;
	struct buf picture;
	bool tells;
};

/* ---- windows ---- */

static void add_drawn(struct scene *scene, int64_t from, enum history_side side, uint64_t *random)
{
	_cleanup_tree_ struct tree *tree = new_tree();

	for (size_t i = 0; i < scene->ranges->count; i++) {
		const struct made_stack *stack = &scene->ranges->stacks[i];
		double mean = stack->rates[side] * WINDOW_S;

		if (mean > 0)
			add_stack(tree, stack->stack, (uint64_t)draw_poisson(random, mean), 0);
	}
	_cleanup_window_ struct made_window window = window_of(tree, from, WINDOW);
	assert_int_equal(
		history_store_add(&scene->store->store, SERIES, &window.head, &window.payload), 0);
}

static void fill(struct scene *scene, struct history_range ranges[HISTORY_SIDES])
{
	const struct made_ranges *made = scene->ranges;
	uint64_t seed = made->seed, random = random_next(&seed);
	int64_t at = BEGIN;

	scene->store = scene_new();
	for (int side = 0; side < HISTORY_SIDES; side++) {
		ranges[side].from = at;
		for (int i = 0; i < made->windows[side]; i++, at += WINDOW) {
			bool is_gap = side == HISTORY_BEFORE && i > 0 && i <= made->gap;

			if (!is_gap)
				add_drawn(scene, at, side, &random);
		}
		ranges[side].until = at;
	}
	history_store_done(&scene->store->store);
}

/* ---- from there to the picture ---- */

static void expired(void *arg)
{
	(void)arg;
	fail_msg("no picture came");
}

static void drawn(void *arg, struct render_difference *render)
{
	struct scene *scene = arg;

	assert_int_equal(render->error, 0);
	buf_char(&render->picture, '\0');
	scene->picture = render->picture;
	render->picture = (struct buf){0};
	loop_stop(scene->loop);
}

static void answered(void *arg, struct history_ask *ask)
{
	struct scene *scene = arg;

	assert_int_equal(ask->error, 0);
	assert_int_equal(ask->judged != NULL, ask->judges && ask->tells);
	scene->judged = ask->judged;
	ask->judged = NULL;
	scene->tells = ask->tells;
	struct render_difference question = {
		.before = ask->profiles[HISTORY_BEFORE],
		.after = ask->profiles[HISTORY_AFTER],
		.negate = scene->ranges->negate,
		.without = scene->ranges->without,
		.judged = scene->judged,
		.remark = scene->judged ? NULL : "a remark",
		.done = drawn,
		.arg = scene,
	};
	assert_int_equal(render_difference_submit(scene->bulk, &question), 0);
}

static void ask(struct scene *scene, const struct history_range ranges[HISTORY_SIDES])
{
	struct history_setup setup = {
		.loop = scene->loop,
		.bulk = scene->bulk,
		.options = {.limits = {.days = 0, .bytes = 64 << 20}, .window_s = WINDOW / SECOND},
		.state_dir = scene->store->folder.path};
	struct history_ask question = {.wish = HISTORY_PROFILES,
				       .probe = PROBE_ONCPU,
				       .view = VIEW_ALL,
				       .compares = true,
				       .judges = !scene->ranges->unjudged,
				       .ranges = {ranges[0], ranges[1]},
				       .done = answered,
				       .arg = scene};

	assert_int_equal(history_new(&scene->history, &setup), 0);
	assert_int_equal(history_submit(scene->history, &question), 0);
	scene->patience = (struct loop_timer){.expired = expired, .arg = scene};
	loop_timer_set(scene->loop, &scene->patience, loop_now_ns() + PATIENCE_NS);
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->patience);
}

/* Returns the picture; the caller frees it. */
static char *picture_of(const struct made_ranges *made)
{
	struct scene scene = {.ranges = made};
	struct history_range ranges[HISTORY_SIDES];

	fill(&scene, ranges);
	assert_int_equal(loop_new(&scene.loop), 0);
	assert_int_equal(worker_new(&scene.bulk, scene.loop, "bulk", PATIENCE_NS), 0);
	ask(&scene, ranges);
	history_stop(scene.history);
	worker_stop(scene.bulk);
	loop_flush(scene.loop);
	history_free(scene.history);
	worker_free(scene.bulk);
	loop_free(scene.loop);
	scene_freep(&scene.store);
	judged_free(scene.judged);
	check_markup(scene.picture.data);
	return scene.picture.data;
}

/* ---- what it shows ---- */

/* Returns the class of the frame with that name: `g` grown, `s` shrunk, `u` unchanged, and a shade;
 * NULL: it isn't drawn. */
static const char *class_of(const char *picture, const char *name)
{
	char title[128];
	const char *at = picture, *before = "<path class=\"";

	snprintf(title, sizeof(title), "<title>%s (", name);
	const char *found = strstr(picture, title);
	if (!found)
		return NULL;
	for (const char *path; (path = strstr(at, before)) && path < found; at = path + 1)
		;
	return at - 1 + strlen(before);
}

static void assert_class(const char *picture, const char *name, char class)
{
	const char *found = class_of(picture, name);

	if (!found || *found != class)
		fail_msg("%s is %.2s, not %c", name, found ? found : "--", class);
}

/* All frames of these stacks but one are unchanged, or too narrow to be drawn. */
static void assert_others_unchanged(const char *picture, const struct made_ranges *made,
				    const char *but)
{
	for (size_t i = 0; i < made->count; i++) {
		const char *leaf = strrchr(made->stacks[i].stack, ';') + 1;

		if ((!but || strcmp(leaf, but) != 0) && class_of(picture, leaf))
			assert_class(picture, leaf, 'u');
	}
	assert_class(picture, "main", 'u');
	assert_class(picture, "app", 'u');
}

static const struct made_stack same[] = {
	{"[7]app;main;much", {40, 40}},
	{"[7]app;main;slow", {15, 15}},
	{"[7]app;main;some", {5, 5}},
	{"[7]app;main;read_[k]", {2, 2}},
	{"[7]app;main;some;seldom", {0.05, 0.05}},
	{"[8]app;start;hardly", {0.01, 0.01}},
};

static const struct made_stack slower[] = {
	{"[7]app;main;much", {40, 40}},
	{"[7]app;main;slow", {15, 18}},
	{"[7]app;main;some", {5, 5}},
	{"[7]app;main;read_[k]", {2, 2}},
	{"[7]app;main;some;seldom", {0.05, 0.05}},
	{"[8]app;start;hardly", {0.01, 0.01}},
};

static void assert_uncoloured(const struct made_ranges *of)
{
	struct made_ranges made = *of;

	for (made.seed = 1; made.seed <= SEEDS; made.seed++) {
		_cleanup_free_ char *picture = picture_of(&made);

		assert_others_unchanged(picture, &made, NULL);
		assert_has(picture, "; within noise)</title>");
		assert_has(picture, ">unchanged, or within noise as windows vary</text>");
		assert_has_not(picture, "not drawn");
	}
}

static void between_equal_ranges_nothing_is_coloured(void **state)
{
	(void)state;
	assert_uncoloured(&(struct made_ranges){
		.stacks = same, .count = ARRAY_SIZE(same), .windows = {20, 20}});
}

static void nor_is_it_where_one_is_longer(void **state)
{
	(void)state;
	assert_uncoloured(&(struct made_ranges){
		.stacks = same, .count = ARRAY_SIZE(same), .windows = {40, 20}});
	assert_uncoloured(&(struct made_ranges){
		.stacks = same, .count = ARRAY_SIZE(same), .windows = {15, 60}});
}

static void nor_where_one_has_a_gap(void **state)
{
	(void)state;
	assert_uncoloured(&(struct made_ranges){
		.stacks = same, .count = ARRAY_SIZE(same), .windows = {40, 40}, .gap = 20});
}

static void assert_slow_is_coloured(const struct made_ranges *of)
{
	struct made_ranges made = *of;

	made.stacks = slower;
	made.count = ARRAY_SIZE(slower);
	for (made.seed = 1; made.seed <= SEEDS; made.seed++) {
		_cleanup_free_ char *picture = picture_of(&made);

		assert_class(picture, "slow", 'g');
		assert_int_equal(class_of(picture, "slow")[1], '9');
		assert_others_unchanged(picture, &made, "slow");
	}
}

static void a_function_that_is_a_fifth_slower_is_coloured_and_no_other(void **state)
{
	(void)state;
	assert_slow_is_coloured(&(struct made_ranges){.windows = {20, 20}});
	assert_slow_is_coloured(&(struct made_ranges){.windows = {40, 20}});
	assert_slow_is_coloured(&(struct made_ranges){.windows = {20, 40}});
	assert_slow_is_coloured(&(struct made_ranges){.windows = {40, 40}, .gap = 20});
	assert_slow_is_coloured(&(struct made_ranges){.windows = {20, 20}, .negate = true});
}

static void the_head_tells_both_times_and_rates(void **state)
{
	static const struct made_stack one[] = {{"[7]app;main;much", {100, 100}}};
	struct made_ranges made = {.stacks = one, .count = 1, .windows = {40, 20}, .seed = 1};

	(void)state;
	for (int gap = 0; gap <= 30; gap += 30) {
		made.gap = gap;
		_cleanup_free_ char *picture = picture_of(&made);
		assert_has(picture, " in 600 s (");
		assert_has(picture, gap ? " in 300 s (" : " in 1200 s (");
		assert_has(picture, "% a second · 100% in common");
		assert_has_not(picture, " sampled)");
		/* A hundred a second, to one in a hundred. */
		double before = 0, after = 0;
		const char *rates = strstr(picture, "; within noise");
		assert_non_null(rates);
		while (rates > picture && strncmp(rates, "%; ", 3) != 0)
			rates--;
		assert_int_equal(sscanf(rates, "%%; %lf/s → %lf/s", &before, &after), 2);
		assert_true(fabs(before - 100) < 2 && fabs(after - 100) < 2);
	}
}

static void stacks_that_are_gone_are_told_and_drawn_where_widths_are_those_before(void **state)
{
	static const struct made_stack stacks[] = {{"[7]app;main;stays", {30, 30}},
						   {"[7]app;main;gone", {10, 0}},
						   {"[7]app;main;new", {0, 10}}};
	struct made_ranges made = {
		.stacks = stacks, .count = ARRAY_SIZE(stacks), .windows = {20, 10}, .seed = 1};
	_cleanup_free_ char *after = picture_of(&made);

	(void)state;
	assert_null(class_of(after, "gone"));
	assert_class(after, "new", 'g');
	assert_class(after, "stays", 'u');
	assert_has(after, " of before is gone and not drawn");
	made.negate = true;
	_cleanup_free_ char *before = picture_of(&made);
	assert_null(class_of(before, "new"));
	assert_class(before, "gone", 's');
	assert_class(before, "stays", 'u');
	assert_has(before, "/s → 0/s)</title>");
	assert_has(before, " of after is new and not drawn");
	assert_has(before, " · widths are those before · ");
	assert_has(before, " · after ");
}

static void of_two_processes_the_functions_are_compared(void **state)
{
	static const struct made_stack stacks[] = {
		{"[7]one;~one;main;work", {20, 0}},
		{"[8]two;~two;main;work", {0, 20}},
		{"[7]one;~one", {1, 0}},
		{"[Pod]p;[Con]c;[8]two;~two;main;more", {0, 20}}};
	struct made_ranges made = {.stacks = stacks,
				   .count = ARRAY_SIZE(stacks),
				   .windows = {20, 10},
				   .seed = 1,
				   .without = 1u << FRAME_TYPE_POD | 1u << FRAME_TYPE_CONTAINER |
					      1u << FRAME_TYPE_PROCESS | 1u << FRAME_TYPE_THREAD};
	_cleanup_free_ char *picture = picture_of(&made);

	(void)state;
	assert_class(picture, "work", 'u');
	assert_class(picture, "more", 'g');
	assert_int_equal(count_of(picture, "<title>main ("), 1);
	assert_has_not(picture, "<title>two (");
	assert_has_not(picture, "<title>[Con]");
}

static void few_windows_are_coloured_by_counts_and_say_so(void **state)
{
	static const struct made_stack stacks[] = {{"[7]app;main;much", {40, 40}},
						   {"[7]app;main;slow", {15, 30}}};
	struct made_ranges made = {
		.stacks = stacks, .count = ARRAY_SIZE(stacks), .windows = {10, 5}, .seed = 1};

	(void)state;
	for (int unjudged = 0; unjudged < 2; unjudged++) {
		_cleanup_free_ char *picture = picture_of(&made);

		assert_class(picture, "slow", 'g');
		assert_class(picture, "much", 'u');
		assert_has(picture, " · a remark · ");
		assert_has(picture, ">unchanged or within noise (3σ)</text>");
		made.unjudged = true;
		made.windows[HISTORY_AFTER] = 10;
	}
}

static void a_marker_goes_by_the_function_that_it_stands_on(void **state)
{
	static const struct made_stack stacks[] = {{"[7]app;main;grows;[anon]", {15, 25}},
						   {"[7]app;main;stays;[file]", {30, 30}},
						   {"[7]app;[truncated]", {10, 20}}};
	struct made_ranges made = {
		.stacks = stacks, .count = ARRAY_SIZE(stacks), .windows = {20, 20}, .seed = 1};
	_cleanup_free_ char *picture = picture_of(&made);

	(void)state;
	assert_class(picture, "[anon]", 'g');
	assert_class(picture, "[file]", 'u');
	assert_class(picture, "[truncated]", 'u');
	assert_has(picture, "; not judged)</title>");
}

static void a_stack_that_goes_another_way_than_its_function_is_not_coloured(void **state)
{
	static const struct made_stack stacks[] = {{"[7]app;main;a;work", {10, 30}},
						   {"[7]app;main;b;work", {10, 5}}};
	struct made_ranges made = {
		.stacks = stacks, .count = ARRAY_SIZE(stacks), .windows = {20, 20}, .seed = 1};
	_cleanup_free_ char *picture = picture_of(&made);

	(void)state;
	assert_has(picture, "; its function grew)</title>");
	assert_int_equal(count_of(picture, "<title>work ("), 2);
	assert_int_equal(count_of(picture, "<path class=\"g9\""), 1);
}

/* ---- names ---- */

static void functions_are_found_by_their_frames(void **state)
{
	struct judged_functions *judged;

	(void)state;
	assert_int_equal(judged_new(&judged), 0);
	assert_int_equal(
		judged_add(judged, FRAME_TYPE_NATIVE, "f", (struct judged_function){.self = 1}), 0);
	assert_int_equal(judged_add(judged, FRAME_TYPE_NATIVE, "f (x)",
				    (struct judged_function){.self = -1}),
			 0);
	assert_int_equal(
		judged_add(judged, FRAME_TYPE_PYTHON, "C.m", (struct judged_function){.total = 1}),
		0);
#define FIND(name) judged_find(judged, name, strlen(name))
	assert_int_equal(FIND("f")->self, 1);
	assert_int_equal(FIND("f (x)")->self, -1);
	assert_int_equal(FIND("f (a.c:12)")->self, 1);
	assert_int_equal(FIND("f (x) (a.c:12)")->self, -1);
	assert_int_equal(FIND("C.m (a (copy).py:3)_[p]")->total, 1);
	assert_int_equal(FIND("C.m_[p]")->total, 1);
	assert_null(FIND("C.m"));
	assert_null(FIND("f_[k]"));
	assert_null(FIND(""));
	assert_null(FIND(")"));
	assert_null(FIND(" ()"));
	assert_null(FIND("(a.c:1)"));
	assert_null(FIND("g (a.c:1)"));
	judged_free(judged);
	judged_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_equal_ranges_nothing_is_coloured),
		cmocka_unit_test(nor_is_it_where_one_is_longer),
		cmocka_unit_test(nor_where_one_has_a_gap),
		cmocka_unit_test(a_function_that_is_a_fifth_slower_is_coloured_and_no_other),
		cmocka_unit_test(the_head_tells_both_times_and_rates),
		cmocka_unit_test(
			stacks_that_are_gone_are_told_and_drawn_where_widths_are_those_before),
		cmocka_unit_test(of_two_processes_the_functions_are_compared),
		cmocka_unit_test(few_windows_are_coloured_by_counts_and_say_so),
		cmocka_unit_test(a_marker_goes_by_the_function_that_it_stands_on),
		cmocka_unit_test(a_stack_that_goes_another_way_than_its_function_is_not_coloured),
		cmocka_unit_test(functions_are_found_by_their_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
