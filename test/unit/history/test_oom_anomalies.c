// SPDX-License-Identifier: GPL-2.0-or-later
/* Where processes that are unlike their past find no memory (failing_alloc.h). */
#include "unit/lib/failing_alloc.h"
#include "unit/history/process_scene.h"

#include "api/history/anomaly_limits.h"
#include "loop/loop.h"

#define WINDOWS 6

static struct made_window windows[HISTORY_SIDES];

/* A table is filled, which knows nothing before. */
static int fill(struct functions **functions, struct history_span spans[HISTORY_SIDES])
{
	int r = functions_new(functions);

	for (int i = 0; r == 0 && i < HISTORY_SIDES; i++) {
		struct blend blend = {.functions = *functions, .side = i, .by_process = true};

		for (int k = 0; r == 0 && k < WINDOWS; k++)
			r = blend_window(&blend, &windows[i]);
		spans[i] = (struct history_span){
			.length = blend.length, .squares = blend.squares, .noise = 1};
	}
	return r;
}

static int use_blends(void)
{
	struct functions *functions = NULL;
	struct history_span spans[HISTORY_SIDES];
	int r = fill(&functions, spans);

	no_more_failures();
	if (r == 0)
		assert_int_equal(functions_count(functions), 10);
	functions_free(functions);
	return r;
}

static int use_anomalies(void)
{
	unsigned left = failing.left;
	struct functions *functions = NULL;
	struct history_span spans[HISTORY_SIDES];
	struct history_anomalies found;

	no_more_failures(); /* the table is there */
	assert_int_equal(fill(&functions, spans), 0);
	failing.left = left;
	int r = history_anomalies_make(functions, spans, &found);
	no_more_failures();
	if (r == 0) {
		assert_int_equal(found.count, 1);
		assert_string_equal(found.anomalies[0].name, "[7]a");
		assert_string_equal(found.anomalies[0].container, "[Con]x");
		assert_int_equal(found.anomalies[0].changes_count, 3);
		assert_int_equal(found.news_count, 1);
		assert_string_equal(found.news[0].name, "[9]c");
		assert_string_equal(found.news[0].container, "[Con]x");
	}
	history_anomalies_done(&found);
	assert_true(!found.anomalies && !found.count && !found.news && !found.news_count);
	functions_free(functions);
	return r;
}

static void limits_read(void *arg, const struct cgroup_limits *limits)
{
	(void)arg, (void)limits;
	fail_msg("the worker has stopped");
}

static int use_limits(void)
{
	unsigned left = failing.left;
	struct history_anomaly list[] = {{.name = (char *)"[7]a"}, {.name = (char *)"[8]b"}};
	const struct history_anomalies anomalies = {.anomalies = list, .count = 2};
	struct loop *loop;
	struct worker *worker;

	no_more_failures();
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(worker_new(&worker, loop, "bulk", NS_PER_S), 0);
	worker_stop(worker); /* it frees the job */
	failing.left = left;
	int r = anomaly_limits_read(worker, &anomalies, 2, limits_read, NULL);
	no_more_failures();
	loop_flush(loop);
	worker_free(worker);
	loop_free(loop);
	return r;
}

SCENARIO(a_table_of_processes_is_filled_or_not, use_blends, false)
SCENARIO(anomalies_are_listed_or_not, use_anomalies, false)
SCENARIO(limits_are_read_or_not, use_limits, false)

static int make_windows(void **state)
{
	(void)state;
	for (int i = 0; i < HISTORY_SIDES; i++) {
		_cleanup_tree_ struct tree *tree = new_tree();

		add_stack(tree, "[Con]x;[7]a;main;f", i ? 9000 : 1000, 0);
		add_stack(tree, "[Con]x;[7]a;main;g", i ? 500 : 1000, 0);
		add_stack(tree, "[8]b;main;f", 700, 0);
		add_stack(tree, "[Con]x;[9]c;main", i ? 600 : 0, 0);
		windows[i] = window_of(tree, BEGIN, 30 * SECOND);
	}
	return 0;
}

static int drop_windows(void **state)
{
	(void)state;
	for (int i = 0; i < HISTORY_SIDES; i++)
		window_done(&windows[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_of_processes_is_filled_or_not),
		cmocka_unit_test(anomalies_are_listed_or_not),
		cmocka_unit_test(limits_are_read_or_not),
	};
	return cmocka_run_group_tests(tests, make_windows, drop_windows);
}
