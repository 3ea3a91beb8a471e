// SPDX-License-Identifier: GPL-2.0-or-later
/* Sessions on demand: what they answer, how many there are, and who leaves early. */
#include "unit/session/session_scene.h"

#include <signal.h>

#define NO_SUCH_PID 4194304 /* above the largest that there may be */

static struct ondemand_request request_of(struct scene *scene, struct answer *answer)
{
	(void)scene;
	return (struct ondemand_request){
		.probe = PROBE_ONCPU,
		.seconds = ONDEMAND_S,
		.detail = {.places = true},
		.output = output_find("folded"),
		.done = answer_note,
		.arg = answer,
	};
}

static int start_with(struct scene *scene, const struct ondemand_request *request,
		      struct ondemand **ret, struct why *why)
{
	why->text[0] = '\0';
	return ondemand_start(scene->ondemands, request, ret, why);
}

/* Starts a session of a process, which has to work. */
static struct ondemand *start_of(struct scene *scene, const struct process *process,
				 struct answer *answer)
{
	struct ondemand_request request = request_of(scene, answer);
	struct ondemand *ondemand = NULL;
	struct why why = {0};

	request.pid = process->pid;
	if (start_with(scene, &request, &ondemand, &why) < 0)
		fail_msg("refused: %s", why.text);
	return ondemand;
}

/* Waits until the time of so many sessions counts. */
static void wait_until_armed(struct scene *scene, unsigned count)
{
	run_until(scene, long_timers_count(ONDEMAND_S) == count);
}

static void end_time(void)
{
	long_timers_expire(ONDEMAND_S);
}

static uint64_t sum_of(struct scene *scene, const struct answer *answer)
{
	run_until(scene, answer->calls);
	assert_int_equal(answer->calls, 1);
	assert_int_equal(answer->error, 0);
	return answer->text ? folded_sum(answer->text) : 0;
}

static void a_session_answers_with_what_its_process_did(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	start_of(scene, &scene->worker, &answer);
	assert_int_equal(ondemands_count(scene->ondemands), 1);
	wait_until_armed(scene, 1);
	run_until(scene, is_sampled(&scene->worker, ONCPU));
	assert_int_equal(scripted_probes(scene->other.pid), 0);
	sample_worker(scene, PROBE_ONCPU, 7);
	end_time();
	assert_int_equal(sum_of(scene, &answer), 7);
	assert_has(answer.text, "]worker;");
	assert_int_equal(ondemands_count(scene->ondemands), 0);
	assert_false(scripted->started); /* nobody else wants anything */
}

static void several_processes_are_in_one_session(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = request_of(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};

	request.pid = NO_SUCH_PID; /* who has ended is left out */
	request.others_count = 1;
	request.others[0] = NO_SUCH_PID;
	assert_int_equal(start_with(scene, &request, &ondemand, &why), -ESRCH);
	request.others_count = 2;
	request.others[0] = scene->worker.pid;
	request.others[1] = scene->other.pid;
	assert_int_equal(start_with(scene, &request, &ondemand, &why), 0);
	wait_until_armed(scene, 1);
	run_until(scene, is_sampled(&scene->worker, ONCPU) && is_sampled(&scene->other, ONCPU));
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_time();
	assert_int_equal(sum_of(scene, &answer), 9);
}

static void its_time_begins_when_its_process_is_sampled(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	struct ondemand *ondemand = start_of(scene, &scene->worker, &answer);

	assert_int_equal(long_timers_count(ONDEMAND_S), 0);
	wait_until_armed(scene, 1);
	assert_true(is_sampled(&scene->worker, ONCPU));
	ondemand_cancel(ondemand);
}

static void without_a_pid_it_has_the_processes_of_the_configured_feature(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = request_of(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};

	begin_sampling(scene, ONCPU);
	run_until(scene, is_state(scene, PROBE_ONCPU, "running"));
	assert_int_equal(start_with(scene, &request, &ondemand, &why), 0);
	assert_int_equal(long_timers_count(ONDEMAND_S), 1); /* all are sampled already */
	scene_drain(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_time();
	assert_int_equal(sum_of(scene, &answer), 9);
}

static void the_configured_session_goes_on_untouched(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 100); /* before the session on demand */
	start_of(scene, &scene->worker, &answer);
	wait_until_armed(scene, 1);
	scene_drain(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_time();
	assert_int_equal(sum_of(scene, &answer), 7);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 109);
}

static void two_at_once_have_each_their_own_process(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer first = {0}, second = {0};

	start_of(scene, &scene->worker, &first);
	start_of(scene, &scene->other, &second);
	assert_int_equal(ondemands_count(scene->ondemands), 2);
	wait_until_armed(scene, 2);
	scene_drain(scene); /* the second one's window begins */
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_time();
	assert_int_equal(sum_of(scene, &first), 7);
	assert_int_equal(sum_of(scene, &second), 2);
}

