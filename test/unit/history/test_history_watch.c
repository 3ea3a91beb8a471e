// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_watch and questions for anomalies, of windows on disk. */
#include "unit/history/process_scene.h"
#include "unit/history/store_scene.h"

#include "base/intern.h"
#include "history/history_state.h"
#include "loop/loop.h"

#define WINDOW	    (30 * SECOND)
#define WINDOWS	    140
#define LATELY	    19 /* the window before them lies on the border: it isn't there */
#define PATIENCE_NS (60 * NS_PER_S)
#define ONCPU	    (1u << PROBE_ONCPU)
#define OFFCPU	    (1u << PROBE_OFFCPU)

enum { SLOWER = 101, STEADY, RESTING, LATER, GONE, CROWD };

struct scene {
	struct store_scene *store;
	struct loop *loop;
	struct worker *bulk;
	struct history *history;
	struct loop_timer look;
	uint64_t until_ns;
	unsigned probes; /* who is sampled was asked for: 1 << enum probe */
	bool is_unknown; /* nobody knows */
	int crowd;
	struct history_ask *answer; /* what answered() is to fill in */
	bool is_answered;
};

/* Who is sampled now: not who is gone, nor a name that [102] had once. */
static struct intern *sampled_now(void *arg, enum probe probe)
{
	static const char *const names[] = {"[101]slower", "[102]steady", "[103]rest:ing",
					    "[104]later"};
	struct scene *scene = arg;
	struct intern *sampled;

	scene->probes |= 1u << probe;
	if (scene->is_unknown)
		return NULL;
	assert_int_equal(intern_new(&sampled, 1 << 20), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(intern_add(sampled, names[i], strlen(names[i])), i);
	for (int i = 0; i < scene->crowd; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "[%d]crowd", CROWD + i);

		assert_true(intern_add(sampled, name, (size_t)len) > 0);
	}
	return sampled;
}

/* ---- windows ---- */

static void add_work(struct tree *tree, pid_t pid, const char *comm, uint64_t weight)
{
	char stack[96];

	snprintf(stack, sizeof(stack), "[%d]%s;main;work", (int)pid, comm);
	if (weight)
		add_stack(tree, stack, weight, 0);
}

static void add_window(struct scene *scene, int number, int64_t until)
{
	bool is_late = number < LATELY;
	_cleanup_tree_ struct tree *tree = new_tree();

	add_work(tree, SLOWER, "slower", is_late ? 1200 : 600);
	add_work(tree, STEADY, "steady", 600 + (uint64_t)number % 5);
	add_work(tree, RESTING, "rest:ing", is_late ? 0 : 900);
	add_work(tree, LATER, "later", is_late ? 300 : 0);
	add_work(tree, GONE, "gone", is_late ? 0 : 900);
	add_work(tree, STEADY, "another", is_late ? 0 : 900); /* it had that name once */
	for (int i = 0; i < scene->crowd; i++)
		add_work(tree, CROWD + i, "crowd", is_late ? 3000 + 100 * (uint64_t)i : 1000);
	_cleanup_window_ struct made_window window = window_of(tree, until - WINDOW, WINDOW);
	assert_int_equal(
		history_store_add(&scene->store->store, SERIES, &window.head, &window.payload), 0);
}

static void looked(void *arg)
{
	struct scene *scene = arg;

	if (scene->is_answered || loop_now_ns() > scene->until_ns ||
	    (!scene->answer && !scene->history->is_watching && !scene->history->watching))
		loop_stop(scene->loop);
	else
		loop_timer_set(scene->loop, &scene->look, loop_now_ns() + NS_PER_MS);
}

/* Until the question is answered, or the look is over. */
static void run(struct scene *scene)
{
	scene->until_ns = loop_now_ns() + PATIENCE_NS;
	loop_timer_set(scene->loop, &scene->look, loop_now_ns());
	assert_int_equal(loop_run(scene->loop), 0);
	loop_timer_cancel(scene->loop, &scene->look);
	assert_true(loop_now_ns() < scene->until_ns);
}

/* A history of so many windows that end now; `crowd`: processes with three times as much lately, or
 * more. */
static void fill(struct scene *scene, int windows, int crowd)
{
	struct history_setup setup = {
		.options = {.limits = {.days = 7, .bytes = 64 << 20}, .window_s = WINDOW / SECOND}};
	int64_t now = loop_real_ns() - 5 * SECOND;

	scene->store = scene_new();
	scene->crowd = crowd;
	for (int i = windows; i-- > 0;) {
		if (i != LATELY)
			add_window(scene, i, now - i * WINDOW);
	}
	history_store_done(&scene->store->store);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->bulk, scene->loop, "bulk", 60 * NS_PER_S), 0);
	setup.loop = scene->loop;
	setup.bulk = scene->bulk;
	setup.state_dir = scene->store->folder.path;
	scene->look = (struct loop_timer){.expired = looked, .arg = scene};
	assert_int_equal(history_new(&scene->history, &setup), 0);
	assert_true(history_is_on(scene->history));
	history_set_sampled(scene->history, sampled_now, scene);
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	*state = scene;
	return 0;
}

