// SPDX-License-Identifier: GPL-2.0-or-later
/* What processes hold of their allocations: files, fetches and sessions on demand. */
#include "unit/session/session_scene.h"

/* Has the worker allocate that much; it isn't freed. The stack is the one of sample_once(). */
static void allocate(const struct scene *scene, uint64_t address, uint64_t bytes)
{
	uint32_t tgid = (uint32_t)scene->worker.pid;
	const struct allocation_key key = {.address = address, .tgid = tgid};
	const struct allocation allocation = {
		.stack = {.hash = 1, .tgid = tgid, .probe = PROBE_MEM_GLIBC},
		.time_ns = loop_now_ns(),
		.bytes = bytes,
		.objects = 1,
		.tid = tgid,
	};

	scripted_hold(&key, &allocation);
	sample_worker(scene, PROBE_MEM_GLIBC, bytes);
}

static void map(const struct scene *scene, uint64_t start, uint64_t bytes)
{
	uint32_t tgid = (uint32_t)scene->worker.pid;
	const struct mapped_event event = {
		.kind = MAPPED_CAME,
		.tid = tgid,
		.stack = {.hash = 1, .tgid = tgid, .probe = PROBE_MEM_GLIBC},
		.start = start,
		.end = start + bytes,
		.time_ns = loop_now_ns(),
	};

	scripted->events.mapped(scripted->events.arg, &event);
}

static void fetch(struct scene *scene, enum view view, struct answer *answer)
{
	const struct session_question question = {
		.probe = PROBE_MEM_GLIBC,
		.view = view,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = answer,
	};

	answer_done(answer);
	assert_int_equal(session_fetch(scene->session, &question), 0);
	run_until(scene, answer->calls);
	assert_int_equal(answer->error, 0);
}

static void a_period_has_files_of_what_is_held_at_its_end(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	map(scene, 0x100000, 8192);
	sample_worker(scene, PROBE_MEM_GLIBC, 1000); /* was freed */
	end_period();
	run_until(scene, stats_of(scene).files_written == 3);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem_glibc"))), 5096);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem_glibc-inuse"))), 4096);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem_glibc-mmap"))), 8192);
}

static void what_is_held_is_in_the_next_periods_files_too(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	end_period();
	run_until(scene, stats_of(scene).files_written == 2);
	end_period();
	run_until(scene, stats_of(scene).files_written == 3);
	assert_int_equal(files_count(scene, FOLDED_OF("mem_glibc")), 1);
	assert_int_equal(files_count(scene, FOLDED_OF("mem_glibc-inuse")), 2);
}

static void a_stop_writes_what_is_held(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 2);
	assert_true(has_stopped(scene));
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem_glibc-inuse"))), 4096);
}

static void closing_waits_for_the_files_of_what_is_held(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	scene_close(scene);
	run_until(scene, scene->closed);
	assert_int_equal(stats_of(scene).files_written, 2);
}

static void what_cannot_be_read_at_a_periods_end_is_told(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	scripted_fail(SCRIPTED_HELD_FD, -EMFILE);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	struct session_stats stats = stats_of(scene);

	assert_int_equal(stats.files_causes[FILES_OTHER], 1);
	assert_int_equal(stats.unwritten, 0);
	assert_has(stats.last_failure, "mem_glibc: what is held can't be read, and has no files: ");
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem_glibc"))), 4096);
}

static void a_reading_that_finds_no_memory_is_told(void **state)
{
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, GLIBC);
	scripted_fail(SCRIPTED_HELD_READ, -ENOMEM);
	end_period();
	run_until(scene, stats_of(scene).files_causes[FILES_NO_MEMORY] == 1);
	scripted_fail(SCRIPTED_HELD_READ, 0);
	allocate(scene, 0x1000, 4096);
	end_period();
	run_until(scene, stats_of(scene).files_written == 2);
}

static void a_fetch_shows_what_is_held_now(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	fetch(scene, VIEW_INUSE, &answer);
	assert_int_equal(folded_sum(answer.text), 4096);
	assert_has(answer.text, "]worker;");
	allocate(scene, 0x3000, 100);
	fetch(scene, VIEW_INUSE, &answer);
	assert_int_equal(folded_sum(answer.text), 4196);
	scripted_free_held();
	fetch(scene, VIEW_INUSE, &answer);
	assert_int_equal(answer.text ? folded_sum(answer.text) : 0, 0);
}

static void a_fetch_shows_what_is_mapped_now(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};

	begin_sampling(scene, GLIBC);
	sample_worker(scene, PROBE_MEM_GLIBC, 1);
	map(scene, 0x100000, 8192);
	fetch(scene, VIEW_MMAP, &answer);
	assert_int_equal(folded_sum(answer.text), 8192);
}

static void a_session_on_demand_shows_what_came_since_it_began(void **state)
{
	struct scene *scene = *state;
	_cleanup_answer_ struct answer answer = {0};
	struct ondemand_request request = {
		.probe = PROBE_MEM_GLIBC,
		.view = VIEW_INUSE,
		.seconds = ONDEMAND_S,
		.pid = scene->worker.pid,
		.output = output_find("folded"),
		.done = answer_note,
		.arg = &answer,
	};
	struct ondemand *ondemand;
	struct why why = {0};

	begin_sampling(scene, GLIBC);
	allocate(scene, 0x1000, 4096);
	scene_drain(scene);
	assert_int_equal(ondemand_start(scene->ondemands, &request, &ondemand, &why), 0);
	run_until(scene, long_timers_count(ONDEMAND_S) == 1);
	allocate(scene, 0x3000, 100);
	long_timers_expire(ONDEMAND_S);
	run_until(scene, answer.calls);
	assert_int_equal(answer.error, 0);
	assert_int_equal(folded_sum(answer.text), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_period_has_files_of_what_is_held_at_its_end),
		SCENE_TEST(what_is_held_is_in_the_next_periods_files_too),
		SCENE_TEST(a_stop_writes_what_is_held),
		SCENE_TEST(closing_waits_for_the_files_of_what_is_held),
		SCENE_TEST(what_cannot_be_read_at_a_periods_end_is_told),
		SCENE_TEST(a_reading_that_finds_no_memory_is_told),
		SCENE_TEST(a_fetch_shows_what_is_held_now),
		SCENE_TEST(a_fetch_shows_what_is_mapped_now),
		SCENE_TEST(a_session_on_demand_shows_what_came_since_it_began),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