static void one_more_than_the_limit_is_refused(void **state)
{
	struct scene *scene = *state;
	struct answer answers[ONDEMAND_MAX + 1] = {0};
	struct ondemand *ondemands[ONDEMAND_MAX], *more;
	struct why why = {0};

	for (int i = 0; i < ONDEMAND_MAX; i++)
		ondemands[i] = start_of(scene, &scene->worker, &answers[i]);
	struct ondemand_request request = request_of(scene, &answers[ONDEMAND_MAX]);
	request.pid = scene->worker.pid;
	assert_int_equal(start_with(scene, &request, &more, &why), -EBUSY);
	assert_string_equal(why.text, "8 sessions on demand run already");
	ondemand_cancel(ondemands[3]);
	assert_int_equal(ondemands_count(scene->ondemands), ONDEMAND_MAX - 1);
	assert_int_equal(start_with(scene, &request, &more, &why), 0);
	for (int i = 0; i < ONDEMAND_MAX; i++) {
		if (i != 3)
			ondemand_cancel(ondemands[i]);
		assert_int_equal(answers[i].calls, 1);
		assert_int_equal(answers[i].error, -ECANCELED);
	}
	ondemand_cancel(more);
	assert_int_equal(ondemands_count(scene->ondemands), 0);
}

static void there_is_no_session_of_a_process_that_is_not_there(void **state)
{
	struct scene *scene = *state;
	struct answer answer = {0};
	struct ondemand_request request = request_of(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};
	char expected[64];

	request.pid = scene->other.pid;
	process_end(&scene->other);
	snprintf(expected, sizeof(expected), "no process has the pid %d", request.pid);
	assert_int_equal(start_with(scene, &request, &ondemand, &why), -ESRCH);
	assert_string_equal(why.text, expected);
	assert_int_equal(ondemands_count(scene->ondemands), 0);
	assert_int_equal(answer.calls, 0);
}

static void a_client_that_leaves_ends_it_at_once(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand *ondemand = start_of(scene, &scene->worker, &answer);

	wait_until_armed(scene, 1);
	ondemand_cancel(ondemand);
	assert_int_equal(answer.error, -ECANCELED);
	assert_null(answer.text);
	assert_int_equal(long_timers_count(ONDEMAND_S), 0);
	assert_false(scripted->started);
}

static void a_client_may_leave_before_its_time_begins(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand *ondemand = start_of(scene, &scene->worker, &answer);

	ondemand_cancel(ondemand);
	assert_int_equal(answer.error, -ECANCELED);
	assert_int_equal(ondemands_count(scene->ondemands), 0);
	for (int i = 0; i < 20; i++)
		scene_turn(scene);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(long_timers_count(ONDEMAND_S), 0);
}

/* The worker has a sample of weight 7; the time is over, and the window that has it isn't read to
 * its end. */
static void end_time_and_hold_its_window(struct scene *scene)
{
	sample_worker(scene, PROBE_ONCPU, 7);
	scene_hold(scene);
	end_time();
	run_until(scene, long_timers_count(ONDEMAND_S) == 0 && scripted->counts_count == 0);
}

static void a_client_that_leaves_at_the_end_gets_its_answer_anyway(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand *ondemand = start_of(scene, &scene->worker, &answer);

	wait_until_armed(scene, 1);
	end_time_and_hold_its_window(scene);
	ondemand_cancel(ondemand);
	assert_int_equal(answer.calls, 0);
	assert_int_equal(ondemands_count(scene->ondemands), 1);
	scene_release(scene);
	assert_int_equal(sum_of(scene, &answer), 7);
}

static void note_interval(void *arg, int error, const struct profile_meta *meta,
			  struct buf *content)
{
	(void)meta;
	answer_note(arg, error, content);
}

static void a_client_of_intervals_may_leave_while_one_is_read(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = request_of(scene, &answer);
	struct ondemand *ondemand;
	struct why why;

	request.done = NULL;
	request.interval = note_interval;
	request.pid = scene->worker.pid;
	assert_int_equal(start_with(scene, &request, &ondemand, &why), 0);
	wait_until_armed(scene, 1);
	end_time_and_hold_its_window(scene);
	ondemand_cancel(ondemand);
	assert_int_equal(answer.calls, 1);
	assert_int_equal(answer.error, -ECANCELED);
	assert_int_equal(long_timers_count(ONDEMAND_S), 0);
	scene_release(scene);
	run_until(scene, ondemands_count(scene->ondemands) == 0);
	assert_int_equal(answer.calls, 1);
}

