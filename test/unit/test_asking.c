// SPDX-License-Identifier: GPL-2.0-only
/* Asking VMs: looks at processes and what they fork are made up here (--wrap). */
#include "unit.h"

#include <errno.h>
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
	sem_t hanging; /* a look waits for it */
	bool hangs;
	atomic_int children; /* that were forked */
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
	if (test.hangs)
		sem_wait(&test.hanging);
	return ATTACH_DONE;
}

/* The child ends with its end of the socket. */
int __wrap_attach_begin(struct attach *attach, const struct attach_process *process,
			const struct attach_order *order)
{
	int ends[2];

	(void)process, (void)order;
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
		.pid = getpid(), .look = true, .answered = answered, .order = {.limit_ms = 1000}};
	asking_ask(test.asking, &test.question);
	assert_int_equal(loop_run(test.loop), 0);
	assert_int_equal(test.answer.result, result);
}

static unsigned count_children(void)
{
	siginfo_t info = {0};

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void what_a_look_forked_that_was_given_up_is_buried(void **state)
{
	(void)state;
	sem_init(&test.hanging, 0, 0);
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "foreign", LIMIT_NS), 0);
	assert_int_equal(asking_new(&test.asking, test.loop, test.worker), 0);
	ask(true, ATTACH_HUNG);
	assert_int_equal(atomic_load(&test.children), 0);
	sem_post(&test.hanging);
	for (int i = 0; i < 500 && !atomic_load(&test.children); i++)
		usleep(10000);
	assert_int_equal(atomic_load(&test.children), 1);
	usleep(300000); /* it is left by its thread, and ends */
	assert_int_equal(count_children(), 1);
	ask(false, ATTACH_SILENT);
	for (int i = 0; i < 50 && count_children(); i++) {
		usleep(10000);
		ask(false, ATTACH_SILENT);
	}
	assert_int_equal(count_children(), 0);
	asking_free(test.asking);
	worker_stop(test.worker);
	worker_free(test.worker);
	loop_free(test.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_look_forked_that_was_given_up_is_buried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
