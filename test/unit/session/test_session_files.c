// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of periods: what is in them, where they lie, and what can't be written. */
#include "unit/session/session_scene.h"

#include <sys/stat.h>

static void a_period_that_ends_has_a_picture_and_folded_text(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	const char *text = files_text(scene, FOLDED_OF("oncpu"));
	assert_has(text, "]worker;");
	assert_has(text, "]other;");
	assert_int_equal(folded_sum(text), 9);
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), 1);
	assert_int_equal(files_count(scene, SVGS_OF("oncpu")), 1);
	assert_int_equal(files_count(scene, "svg/oncpu/latest.svg"), 1);
	assert_has(files_text(scene, SVGS_OF("oncpu")), HOST);
}

static void each_period_has_its_own_files(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU);
	for (unsigned i = 1; i <= 3; i++) {
		sample_worker(scene, PROBE_ONCPU, i);
		end_period();
		run_until(scene, stats_of(scene).files_written == i);
	}
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), 3);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 1 + 2 + 3);
	assert_int_equal(long_timers_count(PERIOD_S), 1);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
}

static void each_probe_has_its_own_files(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU | MEM);
	sample_worker(scene, PROBE_ONCPU, 1);
	sample_worker(scene, PROBE_OFFCPU, 20000);
	sample_worker(scene, PROBE_MEM, 4096);
	end_period();
	run_until(scene, stats_of(scene).files_written == 3);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 1);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("offcpu"))), 20); /* us */
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("mem"))), 4096);
}

static void a_period_in_which_nothing_was_seen_has_no_files(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 1);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(files_count(scene, "svg/offcpu"), 0);
}

static void with_multi_instance_each_process_has_its_own_files(void **state)
{
	struct scene *scene = *state;
	char pattern[128];

	scene->spec.params.multi_instance = 1;
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 7);
	sample_other(scene, PROBE_ONCPU, 2);
	end_period();
	run_until(scene, stats_of(scene).files_written == 2);
	snprintf(pattern, sizeof(pattern), "flame/oncpu/worker-%d/2*/*-%d.folded",
		 scene->worker.pid, scene->worker.pid);
	assert_int_equal(folded_sum(files_text(scene, pattern)), 7);
	snprintf(pattern, sizeof(pattern), "flame/oncpu/other-%d/2*/*-%d.folded", scene->other.pid,
		 scene->other.pid);
	assert_int_equal(folded_sum(files_text(scene, pattern)), 2);
	assert_int_equal(files_count(scene, FOLDED_OF("oncpu")), 0);
	assert_int_equal(files_count(scene, "svg/oncpu/*-*/2*/*.svg"), 2);
}

static void what_was_seen_before_a_stop_is_written(void **state)
{
	struct scene *scene = *state;

	begin_sampling(scene, ONCPU | OFFCPU);
	sample_worker(scene, PROBE_ONCPU, 3);
	sample_worker(scene, PROBE_OFFCPU, 4000);
	apply_stop(scene);
	run_until(scene, stats_of(scene).files_written == 2);
	assert_true(has_stopped(scene));
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 3);
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("offcpu"))), 4);
}

/* Puts a file where the folder of pictures should be. */
static void block_svg(const struct scene *scene)
{
	folder_put(&scene->folder, "svg", "", 0);
}

static void a_folder_that_cannot_be_made_loses_the_period_and_is_told(void **state)
{
	struct scene *scene = *state;

	block_svg(scene);
	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 5);
	end_period();
	run_until(scene, stats_of(scene).unwritten > 0);
	struct session_stats stats = stats_of(scene);
	assert_int_equal(stats.files_written, 0);
	assert_int_equal(stats.unwritten, 5);
	assert_int_equal(stats.files_causes[FILES_BAD_FOLDER], 1);
	assert_has(stats.last_failure, "oncpu: a profile's picture can't be written below ");
	/* the other folder has its file, and the next period comes */
	assert_int_equal(folded_sum(files_text(scene, FOLDED_OF("oncpu"))), 5);
	assert_string_equal(state_of(scene, PROBE_ONCPU), "running");
	assert_int_equal(long_timers_count(PERIOD_S), 1);
}