static int end(void **state)
{
	struct scene *scene = *state;

	history_cancel(scene->history);
	history_stop(scene->history);
	worker_stop(scene->bulk);
	if (scene->loop)
		loop_flush(scene->loop);
	history_free(scene->history);
	worker_free(scene->bulk);
	loop_free(scene->loop);
	if (scene->store)
		scene_freep(&scene->store);
	free(scene);
	return 0;
}

/* ---- questions ---- */

static const struct history_anomaly *find(const struct history_ask *ask, pid_t pid,
					  const char *comm)
{
	char name[64];

	snprintf(name, sizeof(name), "[%d]%s", (int)pid, comm);
	for (size_t i = 0; i < ask->anomalies.count; i++) {
		if (strcmp(ask->anomalies.anomalies[i].name, name) == 0)
			return &ask->anomalies.anomalies[i];
	}
	return NULL;
}

static void answered(void *arg, struct history_ask *ask)
{
	struct scene *scene = arg;

	*scene->answer = *ask;
	ask->anomalies = (struct history_anomalies){0}; /* taken over */
	scene->is_answered = true;
}

static void submit_lately(struct scene *scene, struct history_ask *answer)
{
	struct history_ask question = {.wish = HISTORY_ANOMALIES,
				       .probe = PROBE_ONCPU,
				       .view = VIEW_ALL,
				       .compares = true,
				       .done = answered,
				       .arg = scene};

	history_lately(scene->history, loop_real_ns(), question.ranges);
	scene->answer = answer;
	scene->is_answered = false;
	assert_int_equal(history_submit(scene->history, &question), 0);
}

static void take_answer(struct scene *scene)
{
	run(scene);
	assert_true(scene->is_answered);
	scene->answer = NULL;
	scene->is_answered = false;
}

static struct history_ask ask_lately(struct scene *scene)
{
	struct history_ask answer = {0};

	submit_lately(scene, &answer);
	take_answer(scene);
	return answer;
}

static void lately_is_ten_minutes_after_an_hour(void **state)
{
	struct scene *scene = *state;
	struct history_range ranges[HISTORY_SIDES];

	fill(scene, 0, 0);
	history_lately(scene->history, 10000 * SECOND, ranges);
	assert_int_equal(ranges[HISTORY_AFTER].until, 10000 * SECOND);
	assert_int_equal(ranges[HISTORY_AFTER].from, 9400 * SECOND);
	assert_int_equal(ranges[HISTORY_BEFORE].until, 9400 * SECOND);
	assert_int_equal(ranges[HISTORY_BEFORE].from, 5800 * SECOND);
}

static void who_is_sampled_is_told_and_who_is_not_is_left_out(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	struct history_ask answer = ask_lately(scene);
	assert_int_equal(answer.error, 0);
	assert_true(answer.tells);
	assert_int_equal(scene->probes, ONCPU);
	assert_int_equal(answer.anomalies.processes, 3);
	assert_int_equal(answer.anomalies.functions, 4);
	assert_int_equal(answer.anomalies.count, 2);
	const struct history_anomaly *resting = find(&answer, RESTING, "rest:ing");
	const struct history_anomaly *slower = find(&answer, SLOWER, "slower");
	assert_true(resting == &answer.anomalies.anomalies[0] && resting->is_silent);
	assert_true(slower == &answer.anomalies.anomalies[1] && slower->changes_count == 2);
	assert_int_equal(answer.anomalies.news_count, 1);
	assert_string_equal(answer.anomalies.news[0].name, "[104]later");
	history_anomalies_done(&answer.anomalies);
}

static void where_nobody_knows_who_is_sampled_all_are_judged(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	for (int i = 0; i < 2; i++) {
		scene->is_unknown = true;
		struct history_ask answer = ask_lately(scene);

		assert_int_equal(answer.anomalies.processes, 5);
		assert_int_equal(answer.anomalies.functions, 4);
		assert_int_equal(answer.anomalies.count, 4);
		assert_true(find(&answer, GONE, "gone")->is_silent);
		assert_true(find(&answer, STEADY, "another")->is_silent);
		assert_int_equal(answer.anomalies.news_count, 1);
		history_anomalies_done(&answer.anomalies);
		history_set_sampled(scene->history, NULL, NULL);
	}
}

