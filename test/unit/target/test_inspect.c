// SPDX-License-Identifier: GPL-2.0-or-later
/* This process's own mappings, as they are read of any. */
#include "unit/lib/folder.h"

#include <sys/mman.h>

#include "proc/proc.h"
#include "target/inspect.h"

#define PAGE  4096
#define TURNS 1000

struct scene {
	struct folder folder;
	struct loop *loop;
	struct worker *worker;
	char *at; /* 2 * TURNS mappings */
};

static void map_in_turn(struct scene *scene)
{
	char page[PAGE] = "";
	int fds[2];

	for (int i = 0; i < 2; i++) {
		char name[] = {(char)('a' + i), '\0'};

		folder_put(&scene->folder, name, page, sizeof(page));
		fds[i] = openat(scene->folder.fd, name, O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	scene->at = mmap(NULL, (size_t)2 * TURNS * PAGE, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	for (size_t i = 0; i < 2 * TURNS; i++)
		assert_ptr_equal(mmap(scene->at + i * PAGE, PAGE, PROT_READ | PROT_EXEC,
				      MAP_PRIVATE | MAP_FIXED, fds[i % 2], 0),
				 scene->at + i * PAGE);
	close(fds[0]);
	close(fds[1]);
}

/* Each mapping of the two files is told to be of the first one of its own. */
static void examined(void *arg, struct inspection *e, bool finished)
{
	struct scene *scene = arg;
	size_t first[2] = {SIZE_MAX, SIZE_MAX};

	loop_stop(scene->loop);
	assert_true(finished);
	assert_int_equal(e->error, 0);
	assert_int_equal(e->left_out, 0);
	for (size_t i = 0, seen = 0; i < e->maps.count; i++) {
		const struct mapping *mapping = &e->maps.mappings[i];
		size_t *its = &first[seen % 2];

		if (mapping->start < (uintptr_t)scene->at ||
		    mapping->start >= (uintptr_t)scene->at + (size_t)2 * TURNS * PAGE)
			continue;
		if (seen++ < 2)
			*its = i;
		assert_int_equal(e->opened[i].same, *its);
		assert_true(i == *its || e->opened[i].fd < 0);
	}
	assert_true(first[0] < first[1] && first[1] != SIZE_MAX);
}

static void files_that_are_mapped_in_turn_are_opened_once(void **state)
{
	struct scene scene;
	struct inspection question = {.pid = getpid(), .done = examined, .arg = &scene};
	struct proc_stat stat;

	(void)state;
	folder_make(&scene.folder);
	map_in_turn(&scene);
	assert_int_equal(loop_new(&scene.loop), 0);
	assert_int_equal(worker_new(&scene.worker, scene.loop, "test", 20 * NS_PER_S), 0);
	assert_int_equal(proc_stat(question.pid, &stat), 0);
	question.start_ticks = stat.start_ticks;
	memcpy(question.comm, stat.comm, sizeof(question.comm));
	assert_int_equal(inspect(scene.worker, &question), 0);
	assert_int_equal(loop_run(scene.loop), 0);
	worker_stop(scene.worker);
	worker_free(scene.worker);
	loop_free(scene.loop);
	munmap(scene.at, (size_t)2 * TURNS * PAGE);
	folder_done(&scene.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_are_mapped_in_turn_are_opened_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
