// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps of real processes, asked as a window does it. */
#include "unit/lib/folder.h"

#include <signal.h>
#include <sys/inotify.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>

#include "loop/loop.h"
#include "proc/proc.h"
#include "file/symbol_file.h"
#include "symbol/perfmap_state.h"

#define ADDRESS 0x1010

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct symbol_files *files;
	struct perfmap_process process;
	char left[64], path[64]; /* a file from before the process; the map's path */
	char name[64];
	int go[2];
};

static void put(const char *path, const char *lines)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, lines, strlen(lines)), strlen(lines));
}

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));
	struct proc_stat stat;

	*state = scene;
	snprintf(scene->left, sizeof(scene->left), "/tmp/stackprobe-unit-left-%d", (int)getpid());
	put(scene->left, "1000 20 left\n");
	usleep(200000); /* start times have 10 ms; file systems' clock lags (perfmap_open.c) */
	assert_int_equal(pipe2(scene->go, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) { /* another program, once it is told to */
		char byte;

		if (read(scene->go[0], &byte, 1) == 1)
			execl("/bin/sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	usleep(20000); /* the file system's clock is a coarse one */
	assert_int_equal(proc_stat(pid, &stat), 0);
	scene->process = (struct perfmap_process){pid, stat.start_ticks, 1, 0};
	snprintf(scene->path, sizeof(scene->path), "/tmp/perf-%d.map", (int)pid);
	unlink(scene->path);
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", 10 * NS_PER_S), 0);
	assert_int_equal(symbol_files_new(&scene->files, scene->worker), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	kill(scene->process.pid, SIGKILL);
	waitpid(scene->process.pid, NULL, 0);
	worker_stop(scene->worker);
	loop_flush(scene->loop);
	symbol_files_free(scene->files);
	worker_free(scene->worker);
	loop_free(scene->loop);
	close(scene->go[0]);
	close(scene->go[1]);
	unlink(scene->left);
	remove(scene->path);
	free(scene);
	return 0;
}

static void stop(void *arg)
{
	struct scene *scene = arg;

	loop_stop(scene->loop);
}

/* The name of ADDRESS in a window; "": none. */
static const char *named(struct scene *scene)
{
	size_t len = 0;

	symbol_files_begin(scene->files);
	struct perfmap *map = perfmap_of(scene->files, &scene->process);
	assert_non_null(map);
	perfmap_ask(scene->files, map, ADDRESS);
	symbol_files_read(scene->files, NULL, stop, scene);
	assert_int_equal(loop_run(scene->loop), 0);
	const char *name = perfmap_find(map, ADDRESS, &len);
	snprintf(scene->name, sizeof(scene->name), "%.*s", (int)len, name ? name : "");
	symbol_files_trim(scene->files, 1);
	assert_null(perfmap_find(map, ADDRESS, &len));
	return scene->name;
}

static uint64_t lost(const struct scene *scene, enum perfmap_loss loss)
{
	struct symbol_files_stats stats;

	symbol_files_stats(scene->files, &stats);
	return stats.perfmaps_lost[loss];
}

static void what_a_process_tells_names_its_code(void **state)
{
	struct scene *scene = *state;

	assert_string_equal(named(scene), "");
	put(scene->path, "1000 20 work\n");
	assert_string_equal(named(scene), "work");
	for (int i = 0; i < PERFMAP_LOST_COUNT; i++)
		assert_int_equal(lost(scene, i), 0);
}

static void a_file_from_before_the_process_counts_from_its_end_on(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rename(scene->left, scene->path), 0);
	assert_string_equal(named(scene), "");
	assert_int_equal(lost(scene, PERFMAP_LOST_STALE), 1);
	put(scene->path, "1000 20 own\n");
	assert_string_equal(named(scene), "own");
	assert_int_equal(lost(scene, PERFMAP_LOST_STALE), 1);
}

static void a_file_from_before_that_is_written_anew_counts(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rename(scene->left, scene->path), 0);
	assert_string_equal(named(scene), "");
	assert_int_equal(truncate(scene->path, 0), 0);
	put(scene->path, "1000 20 a\n");
	assert_string_equal(named(scene), "a");
}

static void a_new_name_of_the_process_changes_nothing(void **state)
{
	struct scene *scene = *state;

	put(scene->path, "1000 20 work\n");
	assert_string_equal(named(scene), "work");
	scene->process.id++;
	assert_string_equal(named(scene), "work");
}

static void exec(struct scene *scene)
{
	char comm[PROC_COMM_BYTES] = "";
	struct timespec now;

	assert_int_equal(write(scene->go[1], "x", 1), 1);
	while (strcmp(comm, "sleep") != 0) {
		usleep(10000);
		assert_int_equal(proc_comm(scene->process.pid, comm), 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	scene->process.id = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void what_the_program_before_an_exec_told_does_not_count(void **state)
{
	struct scene *scene = *state;

	put(scene->path, "1000 20 before\n");
	assert_string_equal(named(scene), "before");
	struct perfmap_process old = scene->process;
	exec(scene);
	assert_string_equal(named(scene), "");
	assert_int_equal(lost(scene, PERFMAP_LOST_STALE), 1);
	put(scene->path, "1000 20 own\n");
	assert_string_equal(named(scene), "own");
	unlink(scene->path);
	usleep(20000);
	put(scene->path, "1000 20 new\n");
	assert_string_equal(named(scene), "new");
	scene->process = old; /* samples of it may come late */
	assert_string_not_equal(named(scene), "new");
}

/* Nothing but a regular file is ever opened. */
static void is_never_opened(struct scene *scene, mode_t kind, dev_t device)
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char event[4096];

	if (mknod(scene->path, kind | 0600, device) < 0) {
		assert_int_equal(errno, EPERM);
		print_message("no device can be made here\n");
		skip();
	}
	assert_true(inotify_add_watch(watch, scene->path, IN_OPEN) >= 0);
	assert_string_equal(named(scene), "");
	assert_int_equal(lost(scene, PERFMAP_LOST_FOREIGN), 1);
	assert_int_equal(read(watch, event, sizeof(event)), -1);
	assert_int_equal(errno, EAGAIN);
	_cleanup_close_ int fd = open(scene->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) /* so it would have been seen */
		assert_true(read(watch, event, sizeof(event)) > 0);
}

static void a_device_is_never_opened(void **state)
{
	is_never_opened(*state, S_IFCHR, makedev(1, 3)); /* null */
}

static void a_fifo_is_never_opened(void **state)
{
	is_never_opened(*state, S_IFIFO, 0);
}

static void beyond_its_room_addresses_are_counted(void **state)
{
	struct scene *scene = *state;

	symbol_files_begin(scene->files);
	struct perfmap *map = perfmap_of(scene->files, &scene->process);
	for (uint64_t i = 0; i < 65536 + 3; i++)
		perfmap_ask(scene->files, map, i);
	assert_int_equal(lost(scene, PERFMAP_LOST_NO_ROOM), 3);
	perfmap_ask(scene->files, NULL, ADDRESS);
	assert_int_equal(lost(scene, PERFMAP_LOST_NO_ROOM), 4);
}

static void all_maps_share_a_bound_of_memory(void **state)
{
	struct scene *scene = *state;
	struct perfmap_process process = scene->process;

	symbol_files_begin(scene->files);
	for (int n = 0; n < 16; n++, process.pid++) {
		struct perfmap *map = perfmap_of(scene->files, &process);

		for (uint64_t i = 0; i < 65536; i++)
			perfmap_ask(scene->files, map, i);
	}
	assert_true(lost(scene, PERFMAP_LOST_NO_ROOM) > 0);
	put(scene->path, "1000 20 work\n");
	assert_string_equal(named(scene), "work"); /* it was given back */
}

#define TEST(name)    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define PROCESSES_MAX 4096    /* as doc/formats.md has it */
#define NOBODY	      4194305 /* more than any pid */

/* Many others are met, and (`asked`) their addresses asked. */
static void fill(struct scene *scene, bool asked)
{
	for (int i = 0; i < PROCESSES_MAX; i++) {
		struct perfmap_process other = {NOBODY + i, 1, 1, 0};

		if (!asked) {
			perfmap_meet(scene->files, &other);
			continue;
		}
		struct perfmap *map = perfmap_of(scene->files, &other);
		assert_non_null(map);
		perfmap_ask(scene->files, map, ADDRESS);
	}
}

static void beyond_their_number_processes_are_counted_and_the_next_ones_served(void **state)
{
	struct scene *scene = *state;
	struct perfmap_process more = {NOBODY - 1, 1, 1, 0};

	put(scene->path, "1000 20 mine\n");
	symbol_files_begin(scene->files);
	fill(scene, true);
	for (int i = 0; i < 3; i++) {
		assert_null(perfmap_of(scene->files, i ? &scene->process : &more));
		perfmap_ask(scene->files, NULL, ADDRESS);
		perfmap_meet(scene->files, &scene->process);
	}
	assert_int_equal(lost(scene, PERFMAP_LOST_NO_ROOM), 3);
	symbol_files_read(scene->files, NULL, stop, scene);
	assert_int_equal(loop_run(scene->loop), 0);
	symbol_files_trim(scene->files, 1);
	assert_string_equal(named(scene), "mine"); /* the others have ended */
	assert_int_equal(lost(scene, PERFMAP_LOST_NO_ROOM), 3);
}

static void who_is_asked_has_room_before_those_that_were_only_met(void **state)
{
	struct scene *scene = *state;

	put(scene->path, "1000 20 mine\n");
	fill(scene, false);
	assert_string_equal(named(scene), "mine");
	assert_int_equal(lost(scene, PERFMAP_LOST_NO_ROOM), 0);
}

/* One window's reading is under way yet; the one before had no time for it. */
static void what_is_late_is_counted_once_and_stays_first(void **state)
{
	struct scene *scene = *state;

	put(scene->path, "1000 20 work\n");
	assert_string_equal(named(scene), "work"); /* a map without a file would be let go */
	symbol_files_begin(scene->files);
	struct perfmap *map = perfmap_of(scene->files, &scene->process);
	map->starved = true;
	map->of_rounds = 1;
	perfmap_ask(scene->files, map, ADDRESS);
	symbol_files_read(scene->files, NULL, stop, scene);
	assert_int_equal(lost(scene, PERFMAP_LOST_LATE), 1);
	assert_true(map->starved);
	map->of_rounds = 0;
	assert_string_equal(named(scene), "work");
	assert_false(map->starved);
}

static void a_map_that_was_given_up_is_counted_by_why(void **state)
{
	struct scene *scene = *state;

	symbol_files_begin(scene->files);
	struct perfmap *map = perfmap_of(scene->files, &scene->process);
	map->hangs = map->is_slow = true;
	perfmap_ask(scene->files, map, ADDRESS);
	assert_int_equal(lost(scene, PERFMAP_LOST_SLOW), 1);
	assert_int_equal(lost(scene, PERFMAP_LOST_HUNG), 0);
	map->is_slow = false;
	perfmap_ask(scene->files, map, ADDRESS);
	assert_int_equal(lost(scene, PERFMAP_LOST_HUNG), 1);
}

static void a_map_is_the_work_of_who_is_known_by_now(void **state)
{
	struct scene *scene = *state;
	struct perfmap *map = perfmap_of(scene->files, &scene->process);

	scene->process.whose = job_of(7, 5);
	assert_ptr_equal(perfmap_of(scene->files, &scene->process), map);
	assert_true(map->process.whose == job_of(7, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_a_process_tells_names_its_code),
		TEST(a_file_from_before_the_process_counts_from_its_end_on),
		TEST(a_file_from_before_that_is_written_anew_counts),
		TEST(a_new_name_of_the_process_changes_nothing),
		TEST(what_the_program_before_an_exec_told_does_not_count),
		TEST(a_device_is_never_opened),
		TEST(a_fifo_is_never_opened),
		TEST(beyond_its_room_addresses_are_counted),
		TEST(all_maps_share_a_bound_of_memory),
		TEST(beyond_their_number_processes_are_counted_and_the_next_ones_served),
		TEST(what_is_late_is_counted_once_and_stays_first),
		TEST(a_map_that_was_given_up_is_counted_by_why),
		TEST(who_is_asked_has_room_before_those_that_were_only_met),
		TEST(a_map_is_the_work_of_who_is_known_by_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
