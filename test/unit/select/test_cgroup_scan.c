// SPDX-License-Identifier: GPL-2.0-or-later
/* Censuses of this machine's processes; also where there is no memory (failing_alloc.h) or no
 * descriptor: who wasn't looked at is never left out without a word. */
#include "unit/lib/failing_alloc.h"

#include <sys/resource.h>

#include "loop/loop.h"
#include "container/cgroup.h"
#include "select/cgroup_scan.h"

struct scene {
	struct loop *loop;
	struct worker *worker;
	unsigned pieces, lasts, residents, ours;
	char path[4096]; /* of ours */
	bool incomplete, finished;
};

static void told(void *arg, struct cgroup_scan *census, bool finished, bool last)
{
	struct scene *scene = arg;

	scene->pieces++;
	scene->lasts += last;
	scene->finished &= finished;
	scene->incomplete |= finished && census->incomplete;
	for (size_t i = 0; finished && i < census->residents_count; i++) {
		scene->residents++;
		if (census->residents[i].pid != getpid())
			continue;
		scene->ours++;
		snprintf(scene->path, sizeof(scene->path), "%s", census->residents[i].path);
	}
	if (last)
		loop_stop(scene->loop);
}

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){.finished = true};
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
}

static void scene_done(struct scene *scene)
{
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	worker_free(scene->worker);
	loop_free(scene->loop);
}
#define _cleanup_scene_ _cleanup_(scene_done)

/* Until the last piece was told. */
static int count(struct scene *scene, const pid_t *pids, size_t pids_count)
{
	int r = cgroup_scan_begin(scene->worker, NULL, pids, pids_count, told, scene);

	if (r == 0)
		r = loop_run(scene->loop);
	return r;
}

static void all_are_told_with_where_they_are(void **state)
{
	_cleanup_scene_ struct scene scene;
	struct cgroups cgroups;

	(void)state;
	scene_make(&scene);
	assert_int_equal(count(&scene, NULL, 0), 0);
	assert_int_equal(cgroups_read(getpid(), &cgroups), 0);
	assert_int_equal(scene.ours, 1);
	assert_string_equal(scene.path, cgroups.path);
	assert_true(scene.residents > 1 && scene.lasts == 1);
	assert_true(scene.finished && !scene.incomplete);
}

static void many_are_told_in_pieces_and_who_has_ended_is_left_out(void **state)
{
	enum { COUNT = 2 * CENSUS_PIECE + 10 };
	_cleanup_scene_ struct scene scene;
	pid_t pids[COUNT];

	(void)state;
	for (int i = 0; i < COUNT; i++)
		pids[i] = i % 2 ? getpid() : 4194305; /* more than any */
	scene_make(&scene);
	assert_int_equal(count(&scene, pids, COUNT), 0);
	assert_int_equal(scene.pieces, 3);
	assert_int_equal(scene.lasts, 1);
	assert_int_equal(scene.ours, COUNT / 2);
	assert_true(scene.finished && !scene.incomplete);
}

/* With the pieces' jobs, and the thread. */
static int count_with_failures(void)
{
	enum { COUNT = CENSUS_PIECE + 10 };
	unsigned left = failing.left;
	struct scene scene;
	pid_t pids[COUNT];

	for (int i = 0; i < COUNT; i++)
		pids[i] = getpid();
	no_more_failures(); /* loop and worker are there */
	scene_make(&scene);
	failing.left = left;
	int r = count(&scene, pids, COUNT);
	bool failed = failing.failed;
	no_more_failures();
	scene_done(&scene);
	assert_int_equal(scene.lasts, r == 0);
	if (r == 0 && (!scene.finished || scene.incomplete))
		r = -ENOMEM;
	/* Whoever isn't told is missed with a word. */
	assert_true(r < 0 || scene.ours == COUNT);
	assert_true(failed || r == 0);
	return r;
}

SCENARIO(without_memory_it_is_incomplete, count_with_failures, true)

static void without_a_descriptor_it_is_incomplete(void **state)
{
	struct rlimit limit, none;

	(void)state;
	for (int all = 0; all < 2; all++) {
		_cleanup_scene_ struct scene scene;
		pid_t pid = getpid();

		scene_make(&scene);
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
		none = (struct rlimit){0, limit.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		int r = count(&scene, all ? NULL : &pid, !all);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		assert_int_equal(r, 0);
		assert_int_equal(scene.residents, 0);
		assert_int_equal(scene.lasts, 1);
		assert_true(scene.finished && scene.incomplete);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_told_with_where_they_are),
		cmocka_unit_test(many_are_told_in_pieces_and_who_has_ended_is_left_out),
		cmocka_unit_test(without_memory_it_is_incomplete),
		cmocka_unit_test(without_a_descriptor_it_is_incomplete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