/* Of functions of all processes nobody asks who is sampled. */
static void changes_are_those_of_all(void **state)
{
	struct scene *scene = *state;
	struct history_ask answer = {0};
	struct history_ask question = {
		.wish = HISTORY_CHANGES, .compares = true, .done = answered, .arg = scene};

	fill(scene, WINDOWS, 0);
	question.probe = PROBE_ONCPU;
	history_lately(scene->history, loop_real_ns(), question.ranges);
	scene->answer = &answer;
	assert_int_equal(history_submit(scene->history, &question), 0);
	take_answer(scene);
	assert_true(answer.error == 0 && answer.tells);
	assert_int_equal(answer.functions, 2);
	assert_int_equal(answer.changes_count, 2);
	assert_int_equal(scene->probes, 0);
}

static void few_windows_tell_no_anomaly(void **state)
{
	struct scene *scene = *state;

	fill(scene, LATELY + 5, 0); /* four before the border */
	struct history_ask answer = ask_lately(scene);
	assert_int_equal(answer.error, 0);
	assert_false(answer.tells);
	assert_int_equal(answer.anomalies.count, 0);
	history_watch(scene->history, ONCPU);
	run(scene);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
}

/* ---- looks ---- */

static void assert_row(const struct watched_row *row, pid_t pid, const char *comm, double before,
		       double after)
{
	char name[64];

	snprintf(name, sizeof(name), "[%d]%s", (int)pid, comm);
	assert_string_equal(row->name, name);
	assert_null(row->container);
	assert_true(fabs(row->rate.before - before) < 1e-6);
	assert_true(fabs(row->rate.after - after) < 1e-6);
}

static void a_look_sees_what_a_question_would(void **state)
{
	struct scene *scene = *state;
	int64_t now = loop_real_ns();

	fill(scene, WINDOWS, 0);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
	history_watch(scene->history, ONCPU | OFFCPU);
	assert_true(scene->history->is_watching);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
	run(scene);
	const struct history_watched *watched = history_watched(scene->history, PROBE_ONCPU);
	assert_true(watched->at >= now && watched->at <= loop_real_ns());
	assert_int_equal(watched->processes, 3);
	assert_int_equal(watched->anomalies, 2);
	assert_int_equal(watched->rows_count, 2);
	assert_row(&watched->rows[0], RESTING, "rest:ing", 30, 0);
	assert_row(&watched->rows[1], SLOWER, "slower", 20, 40);
	assert_int_equal(scene->probes, ONCPU | OFFCPU);
	assert_int_equal(history_watch_failures(scene->history), 0);
	/* Of the other one there is nothing. */
	assert_int_equal(history_watched(scene->history, PROBE_OFFCPU)->at, 0);
}

static void the_twenty_largest_rows_are_kept(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 40);
	history_watch(scene->history, ONCPU);
	run(scene);
	const struct history_watched *watched = history_watched(scene->history, PROBE_ONCPU);
	assert_int_equal(watched->anomalies, 42);
	assert_int_equal(watched->rows_count, WATCHED_ROWS);
	for (int i = 0; i < WATCHED_ROWS; i++)
		assert_row(&watched->rows[i], CROWD + 39 - i, "crowd", 1000 / 30.,
			   (3000 + 100 * (39 - i)) / 30.);
}

static void the_next_look_comes_ten_windows_later(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	struct history *history = scene->history;
	history_watch(history, 0);
	assert_true(!history->is_watching && !history->watched_ns); /* nothing runs */
	history_watch(history, ONCPU);
	uint64_t begun = history->watched_ns;
	history_watch(history, ONCPU | OFFCPU); /* one is under way */
	run(scene);
	int64_t at = history_watched(history, PROBE_ONCPU)->at;
	history_watch(history, ONCPU);
	assert_false(history->is_watching);
	assert_int_equal(history->watched_ns, begun);
	history->watched_ns -= (uint64_t)(10 * WINDOW - SECOND); /* a moment too early */
	history_watch(history, ONCPU);
	assert_false(history->is_watching);
	history->watched_ns -= (uint64_t)SECOND;
	history_watch(history, ONCPU);
	assert_true(history->is_watching);
	assert_int_equal(history_watched(history, PROBE_ONCPU)->at, at); /* until the new one */
	run(scene);
	assert_true(history_watched(history, PROBE_ONCPU)->at > at);
	assert_int_equal(history_watched(history, PROBE_ONCPU)->rows_count, 2);
}

static void peoples_questions_come_first(void **state)
{
	struct scene *scene = *state;
	struct history_ask answer = {0};

	fill(scene, WINDOWS, 0);
	submit_lately(scene, &answer);
	history_watch(scene->history, ONCPU);
	assert_true(!scene->history->is_watching && !scene->history->watched_ns);
	take_answer(scene);
	history_anomalies_done(&answer.anomalies);
	history_watch(scene->history, ONCPU); /* it isn't delayed */
	assert_true(scene->history->is_watching && scene->history->watched_ns);
	run(scene);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->rows_count, 2);
}

