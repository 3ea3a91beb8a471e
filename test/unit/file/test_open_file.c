// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/proc/elf_maker.h"
#include "unit/lib/folder.h"

#include "loop/loop.h"
#include "file/open_file.h"

#define BUILD_ID "\x01\xab\xcd\xef\x04\x05\x06\x07"

/* A program on this host, and the debug file beside it to which it links. */
struct scene {
	struct loop *loop;
	struct worker *worker;
	struct folder folder;
	char path[128];
	struct open_request opening;
};

static void scene_make(struct scene *scene)
{
	static struct elf_maker maker;
	struct elf_plan plan = {.build_id = BUILD_ID, .build_id_bytes = 8, .debuglink = "x.debug"};

	*scene = (struct scene){0};
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
	folder_make(&scene->folder);
	folder_put(&scene->folder, "prog", maker.image, elf_make(&maker, &plan));
	plan.debuglink = NULL;
	plan.no_code = true;
	folder_put(&scene->folder, "x.debug", maker.image, elf_make(&maker, &plan));
	snprintf(scene->path, sizeof(scene->path), "%s/prog", scene->folder.path);
	scene->opening.path = scene->path;
	assert_int_equal(stat(scene->path, &scene->opening.stat), 0);
	int fd = open(scene->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && fd_budget_take());
	scene->opening.held = held_fd_new(&fd, scene->worker, JOB_OWN);
	assert_non_null(scene->opening.held);
}

static bool has_debug_file(struct scene *scene, struct debug_found *found)
{
	_cleanup_(open_file_done) struct open_file opened;

	assert_int_equal(open_file_open(&opened, &scene->opening, NULL, found), 0);
	return opened.debug_fd >= 0;
}

static void a_path_in_a_root_that_has_gone_is_not_looked_for_in_ours(void **state)
{
	struct stat elsewhere = {.st_dev = 1, .st_ino = 12345};
	struct debug_found found = {0};
	struct scene scene;
	int root_fd = -1;

	(void)state;
	scene_make(&scene);
	scene.opening.root = symbol_root_new(&root_fd, &elsewhere);
	assert_false(has_debug_file(&scene, &found));
	assert_false(found.searched); /* it may be there for another process */
	symbol_root_unref(TAKE_PTR(scene.opening.root));
	assert_true(has_debug_file(&scene, &found));
	free(found.path);
	open_request_done(&scene.opening);
	worker_stop(scene.worker);
	worker_free(scene.worker);
	loop_free(scene.loop);
	folder_done(&scene.folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_in_a_root_that_has_gone_is_not_looked_for_in_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
