// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of a process (a child of ours) that execs, forks, ends; who keeps it open. */
#include "unit/lib/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "loop/loop.h"
#include "unit/lib/open_fds.h"
#include "proc/proc.h"
#include "target/target_memory.h"
#include "target/target_table.h"

#define LIMIT_NS (1000 * NS_PER_MS)

static volatile uint64_t word = 0x1234567890abcdef;

struct child {
	pid_t pid;
	int to, from; /* a byte for it; one of it */
	struct process_memory_id id;
};

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(9);
}

static void hear(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		_exit(9);
}

/* At a byte it execs `cat`, which echoes; or forks, then each has another word. */
static void run_child(int from, int to, bool execs)
{
	tell(to);
	hear(from);
	if (execs) {
		dup2(from, STDIN_FILENO);
		dup2(to, STDOUT_FILENO);
		execl("/bin/cat", "cat", NULL);
		_exit(9);
	}
	pid_t pid = fork();
	if (pid == 0) {
		word = 0xc41d;
		for (;;)
			pause();
	}
	usleep(20000);
	if (write(to, &pid, sizeof(pid)) != sizeof(pid))
		_exit(9);
	hear(from);
	_exit(0);
}

static void child_begin(struct child *child, bool execs)
{
	int to[2], from[2];
	struct proc_stat stat;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	child->pid = fork();
	if (child->pid == 0) {
		close(to[1]);
		run_child(to[0], from[1], execs);
	}
	close(to[0]);
	close(from[1]);
	child->to = to[1];
	child->from = from[0];
	hear(child->from);
	assert_int_equal(proc_stat(child->pid, &stat), 0);
	child->id =
		(struct process_memory_id){child->pid, stat.start_ticks, proc_program(child->pid)};
	assert_true(child->id.program != 0);
}

static void child_end(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	close(child->to);
	close(child->from);
}

static int read_word(int fd)
{
	uint64_t read = 0;
	int r = process_memory_read(fd, (uintptr_t)&word, &read, sizeof(read));

	if (r == 0)
		assert_int_equal(read, word);
	return r;
}

static void exec_it(const struct child *child)
{
	tell(child->to);
	tell(child->to);
	hear(child->from); /* it is another program now */
}

/* ---- proc/process_memory ---- */

static void memory_is_read(void **state)
{
	struct child child;
	char byte;

	(void)state;
	child_begin(&child, true);
	_cleanup_close_ int fd = process_memory_open(&child.id);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(read_word(fd), 0);
	assert_int_equal(process_memory_read(fd, 0, &byte, 1), -EFAULT);
	assert_int_equal(process_memory_read(fd, 1ULL << 63, &byte, 1), -EFAULT);
	assert_int_equal(process_memory_read(fd, UINT64_MAX, &byte, 1), -EFAULT);
	assert_int_equal(process_memory_read(fd, 0, &byte, 0), 0);
	child_end(&child);
	assert_int_equal(read_word(fd), -ESRCH);
}

static void what_it_became_by_an_exec_is_not_read(void **state)
{
	struct child child;
	uint64_t other = 0;

	(void)state;
	child_begin(&child, true);
	_cleanup_close_ int before = process_memory_open(&child.id);
	assert_int_equal(read_word(before), 0);
	exec_it(&child);
	/* By the pid all of the new program could be read. */
	_cleanup_close_ int now = process_memory_open(&(struct process_memory_id){
		child.pid, child.id.start_ticks, proc_program(child.pid)});
	assert_true(now >= 0);
	assert_int_equal(process_memory_read(before, (uintptr_t)&word, &other, sizeof(other)),
			 -ESRCH);
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
	child.id.start_ticks = 0;
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
	child_end(&child);
}

static void another_process_of_that_pid_is_not_read(void **state)
{
	struct child child;

	(void)state;
	child_begin(&child, true);
	child.id.start_ticks--;
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
	child.id.start_ticks++;
	child.id.program++;
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
	child.id.program = 0; /* it was never looked at */
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
	child_end(&child);
	assert_int_equal(process_memory_open(&child.id), -ESRCH);
}

static void a_forked_process_has_its_own(void **state)
{
	struct child child;
	uint64_t read_of = 0;
	pid_t forked;

	(void)state;
	child_begin(&child, false);
	_cleanup_close_ int fd = process_memory_open(&child.id);
	tell(child.to);
	assert_int_equal(read(child.from, &forked, sizeof(forked)), sizeof(forked));
	struct process_memory_id id = {forked, 0, child.id.program};
	_cleanup_close_ int forked_fd = process_memory_open(&id);
	assert_true(forked_fd >= 0); /* the same program */
	assert_int_equal(
		process_memory_read(forked_fd, (uintptr_t)&word, &read_of, sizeof(read_of)), 0);
	assert_int_equal(read_of, 0xc41d);
	assert_int_equal(read_word(fd), 0);
	kill(forked, SIGKILL);
	child_end(&child);
}