/* Ends the question under way, as if reading it had ended so. */
static void end_question(struct scene *scene, int error)
{
	struct history_ask *ask = scene->history->asked;
	struct history_ask told = {.probe = ask->probe, .error = error};

	scene->history->asked = ask->next;
	ask->done(ask->arg, &told);
}

/* A look is refused until it has rested for so many windows. */
static void look_after(struct scene *scene, uint32_t probes, int windows)
{
	struct history *history = scene->history;

	history->watched_ns = loop_now_ns() - (uint64_t)(windows * WINDOW - SECOND);
	history_watch(history, probes);
	assert_false(history->is_watching);
	history->watched_ns -= (uint64_t)SECOND;
	history_watch(history, probes);
	assert_true(history->is_watching);
}

static void looks_that_come_to_nothing_rest_longer_and_longer(void **state)
{
	static const int rests[] = {20, 40, 80, 160, 320, 640, 640, 640};
	struct scene *scene = *state;
	uint64_t failures = 0;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU);
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		end_question(scene, i % 2 ? -EIO : -ENOMEM);
		assert_int_equal(history_watch_failures(scene->history), ++failures);
		assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
		look_after(scene, ONCPU, rests[i]);
	}
	run(scene); /* it succeeds */
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->rows_count, 2);
	look_after(scene, ONCPU, 10);
	assert_int_equal(history_watch_failures(scene->history), failures);
}

static void what_is_not_there_or_was_cancelled_is_no_failure(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU);
	end_question(scene, -ENOENT);
	look_after(scene, ONCPU, 10);
	end_question(scene, -ECANCELED);
	look_after(scene, ONCPU, 10);
	assert_int_equal(history_watch_failures(scene->history), 0);
}

/* Whichever of the probes it is, and what became of the others. */
static void one_probe_that_fails_makes_all_rest(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU | OFFCPU);
	end_question(scene, -EIO);
	assert_true(scene->history->is_watching); /* the other one's turn */
	end_question(scene, -ENOENT);
	look_after(scene, ONCPU | OFFCPU, 20);
	end_question(scene, -ENOENT);
	end_question(scene, -EIO);
	look_after(scene, ONCPU | OFFCPU, 40);
	end_question(scene, -EIO);
	end_question(scene, -EIO);
	look_after(scene, ONCPU | OFFCPU, 80); /* one look, however many fail */
	assert_int_equal(history_watch_failures(scene->history), 4);
}

static void what_was_seen_of_others_is_forgotten(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU);
	run(scene);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->rows_count, 2);
	history_watch(scene->history, OFFCPU);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->rows_count, 0);
}

static void a_look_ends_when_the_daemon_does(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU | OFFCPU);
	assert_true(scene->history->is_watching);
	history_cancel(scene->history);
	assert_true(!scene->history->is_watching && !scene->history->watching);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
	scene->history->watched_ns = 0;
	history_watch(scene->history, ONCPU | OFFCPU); /* it is refused */
	assert_true(!scene->history->is_watching && !scene->history->watching);
}

static void without_a_history_nothing_is_looked_at(void **state)
{
	struct scene *scene = *state;
	struct history_setup setup = {.options = {.window_s = 30}};

	assert_int_equal(loop_new(&scene->loop), 0);
	setup.loop = scene->loop;
	assert_int_equal(history_new(&scene->history, &setup), 0);
	assert_false(history_is_on(scene->history));
	history_watch(scene->history, ONCPU | OFFCPU);
	assert_true(!scene->history->is_watching && !scene->history->watching);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->at, 0);
}

#define SCENE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE(lately_is_ten_minutes_after_an_hour),
		SCENE(who_is_sampled_is_told_and_who_is_not_is_left_out),
		SCENE(where_nobody_knows_who_is_sampled_all_are_judged),
		SCENE(changes_are_those_of_all),
		SCENE(few_windows_tell_no_anomaly),
		SCENE(a_look_sees_what_a_question_would),
		SCENE(the_twenty_largest_rows_are_kept),
		SCENE(the_next_look_comes_ten_windows_later),
		SCENE(peoples_questions_come_first),
		SCENE(looks_that_come_to_nothing_rest_longer_and_longer),
		SCENE(what_is_not_there_or_was_cancelled_is_no_failure),
		SCENE(one_probe_that_fails_makes_all_rest),
		SCENE(what_was_seen_of_others_is_forgotten),
		SCENE(a_look_ends_when_the_daemon_does),
		SCENE(without_a_history_nothing_is_looked_at),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
