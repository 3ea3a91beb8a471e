// SPDX-License-Identifier: GPL-2.0-or-later
/* history/history_watch and questions for anomalies: of windows on disk, and of processes of the
 * test's own, some of which live. */
#include "unit/history/process_scene.h"
#include "unit/history/store_scene.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "history/history_state.h"
#include "loop/loop.h"

#define WINDOW	    (30 * SECOND)
#define WINDOWS	    140
#define LATELY	    19 /* the window before them lies on the border: it isn't there */
#define PATIENCE_NS (60 * NS_PER_S)
#define ONCPU	    (1u << PROBE_ONCPU)
#define OFFCPU	    (1u << PROBE_OFFCPU)

struct scene {
	struct store_scene *store;
	struct loop *loop;
	struct worker *bulk;
	struct history *history;
	struct loop_timer look;
	uint64_t until_ns;
	pid_t slower, steady, resting, later, gone;
	struct history_ask *answer; /* what answered() is to fill in */
	bool is_answered;
};

/* Starts a process that sleeps. */
static pid_t begin_process(const char *comm)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, comm);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- windows ---- */

static void add_work(struct tree *tree, pid_t pid, const char *comm, uint64_t weight)
{
	char stack[96];

	snprintf(stack, sizeof(stack), "[%d]%s;main;work", (int)pid, comm);
	if (weight)
		add_stack(tree, stack, weight, 0);
}

static void add_window(struct scene *scene, int number, int64_t until, int crowd)
{
	bool is_late = number < LATELY;
	_cleanup_tree_ struct tree *tree = new_tree();

	add_work(tree, scene->slower, "slower", is_late ? 1200 : 600);
	add_work(tree, scene->steady, "steady", 600 + (uint64_t)number % 5);
	add_work(tree, scene->resting, "rest:ing", is_late ? 0 : 900);
	add_work(tree, scene->later, "later", is_late ? 300 : 0);
	add_work(tree, scene->gone, "gone", is_late ? 0 : 900);
	add_work(tree, scene->steady, "another", is_late ? 0 : 900); /* it had that name once */
	for (int i = 0; i < crowd; i++)
		add_work(tree, 5000000 + i, "crowd", is_late ? 1000 + 100 * (uint64_t)i : 0);
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

/* A history of so many windows that end now; `crowd`: processes that began lately. */
static void fill(struct scene *scene, int windows, int crowd)
{
	struct history_setup setup = {
		.options = {.limits = {.days = 7, .bytes = 64 << 20}, .window_s = WINDOW / SECOND}};
	int64_t now = loop_real_ns() - 5 * SECOND;

	scene->store = scene_new();
	for (int i = windows; i-- > 0;) {
		if (i != LATELY)
			add_window(scene, i, now - i * WINDOW, crowd);
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
}

static int begin(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->slower = begin_process("slower");
	scene->steady = begin_process("steady");
	scene->resting = begin_process("rest;ing"); /* records have it as pictures show it */
	scene->later = begin_process("later");
	scene->gone = begin_process("gone");
	end_process(scene->gone);
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
	end_process(scene->slower);
	end_process(scene->steady);
	end_process(scene->resting);
	end_process(scene->later);
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

static struct history_ask ask_lately(struct scene *scene)
{
	struct history_ask question = {.wish = HISTORY_ANOMALIES,
				       .probe = PROBE_ONCPU,
				       .view = VIEW_ALL,
				       .compares = true,
				       .done = answered,
				       .arg = scene};
	struct history_ask answer = {0};

	history_lately(scene->history, loop_real_ns(), question.ranges);
	scene->answer = &answer;
	scene->is_answered = false;
	assert_int_equal(history_submit(scene->history, &question), 0);
	run(scene);
	assert_true(scene->is_answered);
	scene->answer = NULL;
	scene->is_answered = false;
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

static void who_lives_is_told_with_its_limits_and_who_has_ended_is_not(void **state)
{
	struct scene *scene = *state;
	struct cgroup_limits limits = {0};

	fill(scene, WINDOWS, 0);
	struct history_ask answer = ask_lately(scene);
	assert_int_equal(answer.error, 0);
	assert_true(answer.tells);
	assert_int_equal(answer.anomalies.processes, 2);
	assert_int_equal(answer.anomalies.functions, 4);
	assert_int_equal(answer.anomalies.began, 1);
	assert_int_equal(answer.anomalies.ended, 3);
	assert_int_equal(answer.anomalies.count, 3);
	const struct history_anomaly *resting = find(&answer, scene->resting, "rest:ing");
	const struct history_anomaly *slower = find(&answer, scene->slower, "slower");
	const struct history_anomaly *later = find(&answer, scene->later, "later");
	assert_true(resting == &answer.anomalies.anomalies[0] && resting->is_silent);
	assert_true(slower == &answer.anomalies.anomalies[1] && slower->changes_count == 2);
	assert_true(later == &answer.anomalies.anomalies[2] && later->is_new);
	assert_true(resting->is_alive && slower->is_alive && later->is_alive);
	if (cgroup_limits_read(scene->slower, &limits) == 0) {
		assert_string_equal(slower->limits.path, limits.path);
		assert_true(slower->limits.shares == limits.shares &&
			    slower->limits.weight == limits.weight &&
			    slower->limits.cpus == limits.cpus);
	}
	free(limits.path);
	history_anomalies_done(&answer.anomalies);
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
	assert_int_equal(watched->processes, 2);
	assert_int_equal(watched->anomalies, 3);
	assert_int_equal(watched->rows_count, 3);
	assert_row(&watched->rows[0], scene->resting, "rest:ing", 30, 0);
	assert_row(&watched->rows[1], scene->slower, "slower", 20, 40);
	assert_row(&watched->rows[2], scene->later, "later", 0, 10);
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
	assert_int_equal(watched->anomalies, 43);
	assert_int_equal(watched->rows_count, WATCHED_ROWS);
	for (int i = 0; i < WATCHED_ROWS; i++)
		assert_row(&watched->rows[i], 5000039 - i, "crowd", 0,
			   (1000 + 100 * (39 - i)) / 30.);
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
	assert_int_equal(history_watched(history, PROBE_ONCPU)->rows_count, 3);
}

static void what_was_seen_of_others_is_forgotten(void **state)
{
	struct scene *scene = *state;

	fill(scene, WINDOWS, 0);
	history_watch(scene->history, ONCPU);
	run(scene);
	assert_int_equal(history_watched(scene->history, PROBE_ONCPU)->rows_count, 3);
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
		SCENE(who_lives_is_told_with_its_limits_and_who_has_ended_is_not),
		SCENE(few_windows_tell_no_anomaly),
		SCENE(a_look_sees_what_a_question_would),
		SCENE(the_twenty_largest_rows_are_kept),
		SCENE(the_next_look_comes_ten_windows_later),
		SCENE(what_was_seen_of_others_is_forgotten),
		SCENE(a_look_ends_when_the_daemon_does),
		SCENE(without_a_history_nothing_is_looked_at),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