static void a_process_that_ends_has_in_the_answer_what_it_did(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	start_of(scene, &scene->worker, &answer);
	wait_until_armed(scene, 1);
	sample_worker(scene, PROBE_ONCPU, 7);
	const struct life_event exit = {
		.kind = LIFE_EXIT, .tgid = (uint32_t)scene->worker.pid, .time_ns = loop_now_ns()};
	process_end(&scene->worker);
	scripted_life(&exit);
	scene_drain(scene);
	assert_int_equal(answer.calls, 0); /* its time isn't over */
	end_time();
	assert_int_equal(sum_of(scene, &answer), 7);
}

static void a_probe_that_cannot_run_is_refused_with_its_reason(void **state)
{
	struct scene *scene = *state;
	struct answer answer = {0};
	struct ondemand_request request = request_of(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};

	request.pid = scene->worker.pid;
	scripted_fail(SCRIPTED_SAMPLE, -EPERM);
	assert_int_equal(start_with(scene, &request, &ondemand, &why), -EPERM);
	assert_string_equal(why.text, "scripted error -1");
	assert_int_equal(ondemands_count(scene->ondemands), 0);
	assert_int_equal(answer.calls, 0);
	assert_false(scripted->started);
}

static void a_window_that_cannot_be_read_is_missing_in_the_answer(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	log_set_level(LOG_ERROR + 1);
	start_of(scene, &scene->worker, &answer);
	wait_until_armed(scene, 1);
	sample_worker(scene, PROBE_ONCPU, 7);
	scripted_fail(SCRIPTED_SWAP, -EIO);
	end_time();
	assert_int_equal(sum_of(scene, &answer), 0);
}

static struct ondemand_request held_request(struct scene *scene, struct answer *answer)
{
	struct ondemand_request request = request_of(scene, answer);

	request.probe = PROBE_MEM_GLIBC;
	request.view = VIEW_INUSE;
	request.pid = scene->worker.pid;
	return request;
}

static void what_is_held_is_read_at_the_end(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = held_request(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};

	assert_int_equal(start_with(scene, &request, &ondemand, &why), 0);
	wait_until_armed(scene, 1);
	assert_true(scripted->calls);
	sample_worker(scene, PROBE_MEM_GLIBC, 4096); /* freed again: nothing is held */
	end_time();
	assert_int_equal(sum_of(scene, &answer), 0);
}

static void a_map_that_cannot_be_opened_is_told(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = held_request(scene, &answer);
	struct ondemand *ondemand;
	struct why why = {0};

	assert_int_equal(start_with(scene, &request, &ondemand, &why), 0);
	wait_until_armed(scene, 1);
	scripted_fail(SCRIPTED_HELD_FD, -EMFILE);
	end_time();
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, -EMFILE);
	assert_int_equal(ondemands_count(scene->ondemands), 0);
}

static void the_daemons_end_cancels_those_that_run(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer first = {0}, second = {0};

	start_of(scene, &scene->worker, &first);
	wait_until_armed(scene, 1);
	start_of(scene, &scene->other, &second);
	scene_quiet(scene);
	ondemands_free(scene->ondemands);
	scene->ondemands = NULL;
	assert_int_equal(first.error, -ECANCELED);
	assert_int_equal(second.error, -ECANCELED);
	assert_int_equal(first.calls + second.calls, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_session_answers_with_what_its_process_did),
		SCENE_TEST(several_processes_are_in_one_session),
		SCENE_TEST(its_time_begins_when_its_process_is_sampled),
		SCENE_TEST(without_a_pid_it_has_the_processes_of_the_configured_feature),
		SCENE_TEST(the_configured_session_goes_on_untouched),
		SCENE_TEST(two_at_once_have_each_their_own_process),
		SCENE_TEST(one_more_than_the_limit_is_refused),
		SCENE_TEST(there_is_no_session_of_a_process_that_is_not_there),
		SCENE_TEST(a_client_that_leaves_ends_it_at_once),
		SCENE_TEST(a_client_may_leave_before_its_time_begins),
		SCENE_TEST(a_client_that_leaves_at_the_end_gets_its_answer_anyway),
		SCENE_TEST(a_client_of_intervals_may_leave_while_one_is_read),
		SCENE_TEST(a_process_that_ends_has_in_the_answer_what_it_did),
		SCENE_TEST(a_probe_that_cannot_run_is_refused_with_its_reason),
		SCENE_TEST(a_window_that_cannot_be_read_is_missing_in_the_answer),
		SCENE_TEST(what_is_held_is_read_at_the_end),
		SCENE_TEST(a_map_that_cannot_be_opened_is_told),
		SCENE_TEST(the_daemons_end_cancels_those_that_run),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
