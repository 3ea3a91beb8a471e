// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of files of which one hangs. Linked with __wrap_open_file_open_known(). */
#include "unit/lib/unit.h"

#include <semaphore.h>
#include <stdatomic.h>

#include "loop/loop.h"
#include "file/file_lines.h"
#include "file/registry_parts.h"
#include "file/open_file.h"

#define LIMIT_MS 10
#define HANGS	 1 /* the inode of the file that does */

static sem_t answer;
static atomic_int opened_count[3]; /* by inode */
static bool was_searched;

int __wrap_open_file_open_known(struct open_file *opened, struct open_request *opening,
				const char *debugging_dir, const struct debug_found *found);

int __wrap_open_file_open_known(struct open_file *opened, struct open_request *opening,
				const char *debugging_dir, const struct debug_found *found)
{
	(void)opened, (void)debugging_dir;
	atomic_fetch_add(&opened_count[opening->stat.st_ino], 1);
	was_searched |= !found->path || strcmp(found->path, "/debug") != 0;
	if (opening->stat.st_ino == HANGS)
		sem_wait(&answer);
	return -ESRCH;
}

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
	struct module modules[2];
	struct lines *lines[2];
};

/* A file as it is after it was read, with its debug file. */
static void add(struct scene *scene, int i, const char *path, uint64_t whose)
{
	struct stat stat = {.st_ino = (ino_t)i + HANGS, .st_size = 4096};
	int fd = -1;
	struct symbol_file *file = symbol_files_get(scene->files, &fd, &stat, path,
						    &(struct symbol_search){.payer = whose});

	assert_non_null(file);
	file->code = calloc(1, sizeof(*file->code) + sizeof(struct elf_segment));
	assert_non_null(file->code);
	file->code->build_id_bytes = 1;
	file->code->build_id[0] = (uint8_t)i;
	file->code->segments_count = 1;
	file->code->segments[0] = (struct elf_segment){
		.address = 0x1000, .file_offset = 0x1000, .file_bytes = 0x2000};
	file->debug = (struct debug_found){.searched = true, .path = strdup("/debug")};
	uint64_t address;
	assert_true(symbol_file_locate(file, 0x1000, &scene->modules[i], &address));
	symbol_file_unref(file);
}

static void passed(void *arg)
{
	loop_stop(arg);
}

static void read_lines(struct scene *scene)
{
	static const uint64_t address = 0x1234;
	struct lines_wish wishes[2];

	for (int i = 0; i < 2; i++)
		wishes[i] = (struct lines_wish){&scene->modules[i], &address, 1, &scene->lines[i]};
	assert_int_equal(symbol_files_read_lines(scene->files, scene->worker, wishes, 2, LIMIT_MS,
						 false, passed, scene->loop),
			 0);
	assert_int_equal(loop_run(scene->loop), 0);
}

static void a_file_that_hangs_keeps_no_other_users_file_and_is_not_asked_again(void **state)
{
	struct scene scene = {0};

	(void)state;
	sem_init(&answer, 0, 0);
	assert_int_equal(loop_new(&scene.loop), 0);
	assert_int_equal(worker_new(&scene.worker, scene.loop, "test", NS_PER_S), 0);
	assert_int_equal(symbol_files_new(&scene.files, scene.worker), 0);
	add(&scene, 0, "/hangs", job_of(7, 0));
	add(&scene, 1, "/good", job_of(8, 0));
	read_lines(&scene);
	assert_int_equal(worker_given_up(scene.worker), 1);
	read_lines(&scene);
	assert_int_equal(opened_count[HANGS], 1);
	assert_in_range(opened_count[HANGS + 1], 1, 2); /* in the first its time may be over */
	assert_false(was_searched);
	sem_post(&answer);
	worker_stop(scene.worker);
	symbol_files_free(scene.files);
	worker_free(scene.worker);
	loop_free(scene.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_file_that_hangs_keeps_no_other_users_file_and_is_not_asked_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
