// SPDX-License-Identifier: GPL-2.0-or-later
/* GET: profiles of the period so far, of the one before, and of what is held. */
#include "unit/session/session_scene.h"

static int fetch_view(struct scene *scene, enum probe probe, enum view view, struct answer *answer)
{
	const struct session_question question = {
		.probe = probe,
		.view = view,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = answer,
	};

	return session_fetch(scene->session, &question);
}

static int fetch(struct scene *scene, enum probe probe, struct answer *answer)
{
	return fetch_view(scene, probe, VIEW_ALL, answer);
}

/* Returns the sum of the weights in the folded text that GET answers. */
static uint64_t fetch_sum(struct scene *scene, enum probe probe)
{
	_cleanup_answer_ struct answer answer = {0};

	assert_int_equal(fetch(scene, probe, &answer), 0);
	run_until(scene, answer.calls);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(answer.error, 0);
	return answer.text ? folded_sum(answer.text) : 0;
}

static void there_is_no_profile_before_it_ran(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	assert_int_equal(fetch(scene, PROBE_ONCPU, &answer), -ENOENT);
	apply_stop(scene);
	assert_int_equal(fetch(scene, PROBE_ONCPU, &answer), -ENOENT);
	assert_int_equal(answer.calls, 0);
}

static void there_is_no_profile_of_a_probe_that_does_not_run(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, ONCPU);
	assert_int_equal(fetch(scene, PROBE_OFFCPU, &answer), -ENOENT);
}

static void it_reads_what_was_sampled_up_to_now(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 0);
	sample_worker(scene, PROBE_ONCPU, 7);
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 7);
	sample_other(scene, PROBE_ONCPU, 2);
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 9);
	assert_int_equal(stats_of(scene).files_written, 0); /* the period goes on */
}

static void a_period_that_has_just_begun_is_shown_with_the_one_before(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 100);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	sample_worker(scene, PROBE_ONCPU, 20);
	end_period();
	run_until(scene, stats_of(scene).files_written == 2);
	sample_worker(scene, PROBE_ONCPU, 3);
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 23);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 120); /* as before */
}

static void the_last_period_is_there_after_a_stop(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	apply_stop(scene);
	run_until(scene, has_stopped(scene));
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 7);
	_cleanup_answer_ struct answer answer = {0};
	assert_int_equal(fetch_view(scene, PROBE_MEM_GLIBC, VIEW_INUSE, &answer), -ENOENT);
}

static void the_last_period_is_there_after_a_stop_at_its_very_end(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	end_period();
	run_until(scene, scripted->counts_count == 0);
	apply_stop(scene);
	scene_release(scene);
	run_until(scene, has_stopped(scene));
	assert_int_equal(fetch_sum(scene, PROBE_ONCPU), 7);
}

static void one_process_may_be_asked_for(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	const struct session_question question = {
		.probe = PROBE_ONCPU,
		.pid = scene->other.pid,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	assert_int_equal(session_fetch(scene->session, &question), 0);
	run_until(scene, answer.calls);
	assert_int_equal(folded_sum(answer.text), 2);
	assert_null(strstr(answer.text, "worker"));
}

static void every_format_is_rendered(void **state)
{
	struct scene *scene = *state;
	static const struct {
		const char *extension, *begin;
	} formats[] = {{"svg", "<svg "},
		       {"json", "{"},
		       {"pb.gz", "\x1f\x8b"},
		       {"folded", "["},
		       {"jsonl", "{"}};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		_cleanup_answer_ struct answer answer = {0};
		const struct session_question question = {
			.probe = PROBE_ONCPU,
			.output = output_find(formats[i].extension),
			.done = answer_note,
			.arg = &answer,
		};

		assert_non_null(question.output);
		assert_int_equal(session_fetch(scene->session, &question), 0);
		run_until(scene, answer.calls);
		assert_int_equal(answer.error, 0);
		assert_has(answer.text, formats[i].begin);
	}
}