static void a_period_after_a_failed_one_is_written(void **state)
{
	struct scene *scene = *state;

	block_svg(scene);
	log_set_level(LOG_ERROR + 1);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 5);
	end_period();
	run_until(scene, stats_of(scene).unwritten == 5);
	assert_int_equal(unlinkat(scene->folder.fd, "svg", 0), 0);
	sample_worker(scene, PROBE_ONCPU, 6);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1);
	assert_int_equal(stats_of(scene).unwritten, 5);
	assert_int_equal(files_count(scene, SVGS_OF("oncpu")), 1);
}

static void files_below_no_root_are_not_written(void **state)
{
	/* The cleaner reads the roots until the scene ends, which is after this function. */
	static const char *const paths[] = {"/nowhere"};
	const struct store_roots roots = {.paths = paths, .count = 1};
	struct scene *scene = *state;

	log_set_level(LOG_ERROR + 1);
	session_set_roots(scene->session, &roots);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 5);
	end_period();
	run_until(scene, stats_of(scene).unwritten == 5);
	assert_int_equal(stats_of(scene).files_causes[FILES_NOT_WRITABLE], 1);
	assert_int_equal(files_count(scene, "*"), 0);
}

static void a_failed_process_does_not_stop_the_others_files(void **state)
{
	struct scene *scene = *state;
	char name[64];

	log_set_level(LOG_ERROR + 1);
	scene->spec.params.multi_instance = 1;
	assert_int_equal(mkdirat(scene->folder.fd, "svg", 0750), 0);
	assert_int_equal(mkdirat(scene->folder.fd, "svg/oncpu", 0750), 0);
	snprintf(name, sizeof(name), "svg/oncpu/worker-%d", scene->worker.pid);
	folder_put(&scene->folder, name, "", 0);
	begin_sampling(scene, ONCPU);
	sample_worker(scene, PROBE_ONCPU, 5);
	sample_other(scene, PROBE_ONCPU, 3);
	end_period();
	run_until(scene, stats_of(scene).files_written == 1 && stats_of(scene).unwritten == 5);
}

static void old_files_are_removed_by_the_limits_that_were_set(void **state)
{
	struct scene *scene = *state;
	const struct retention_limits limits = {.days = 1, .interval = 1};

	static const char *const folders[] = {"svg", "svg/oncpu", "svg/oncpu/2020-01-02", NULL};
	for (int i = 0; folders[i]; i++)
		assert_int_equal(mkdirat(scene->folder.fd, folders[i], 0750), 0);
	folder_put(&scene->folder, "svg/oncpu/2020-01-02/2020-01-02-03-04-05.svg", "x", 1);
	begin_sampling(scene, ONCPU);
	session_set_retention(scene->session, &limits);
	run_until(scene, stats_of(scene).cleaned.removed == 1);
	assert_int_equal(files_count(scene, "svg/oncpu/2020*"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(a_period_that_ends_has_a_picture_and_folded_text),
		SCENE_TEST(each_period_has_its_own_files),
		SCENE_TEST(each_probe_has_its_own_files),
		SCENE_TEST(a_period_in_which_nothing_was_seen_has_no_files),
		SCENE_TEST(with_multi_instance_each_process_has_its_own_files),
		SCENE_TEST(what_was_seen_before_a_stop_is_written),
		SCENE_TEST(a_folder_that_cannot_be_made_loses_the_period_and_is_told),
		SCENE_TEST(a_period_after_a_failed_one_is_written),
		SCENE_TEST(files_below_no_root_are_not_written),
		SCENE_TEST(a_failed_process_does_not_stop_the_others_files),
		SCENE_TEST(old_files_are_removed_by_the_limits_that_were_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
