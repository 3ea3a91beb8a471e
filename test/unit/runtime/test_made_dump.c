// SPDX-License-Identifier: GPL-2.0-or-later
/* The jitdumps of real processes: opened through their mapping, and read on. */
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "jit/jit_memory.h"
#include "loop/loop.h"
#include "proc/proc.h"
#include "programs/jit_dump.h"
#include "runtime/made_dump.h"

#define AT 0x7f0000001000

struct scene {
	struct loop *loop;
	struct worker *worker;
	char path[64];
	int fd;
	struct made_dump_place place;
	struct made_dump *dump;
	unsigned changes;  /* of rows */
	uint64_t asked_ns; /* before the last reading */
};

static void count_change(void *arg, pid_t pid)
{
	struct scene *scene = arg;

	assert_int_equal(pid, scene->place.pid);
	scene->changes++;
}

static uint64_t map_file(int fd)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	return at == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)at;
}

/* Begins a process that has the file mapped, and nothing else to do. */
static void begin_process(struct scene *scene)
{
	struct proc_stat stat_;
	struct stat stat;
	int told[2];

	assert_int_equal(pipe2(told, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		uint64_t start = map_file(scene->fd);

		if (write(told[1], &start, sizeof(start)) == sizeof(start))
			pause();
		_exit(1);
	}
	assert_true(pid > 0);
	scene->place = (struct made_dump_place){.pid = pid, .ns_pid = pid, .path = scene->path};
	assert_int_equal(read(told[0], &scene->place.start, 8), 8);
	assert_true(scene->place.start);
	close(told[0]);
	close(told[1]);
	assert_int_equal(proc_stat(pid, &stat_), 0);
	assert_int_equal(fstat(scene->fd, &stat), 0);
	scene->place.start_ticks = stat_.start_ticks;
	scene->place.program = proc_program(pid);
	scene->place.end = scene->place.start + 4096;
	scene->place.device = stat.st_dev;
	scene->place.inode = stat.st_ino;
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	*state = scene;
	assert_non_null(scene);
	snprintf(scene->path, sizeof(scene->path), "/tmp/stackprobe-unit-%d.dump", (int)getpid());
	scene->fd = open(scene->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(scene->fd >= 0);
	begin_process(scene);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
	assert_int_equal(made_dump_new(&scene->dump, &scene->place, job_of(getuid(), 0),
				       scene->worker, count_change, scene),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	kill(scene->place.pid, SIGKILL);
	waitpid(scene->place.pid, NULL, 0);
	made_dump_unref(scene->dump);
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	worker_free(scene->worker);
	loop_free(scene->loop);
	close(scene->fd);
	unlink(scene->path);
	free(scene);
	assert_int_equal(jit_memory_taken(), 0); /* all was given back */
	return 0;
}

static void stop(void *arg)
{
	struct scene *scene = arg;

	loop_stop(scene->loop);
}

/* Reads on; returns what came of it. */
static int read_on(struct scene *scene)
{
	uint64_t rows;
	int error;

	scene->asked_ns = dump_now();
	made_dump_read(scene->dump);
	assert_int_equal(worker_fence(scene->worker, NULL, stop, scene), 0);
	assert_int_equal(loop_run(scene->loop), 0);
	made_dump_state(scene->dump, &rows, &error);
	return error;
}

static void put_header(const struct scene *scene)
{
	const struct dump_header header = dump_header((uint32_t)scene->place.pid);

	assert_true(dump_put(scene->fd, &header, sizeof(header)));
}

static void put_load(const struct scene *scene, uint64_t start, const char *name)
{
	assert_true(dump_put_load(scene->fd, (uint32_t)scene->place.pid, dump_now(), start,
				  DUMP_CODE, start, name));
}

static void check_name(const struct scene *scene, uint64_t address, const char *name)
{
	struct jitdump *holder;
	size_t len = 0;
	uint64_t ns = scene->asked_ns, later_ns = dump_now();
	const char *found = made_dump_find(scene->dump, address, ns, ns, &holder, &len);

	/* since the reading another one may have taken its place */
	assert_null(made_dump_find(scene->dump, address, ns, later_ns, &holder, &len));
	if (!name) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_int_equal(len, strlen(name));
	assert_memory_equal(found, name, len);
}

static void a_file_is_read_on_also_when_its_process_and_its_name_are_gone(void **state)
{
	struct scene *scene = *state;

	check_name(scene, AT, NULL);
	assert_int_equal(read_on(scene), -EAGAIN); /* it is empty */
	put_header(scene);
	put_load(scene, AT, "first");
	assert_int_equal(read_on(scene), 0);
	check_name(scene, AT, "first");
	assert_true(made_dump_has_names(scene->dump));
	kill(scene->place.pid, SIGKILL);
	waitpid(scene->place.pid, NULL, 0);
	unlink(scene->path);
	put_load(scene, AT + 64, "last");
	assert_int_equal(read_on(scene), 0);
	check_name(scene, AT, "first");
	check_name(scene, AT + 64, "last");
}

static void a_file_without_rows_is_not_read_between_windows(void **state)
{
	unsigned char frames[DUMP_FRAMES];
	struct scene *scene = *state;

	put_header(scene);
	put_load(scene, AT, "first");
	assert_true(made_dump_next_ns(scene->dump, dump_now()));
	assert_int_equal(read_on(scene), 0);
	assert_int_equal(made_dump_next_ns(scene->dump, dump_now()), 0);
	assert_int_equal(scene->changes, 0);
	uint64_t early_ns = dump_now();
	assert_true(dump_put_frames(scene->fd, 1, frames, dump_frames(frames, DUMP_CODE), 0));
	put_load(scene, AT + 64, "second");
	assert_int_equal(read_on(scene), 0);
	assert_int_equal(scene->changes, 1);
	assert_int_equal(made_dump_next_ns(scene->dump, early_ns), 0);
	assert_true(made_dump_next_ns(scene->dump, dump_now()));
}

static void another_users_file_is_not_opened(void **state)
{
	struct scene *scene = *state;

	if (getuid() != 0)
		skip();
	put_header(scene);
	put_load(scene, AT, "first");
	assert_int_equal(fchown(scene->fd, 31337, 31337), 0);
	assert_int_equal(read_on(scene), -EPERM);
	check_name(scene, AT, NULL);
	assert_int_equal(fchown(scene->fd, 0, 0), 0);
	assert_int_equal(read_on(scene), -EPERM); /* it isn't tried again */
}

static void another_process_of_that_pid_is_not_taken(void **state)
{
	struct scene *scene = *state;

	put_header(scene);
	made_dump_unref(scene->dump);
	scene->place.start_ticks++;
	assert_int_equal(made_dump_new(&scene->dump, &scene->place, job_of(getuid(), 0),
				       scene->worker, count_change, scene),
			 0);
	assert_int_equal(read_on(scene), -ESRCH);
}

static void what_makes_no_sense_later_takes_all_names(void **state)
{
	static const char nonsense[16];
	struct scene *scene = *state;

	put_header(scene);
	put_load(scene, AT, "first");
	assert_int_equal(read_on(scene), 0);
	check_name(scene, AT, "first");
	assert_true(dump_put(scene->fd, nonsense, sizeof(nonsense)));
	assert_int_equal(read_on(scene), -EBADMSG);
	check_name(scene, AT, NULL);
	assert_false(made_dump_has_names(scene->dump));
}

static void a_dump_may_go_while_it_is_read(void **state)
{
	struct scene *scene = *state;

	put_header(scene);
	made_dump_read(scene->dump);
	made_dump_unref(TAKE_PTR(scene->dump));
	assert_int_equal(worker_fence(scene->worker, NULL, stop, scene), 0);
	assert_int_equal(loop_run(scene->loop), 0);
	assert_int_equal(scene->changes, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_read_on_also_when_its_process_and_its_name_are_gone),
		TEST(a_file_without_rows_is_not_read_between_windows),
		TEST(another_users_file_is_not_opened),
		TEST(another_process_of_that_pid_is_not_taken),
		TEST(what_makes_no_sense_later_takes_all_names),
		TEST(a_dump_may_go_while_it_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
