// SPDX-License-Identifier: GPL-2.0-only
/* Asking VMs: looks at processes and what they fork are made up here (--wrap). */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/loop.h"
#include "profile/asking.h"

#define LIMIT_NS (40 * NS_PER_MS)

static struct {
	struct loop *loop;
	struct worker *worker;
	struct asking *asking;
	struct question question;
	struct attach_answer answer;
	sem_t hanging; /* a look waits for it, or what forks does */
	int folder_fd;
	bool look_hangs, hangs;
	atomic_int children; /* that were forked */
	atomic_int own;	     /* with descriptors that aren't the question's */
} test;

enum attach_result __wrap_attach_look(struct attach_process *process, pid_t pid,
				      uint64_t start_ticks);
int __wrap_attach_begin(struct attach *attach, const struct attach_process *process,
			const struct attach_order *order);

enum attach_result __wrap_attach_look(struct attach_process *process, pid_t pid,
				      uint64_t start_ticks)
{
	(void)pid, (void)start_ticks;
	*process = (struct attach_process)ATTACH_PROCESS_NONE;
	if (test.look_hangs)
		sem_wait(&test.hanging);
	return ATTACH_DONE;
}

/* The child ends with its end of the socket. */
int __wrap_attach_begin(struct attach *attach, const struct attach_process *process,
			const struct attach_order *order)
{
	int ends[2];

	(void)process;
	if (test.hangs)
		sem_wait(&test.hanging);
	if (order->folder_fd != test.folder_fd && fcntl(order->folder_fd, F_GETFD) >= 0)
		atomic_fetch_add(&test.own, 1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		char byte;

		close(ends[0]);
		if (test.hangs)
			recv(ends[1], &byte, 1, 0);
		_exit(0);
	}
	close(ends[1]);
	*attach = (struct attach){.child = child, .fd = ends[0]};
	atomic_fetch_add(&test.children, 1);
	return 0;
}

static void answered(struct question *question, const struct attach_answer *answer)
{
	(void)question;
	test.answer = *answer;
	loop_stop(test.loop);
}

static void ask(bool hangs, enum attach_result result)
{
	test.hangs = hangs;
	test.question = (struct question){
		.pid = getpid(),
		.look = true,
		.answered = answered,
		.order = {.limit_ms = 1000, .folder_fd = test.folder_fd, .tmp_fd = -1},
	};
	asking_ask(test.asking, &test.question);
	assert_int_equal(loop_run(test.loop), 0);
	assert_int_equal(test.answer.result, result);
}

static void stop(void *arg)
{
	(void)arg;
	loop_stop(test.loop);
}

static void run_for(uint64_t ns)
{
	struct loop_timer timer = {.expired = stop};

	loop_timer_set(test.loop, &timer, loop_now_ns() + ns);
	assert_int_equal(loop_run(test.loop), 0);
	loop_timer_cancel(test.loop, &timer);
}

static unsigned count_children(void)
{
	siginfo_t info = {0};

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	sem_init(&test.hanging, 0, 0);
	test.folder_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "foreign", LIMIT_NS), 0);
	assert_int_equal(asking_new(&test.asking, test.loop, test.worker), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	asking_free(test.asking);
	worker_stop(test.worker);
	worker_free(test.worker);
	loop_free(test.loop);
	close(test.folder_fd);
	return 0;
}

static unsigned count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void a_look_that_was_given_up_asks_nobody(void **state)
{
	unsigned fds = count_fds();

	(void)state;
	test.look_hangs = true;
	ask(false, ATTACH_HUNG);
	assert_int_equal(count_fds(), fds + 1); /* its copy */
	sem_post(&test.hanging);
	for (int i = 0; i < 500 && count_fds() > fds; i++)
		usleep(10000);
	assert_int_equal(count_fds(), fds);
	assert_int_equal(atomic_load(&test.children), 0);
	test.look_hangs = false;
	ask(false, ATTACH_SILENT);
	assert_int_equal(atomic_load(&test.own), 1);
	assert_int_equal(count_fds(), fds);
}

static void what_a_look_forked_that_was_given_up_is_buried(void **state)
{
	(void)state;
	ask(true, ATTACH_HUNG);
	assert_int_equal(atomic_load(&test.children), 0);
	sem_post(&test.hanging);
	for (int i = 0; i < 500 && !atomic_load(&test.children); i++)
		usleep(10000);
	assert_int_equal(atomic_load(&test.children), 1);
	usleep(300000); /* it is left by its thread, and ends */
	assert_int_equal(count_children(), 1);
	ask(false, ATTACH_SILENT);
	for (int i = 0; i < 20 && count_children(); i++)
		run_for(500 * NS_PER_MS); /* the last one may have been about to end */
	assert_int_equal(count_children(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_look_that_was_given_up_asks_nobody, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_a_look_forked_that_was_given_up_is_buried,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