static void a_fetch_while_it_stops_has_all(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	apply_stop(scene);
	assert_int_equal(fetch(scene, PROBE_ONCPU, &answer), 0);
	scene_release(scene);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, 0);
	assert_int_equal(folded_sum(answer.text), 7);
	run_until(scene, has_stopped(scene));
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
}

static void a_fetch_while_a_period_ends_has_all(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_period();
	scene_turn(scene);
	assert_int_equal(fetch(scene, PROBE_ONCPU, &answer), 0);
	run_until(scene, answer.calls);
	assert_int_equal(folded_sum(answer.text), 7);
}

static void several_fetches_are_answered_each(void **state)
{
	struct scene *scene = *state;
	struct answer answers[5] = {0};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	for (int i = 0; i < 5; i++)
		assert_int_equal(fetch(scene, PROBE_ONCPU, &answers[i]), 0);
	for (int i = 0; i < 5; i++) {
		run_until(scene, answers[i].calls);
		assert_int_equal(answers[i].calls, 1);
		assert_int_equal(folded_sum(answers[i].text), 7);
		answer_done(&answers[i]);
	}
}

static void a_fetch_that_the_end_cuts_off_is_cancelled(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer first = {0}, second = {0};

	begin_sampling(scene, ONCPU);
	assert_int_equal(fetch(scene, PROBE_ONCPU, &first), 0);
	assert_int_equal(fetch(scene, PROBE_ONCPU, &second), 0);
	scene_quiet(scene);
	session_cancel_fetches(scene->session);
	assert_int_equal(first.calls, 1);
	assert_int_equal(first.error, -ECANCELED);
	assert_int_equal(second.error, -ECANCELED);
}

static void what_is_held_is_read_while_mem_glibc_runs(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, GLIBC);
	assert_int_equal(fetch_view(scene, PROBE_MEM_GLIBC, VIEW_INUSE, &answer), 0);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, 0);
	assert_int_equal(answer.text ? folded_sum(answer.text) : 0, 0);
}

static void what_is_held_cannot_be_asked_for_when_it_stopped_meanwhile(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, GLIBC);
	scene_hold(scene);
	apply_stop(scene);
	assert_int_equal(fetch_view(scene, PROBE_MEM_GLIBC, VIEW_INUSE, &answer), 0);
	scene_release(scene);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, -ENOENT);
	assert_null(answer.text);
}

static void a_map_that_cannot_be_opened_fails_the_fetch(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, GLIBC);
	scripted_fail(SCRIPTED_HELD_FD, -EMFILE);
	assert_int_equal(fetch_view(scene, PROBE_MEM_GLIBC, VIEW_MMAP, &answer), 0);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, -EMFILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(there_is_no_profile_before_it_ran),
		SCENE_TEST(there_is_no_profile_of_a_probe_that_does_not_run),
		SCENE_TEST(it_reads_what_was_sampled_up_to_now),
		SCENE_TEST(a_period_that_has_just_begun_is_shown_with_the_one_before),
		SCENE_TEST(the_last_period_is_there_after_a_stop),
		SCENE_TEST(the_last_period_is_there_after_a_stop_at_its_very_end),
		SCENE_TEST(one_process_may_be_asked_for),
		SCENE_TEST(every_format_is_rendered),
		SCENE_TEST(a_fetch_while_it_stops_has_all),
		SCENE_TEST(a_fetch_while_a_period_ends_has_all),
		SCENE_TEST(several_fetches_are_answered_each),
		SCENE_TEST(a_fetch_that_the_end_cuts_off_is_cancelled),
		SCENE_TEST(what_is_held_is_read_while_mem_glibc_runs),
		SCENE_TEST(what_is_held_cannot_be_asked_for_when_it_stopped_meanwhile),
		SCENE_TEST(a_map_that_cannot_be_opened_fails_the_fetch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
