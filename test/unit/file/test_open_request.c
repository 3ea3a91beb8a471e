// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit/lib/folder.h"

#include <sys/mman.h>

#include "loop/loop.h"
#include "file/open_request.h"

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct folder folder;
	char path[128];
	struct open_request opening;
};

static void scene_make(struct scene *scene)
{
	*scene = (struct scene){0};
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
	folder_make(&scene->folder);
	folder_put(&scene->folder, "file", "content", 7);
	snprintf(scene->path, sizeof(scene->path), "%s/file", scene->folder.path);
	scene->opening.worker = scene->worker;
	scene->opening.path = scene->path;
	assert_int_equal(stat(scene->path, &scene->opening.stat), 0);
}

static void scene_done(struct scene *scene)
{
	open_request_done(&scene->opening);
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
	folder_done(&scene->folder);
}

/* As a job does it; the first byte, or what it said. */
static int open_it(struct scene *scene)
{
	_cleanup_close_ int root_fd = open_request_open_root(&scene->opening);
	_cleanup_close_ int own = -1;
	char byte;
	int fd = open_request_open(&scene->opening, root_fd, &own);

	if (fd < 0)
		return fd;
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	return byte;
}

static void map_it(struct scene *scene)
{
	_cleanup_close_ int fd = open(scene->path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	scene->opening.place = (struct symbol_place){getpid(), (uint64_t)(uintptr_t)at,
						     (uint64_t)(uintptr_t)at + 4096};
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void it_is_opened_by_its_path(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(open_it(&scene), 'c');
	assert_non_null(scene.opening.held);
	assert_true(is_open(scene.opening.held->fd));
	scene_done(&scene);
}

static void a_file_that_was_deleted_is_opened_through_its_mapping(void **state)
{
	struct scene scene;

	(void)state;
	if (geteuid() != 0) {
		print_message("/proc/self/map_files needs root\n");
		skip();
	}
	scene_make(&scene);
	map_it(&scene);
	assert_int_equal(unlink(scene.path), 0);
	assert_int_equal(open_it(&scene), 'c');
	munmap((void *)scene.opening.place.start, 4096); // NOLINT
	scene_done(&scene);
}

static void a_file_that_has_gone_with_its_process_is_told(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(unlink(scene.path), 0);
	assert_int_equal(open_it(&scene), -ESRCH);
	assert_null(scene.opening.held);
	scene_done(&scene);
}

static void another_file_of_that_name_is_not_taken_for_it(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	folder_put(&scene.folder, "other", "CONTENT", 7);
	assert_int_equal(renameat(scene.folder.fd, "other", scene.folder.fd, "file"), 0);
	assert_int_equal(open_it(&scene), -ESTALE);
	scene_done(&scene);
}

static void a_file_that_was_written_to_is_not_the_same(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(open_it(&scene), 'c');
	folder_put(&scene.folder, "file", "contents", 8);
	assert_int_equal(open_it(&scene), -ESTALE); /* as it is held */
	held_fd_unref(TAKE_PTR(scene.opening.held));
	assert_int_equal(open_it(&scene), -ESTALE);
	scene_done(&scene);
}

static void what_is_held_is_open_until_the_last_lets_go(void **state)
{
	struct scene scene;

	(void)state;
	scene_make(&scene);
	assert_int_equal(open_it(&scene), 'c');
	struct held_fd *mine = held_fd_ref(scene.opening.held);
	int fd = mine->fd;
	open_request_done(&scene.opening);
	assert_null(scene.opening.held);
	assert_true(is_open(fd));
	assert_int_equal(unlink(scene.path), 0);
	scene.opening.held = mine; /* another job's */
	assert_int_equal(open_it(&scene), 'c');
	open_request_done(&scene.opening);
	for (int i = 0; i < 5000 && is_open(fd); i++) /* a job closes it */
		usleep(1000);
	assert_false(is_open(fd));
	scene_done(&scene);
}

static void without_a_place_it_is_open_for_the_job_only(void **state)
{
	struct scene scene;
	size_t taken = 0;
	int own = -1;

	(void)state;
	scene_make(&scene);
	while (fd_budget_take())
		taken++;
	_cleanup_close_ int root_fd = open_request_open_root(&scene.opening);
	int fd = open_request_open(&scene.opening, root_fd, &own);
	assert_true(fd >= 0);
	assert_int_equal(own, fd);
	assert_null(scene.opening.held);
	close(own);
	for (; taken; taken--)
		fd_budget_give();
	scene_done(&scene);
}

static void no_link_leads_out_of_another_root(void **state)
{
	struct scene scene;
	struct stat stat;

	(void)state;
	scene_make(&scene);
	folder_put(&scene.folder, "inside", "i", 1);
	assert_int_equal(symlinkat(scene.path, scene.folder.fd, "link"), 0);
	int fd = open(scene.folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_true(fd_budget_take());
	scene.opening.root = symbol_root_new(&fd, &stat);
	assert_non_null(scene.opening.root);
	scene.opening.path = "/link";
	assert_int_equal(open_it(&scene), -ESRCH);
	scene.opening.path = "/file";
	assert_int_equal(open_it(&scene), 'c');
	scene_done(&scene);
}

static void another_process_with_that_pid_has_another_root(void **state)
{
	struct scene scene;
	struct stat stat;
	int none = -1;

	(void)state;
	scene_make(&scene);
	assert_int_equal(fstat(scene.folder.fd, &stat), 0);
	scene.opening.root = symbol_root_new(&none, &stat);
	scene.opening.place.pid = getpid(); /* whose root is "/" */
	assert_int_equal(open_request_open_root(&scene.opening), -1);
	assert_int_equal(open_it(&scene), -ESRCH);
	scene_done(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_opened_by_its_path),
		cmocka_unit_test(a_file_that_was_deleted_is_opened_through_its_mapping),
		cmocka_unit_test(a_file_that_has_gone_with_its_process_is_told),
		cmocka_unit_test(another_file_of_that_name_is_not_taken_for_it),
		cmocka_unit_test(a_file_that_was_written_to_is_not_the_same),
		cmocka_unit_test(what_is_held_is_open_until_the_last_lets_go),
		cmocka_unit_test(without_a_place_it_is_open_for_the_job_only),
		cmocka_unit_test(no_link_leads_out_of_another_root),
		cmocka_unit_test(another_process_with_that_pid_has_another_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
