// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the session does when there is no memory at one of its steps: what is lost is counted and
 * told, the rest goes on.
 *
 * The linker turns our objects' calls into those below (UNITFLAGS).
 */
#include "unit/session/session_scene.h"
#include "unit/session/uploaded.h"

#include "profile/render.h"

#define SERVER "http://127.0.0.1:1"

int __real_files_write(const struct files_setup *setup, struct profile *profile,
		       const struct params *params, bool before,
		       void (*done)(void *arg, const struct files_result *result), void *arg);
int __wrap_files_write(const struct files_setup *setup, struct profile *profile,
		       const struct params *params, bool before,
		       void (*done)(void *arg, const struct files_result *result), void *arg);
int __real_render_submit(struct worker *bulk, const struct render *question);
int __wrap_render_submit(struct worker *bulk, const struct render *question);
struct profile *__real_subscriber_take_profile(struct subscriber *subscriber, enum probe probe);
struct profile *__wrap_subscriber_take_profile(struct subscriber *subscriber, enum probe probe);
int __real_profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns);
int __wrap_profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns);
int __real_profile_merge(struct profile *profile, const struct profile *more);
int __wrap_profile_merge(struct profile *profile, const struct profile *more);

/* Which calls fail from now on. */
static bool fails_files, fails_render, fails_take;
static atomic_bool fails_merge;
static unsigned fails_new; /* the one call of the loop's thread that fails; 0: none */
static pthread_t loop_thread;

int __wrap_files_write(const struct files_setup *setup, struct profile *profile,
		       const struct params *params, bool before,
		       void (*done)(void *arg, const struct files_result *result), void *arg)
{
	return fails_files ? -ENOMEM
			   : __real_files_write(setup, profile, params, before, done, arg);
}

int __wrap_render_submit(struct worker *bulk, const struct render *question)
{
	return fails_render ? -ENOMEM : __real_render_submit(bulk, question);
}

struct profile *__wrap_subscriber_take_profile(struct subscriber *subscriber, enum probe probe)
{
	return fails_take ? NULL : __real_subscriber_take_profile(subscriber, probe);
}

int __wrap_profile_new(struct profile **ret, enum probe probe, int64_t from, uint64_t period_ns)
{
	bool fails = pthread_equal(pthread_self(), loop_thread) && fails_new && !--fails_new;

	return fails ? -ENOMEM : __real_profile_new(ret, probe, from, period_ns);
}

int __wrap_profile_merge(struct profile *profile, const struct profile *more)
{
	return fails_merge ? -ENOMEM : __real_profile_merge(profile, more);
}

static void work_again(void)
{
	fails_files = fails_render = fails_take = fails_merge = false;
	fails_new = 0;
}

static int begin(void **state)
{
	work_again();
	loop_thread = pthread_self();
	int r = scene_begin(state);
	log_set_level(LOG_ERROR + 1);
	return r;
}

static int end(void **state)
{
	work_again();
	int r = scene_end(state);

	uploaded_forget();
	return r;
}

#define MEMORY_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

static void begin_uploading(struct scene *scene)
{
	struct params *params = &scene->spec.params;

	snprintf(params->pyroscope_server, sizeof(params->pyroscope_server), "%s", SERVER);
	params->pyroscope_api = PYROSCOPE_INGEST;
	begin_sampling(scene, ONCPU);
}

static struct sender_stats sent_of(const struct scene *scene)
{
	struct upload_status status;

	session_uploads_status(scene->session, &status);
	return status.sent;
}

static void files_that_cannot_be_begun_lose_the_period_and_are_told(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_files = true;
	end_period();
	run_until(scene, stats_of(scene).unwritten == 7);
	assert_int_equal(stats_of(scene).files_causes[FILES_NO_MEMORY], 1);
	assert_string_equal(stats_of(scene).last_failure,
			    "oncpu: no memory to write a period's files");
	fails_files = false;
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
}

static void a_close_that_cannot_begin_files_ends_all_the_same(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_files = true;
	scene_close(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 0);
	assert_int_equal(stats_of(scene).unwritten, 7);
}

static void pictures_that_cannot_be_rendered_are_told(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_render = true;
	end_period();
	run_until(scene, stats_of(scene).unwritten == 7);
	assert_int_equal(stats_of(scene).files_causes[FILES_NO_MEMORY], 1);
}

static void a_period_that_cannot_begin_goes_on_in_the_old_one(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_take = true;
	end_period();
	run_until(scene, scripted->counts_count == 0);
	scene_drain(scene);
	assert_int_equal(stats_of(scene).files_written, 0);
	fails_take = false;
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 8);
}