/* ---- target/target_memory ---- */

struct scene {
	struct loop *loop;
	struct worker *worker;
	struct target_table *table;
	struct child child;
	struct target *target;
};

static void scene_begin(struct scene *scene)
{
	assert_int_equal(loop_new(&scene->loop), 0);
	assert_int_equal(worker_new(&scene->worker, scene->loop, "test", LIMIT_NS), 0);
	assert_int_equal(target_table_new(&scene->table, 16), 0);
	child_begin(&scene->child, true);
	struct target like = {.pid = scene->child.pid,
			      .id = 1,
			      .start_ticks = scene->child.id.start_ticks,
			      .program = scene->child.id.program};
	scene->target = target_table_add(scene->table, &like);
	assert_non_null(scene->target);
}

static void scene_end(struct scene *scene)
{
	target_table_free(scene->table);
	worker_stop(scene->worker);
	worker_free(scene->worker);
	loop_free(scene->loop);
	child_end(&scene->child);
}

static int read_by(struct job_memory *memory)
{
	const struct process_memory reader = job_memory_reader(memory);
	uint64_t read;

	return reader.read(reader.arg, (uintptr_t)&word, &read, sizeof(read));
}

static void a_target_keeps_what_a_job_opened(void **state)
{
	struct job_memory first, second;
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	target_memory_of(&first, scene.target, scene.worker);
	assert_int_equal(read_by(&first), 0);
	job_memory_close(&first);
	target_memory_keep(scene.target, &first);
	assert_non_null(scene.target->memory);
	job_memory_done(&first);
	unsigned fds = count_fds();
	target_memory_of(&second, scene.target, scene.worker);
	assert_int_equal(read_by(&second), 0);
	assert_int_equal(count_fds(), fds);
	exec_it(&scene.child);
	assert_int_equal(read_by(&second), -ESRCH);
	target_table_end(scene.table, scene.target, 2);
	assert_null(scene.target->memory);
	job_memory_done(&second);
	scene_end(&scene);
}

static void nothing_is_opened_for_a_job_that_reads_nothing(void **state)
{
	struct job_memory memory;
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	unsigned fds = count_fds();
	target_memory_of(&memory, scene.target, scene.worker);
	job_memory_close(&memory);
	target_memory_keep(scene.target, &memory);
	assert_null(scene.target->memory);
	job_memory_done(&memory);
	assert_int_equal(count_fds(), fds);
	scene_end(&scene);
}

/* Of another program, or of one that has ended, no target keeps anything. */
static void a_target_that_became_another_keeps_nothing(void **state)
{
	struct job_memory memory;
	struct scene scene;

	(void)state;
	scene_begin(&scene);
	target_memory_of(&memory, scene.target, scene.worker);
	assert_int_equal(read_by(&memory), 0);
	scene.target->program++;
	target_memory_keep(scene.target, &memory);
	assert_null(scene.target->memory);
	scene.target->program--;
	target_table_end(scene.table, scene.target, 2);
	target_memory_keep(scene.target, &memory);
	assert_null(scene.target->memory);
	job_memory_done(&memory);
	scene_end(&scene);
}

static void without_a_place_each_job_opens_and_checks_it(void **state)
{
	struct job_memory memory;
	struct scene scene;
	size_t taken = 0;

	(void)state;
	scene_begin(&scene);
	while (fd_budget_take())
		taken++;
	unsigned fds = count_fds();
	for (int i = 0; i < 3; i++) {
		target_memory_of(&memory, scene.target, scene.worker);
		assert_int_equal(read_by(&memory), 0);
		assert_int_equal(count_fds(), fds + 1);
		job_memory_close(&memory);
		assert_int_equal(count_fds(), fds);
		target_memory_keep(scene.target, &memory);
		assert_null(scene.target->memory);
		job_memory_done(&memory);
	}
	target_memory_of(&memory, scene.target, scene.worker);
	exec_it(&scene.child);
	assert_int_equal(read_by(&memory), -ESRCH);
	job_memory_done(&memory);
	fd_budget_give_many((unsigned)taken);
	scene_end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read),
		cmocka_unit_test(what_it_became_by_an_exec_is_not_read),
		cmocka_unit_test(another_process_of_that_pid_is_not_read),
		cmocka_unit_test(a_forked_process_has_its_own),
		cmocka_unit_test(a_target_keeps_what_a_job_opened),
		cmocka_unit_test(nothing_is_opened_for_a_job_that_reads_nothing),
		cmocka_unit_test(a_target_that_became_another_keeps_nothing),
		cmocka_unit_test(without_a_place_each_job_opens_and_checks_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