static void a_window_that_cannot_begin_goes_on_in_the_old_one(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_take = true;
	long_timers_expire(WINDOW_S);
	run_until(scene, scripted->counts_count == 0);
	scene_drain(scene);
	assert_int_equal(uploaded_count, 0);
	fails_take = false;
	sample_worker(scene, PROBE_ONCPU, 1);
	long_timers_expire(WINDOW_S);
	run_until(scene, uploaded_count == 1);
	assert_true(uploaded_has(&uploaded[0], " 8\n"));
}

static void a_window_that_cannot_be_kept_is_sent_and_missing_in_the_files(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_new = 2; /* the next window's can be made, but not the period's */
	long_timers_expire(WINDOW_S);
	run_until(scene, stats_of(scene).unwritten == 7);
	run_until(scene, uploaded_count == 1);
	assert_string_equal(stats_of(scene).last_failure,
			    "oncpu: a window isn't in its period's files, or a part of it: "
			    "no memory");
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 1);
}

static void a_window_that_cannot_be_added_up_is_missing_in_the_files(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_merge = true;
	long_timers_expire(WINDOW_S);
	run_until(scene, stats_of(scene).unwritten == 7);
	fails_merge = false;
	assert_int_equal(stats_of(scene).files_causes[FILES_NO_MEMORY], 1);
	assert_has(stats_of(scene).last_failure, "oncpu: a window isn't in its period's files");
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 1);
}

static void a_window_that_cannot_be_rendered_is_lost_for_the_server_alone(void **state)
{
	struct scene *scene = *state;

	begin_uploading(scene);
	sample_worker(scene, PROBE_ONCPU, 7);
	fails_render = true;
	long_timers_expire(WINDOW_S);
	run_until(scene, sent_of(scene).lost[SENDER_UNWRITABLE] == 1);
	fails_render = false;
	assert_int_equal(uploaded_count, 0);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 7);
}

static void a_fetch_that_cannot_be_rendered_is_answered(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct session_question question = {
		.probe = PROBE_MEM_GLIBC,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};

	begin_sampling(scene, GLIBC);
	fails_render = true;
	for (unsigned i = 0; i < 2; i++) {
		question.view = i ? VIEW_INUSE : VIEW_ALL;
		assert_int_equal(session_fetch(scene->session, &question), 0);
		run_until(scene, answer.calls == i + 1);
		assert_int_equal(answer.error, -ENOMEM);
	}
}

static void a_session_on_demand_that_cannot_be_rendered_is_answered(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = {
		.probe = PROBE_ONCPU,
		.seconds = ONDEMAND_S,
		.pid = scene->worker.pid,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};
	struct ondemand *ondemand;
	struct why why = {0};

	assert_int_equal(ondemand_start(scene->ondemands, &request, &ondemand, &why), 0);
	run_until(scene, long_timers_count(ONDEMAND_S) == 1);
	fails_render = true;
	long_timers_expire(ONDEMAND_S);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, -ENOMEM);
	assert_int_equal(ondemands_count(scene->ondemands), 0);
}

static void a_probe_that_finds_no_memory_for_its_profile_is_refused(void **state)
{
	struct scene *scene = *state;
	struct why why = {0};

	begin_sampling(scene, ONCPU);
	scene->spec.probes = ONCPU | OFFCPU;
	fails_new = 1;
	assert_int_equal(session_apply(scene->session, &scene->spec, &why), -ENOMEM);
	assert_string_equal(why.text, "no memory");
	assert_int_equal(session_spec(scene->session)->probes, ONCPU);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	assert_string_equal(state_of(scene, PROBE_OFFCPU), "stopped");
	assert_false(scripted->offcpu);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MEMORY_TEST(files_that_cannot_be_begun_lose_the_period_and_are_told),
		MEMORY_TEST(a_close_that_cannot_begin_files_ends_all_the_same),
		MEMORY_TEST(pictures_that_cannot_be_rendered_are_told),
		MEMORY_TEST(a_period_that_cannot_begin_goes_on_in_the_old_one),
		MEMORY_TEST(a_window_that_cannot_begin_goes_on_in_the_old_one),
		MEMORY_TEST(a_window_that_cannot_be_kept_is_sent_and_missing_in_the_files),
		MEMORY_TEST(a_window_that_cannot_be_added_up_is_missing_in_the_files),
		MEMORY_TEST(a_window_that_cannot_be_rendered_is_lost_for_the_server_alone),
		MEMORY_TEST(a_fetch_that_cannot_be_rendered_is_answered),
		MEMORY_TEST(a_session_on_demand_that_cannot_be_rendered_is_answered),
		MEMORY_TEST(a_probe_that_finds_no_memory_for_its_profile_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
