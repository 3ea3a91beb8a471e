// SPDX-License-Identifier: GPL-2.0-or-later
/* Asking VMs: looks at processes and what they fork are made up here (--wrap). */
#include "unit/lib/open_fds.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "loop/loop.h"
#include "java/agents/attach_queue.h"

#define LIMIT_NS (200 * NS_PER_MS)

static struct {
	struct loop *loop;
	struct worker *worker;
	struct attach_queue *asking;
	struct attach_request question;
	struct attach_answer answer;
	sem_t hanging; /* a look waits for it, or what forks does */
	int folder_fd;
	bool look_hangs, hangs;
	bool stays;	     /* a child says that it has ended, and goes on until it is killed */
	atomic_int children; /* that were forked */
	atomic_int last;     /* its pid */
	atomic_int stops;    /* of these: that tell a VM to stop */
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

static void run_child(int fd)
{
	sigset_t none;
	char byte;

	sigemptyset(&none); /* who forks is a worker's thread */
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(60);
	if (test.hangs)
		recv(fd, &byte, 1, 0);
	close(fd);
	if (test.stays)
		pause();
	_exit(0);
}

/* The child ends with its end of the socket. */
int __wrap_attach_begin(struct attach *attach, const struct attach_process *process,
			const struct attach_order *order)
{
	int ends[2];

	(void)process;
	if (test.hangs && order->task != ATTACH_STOP)
		sem_wait(&test.hanging);
	if (order->folder_fd != test.folder_fd && fcntl(order->folder_fd, F_GETFD) >= 0)
		atomic_fetch_add(&test.own, 1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		run_child(ends[1]);
	}
	close(ends[1]);
	*attach = (struct attach){.child = child, .fd = ends[0]};
	atomic_store(&test.last, child);
	atomic_fetch_add(&test.stops, order->task == ATTACH_STOP);
	atomic_fetch_add(&test.children, 1);
	return 0;
}

static void answered(struct attach_request *question, const struct attach_answer *answer)
{
	(void)question;
	test.answer = *answer;
	loop_stop(test.loop);
}

static void ask(bool hangs, enum attach_result result)
{
	test.hangs = hangs;
	test.question = (struct attach_request){
		.pid = getpid(),
		.look = true,
		.answered = answered,
		.order = {.limit_ms = 1000, .folder_fd = test.folder_fd, .tmp_fd = -1},
	};
	attach_queue_ask(test.asking, &test.question);
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

static void wait_for_children(int count)
{
	for (int i = 0; i < 500 && atomic_load(&test.children) < count; i++)
		usleep(10000);
	assert_int_equal(atomic_load(&test.children), count);
}

static bool goes_on(pid_t child)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}

/* It isn't buried yet. */
static void end_child(pid_t child)
{
	siginfo_t info;

	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

static bool is_buried(pid_t child)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

static int set_up(void **state)
{
	(void)state;
	memset(&test, 0, sizeof(test));
	sem_init(&test.hanging, 0, 0);
	test.folder_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(loop_new(&test.loop), 0);
	assert_int_equal(worker_new(&test.worker, test.loop, "foreign", LIMIT_NS), 0);
	assert_int_equal(attach_queue_new(&test.asking, test.loop, test.worker), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	attach_queue_free(test.asking);
	worker_stop(test.worker);
	worker_free(test.worker);
	loop_free(test.loop);
	close(test.folder_fd);
	while (wait(NULL) > 0) /* none is the next test's */
		;
	return 0;
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
	wait_for_children(1);
	/* Its thread leaves it, and it ends: it is buried at once, or by a later question. */
	while (goes_on(atomic_load(&test.last)))
		usleep(1000);
	ask(false, ATTACH_SILENT);
	for (int i = 0; i < 20 && count_children(); i++)
		run_for(500 * NS_PER_MS); /* the last one may have been about to end */
	assert_int_equal(count_children(), 0);
}

/* Its place is its own meanwhile. */
static void one_that_goes_on_is_buried_when_it_ends(void **state)
{
	(void)state;
	test.stays = true;
	ask(true, ATTACH_HUNG);
	sem_post(&test.hanging);
	wait_for_children(1);
	pid_t orphan = atomic_load(&test.last);
	usleep(300000); /* it is left by its thread */
	test.stays = false;
	ask(false, ATTACH_SILENT);
	assert_true(goes_on(orphan));
	end_child(orphan);
	ask(false, ATTACH_SILENT);
	assert_true(is_buried(orphan));
}

static void one_that_has_answered_and_goes_on_is_buried_by_and_by(void **state)
{
	(void)state;
	test.stays = true;
	ask(false, ATTACH_SILENT);
	pid_t child = atomic_load(&test.last);
	run_for(1200 * NS_PER_MS);
	assert_true(goes_on(child));
	end_child(child);
	for (int i = 0; i < 20 && !is_buried(child); i++)
		run_for(500 * NS_PER_MS); /* nobody else is asked */
	assert_true(is_buried(child));
}

static void at_the_end_who_waits_is_asked_if_it_needs_no_look(void **state)
{
	struct attach_request stops[2], starts;
	unsigned fds = count_fds();

	(void)state;
	test.hangs = true;
	attach_queue_limit(test.asking, 1);
	starts =
		(struct attach_request){.look = true,
					.answered = answered,
					.order = {.folder_fd = -1, .tmp_fd = -1, .limit_ms = 1000}};
	stops[0] = stops[1] = starts;
	for (int i = 0; i < 2; i++) {
		stops[i].look = false;
		stops[i].order.task = ATTACH_STOP;
		attach_queue_ask(test.asking, &stops[i]);
	}
	attach_queue_ask(test.asking, &starts);
	run_for(50 * NS_PER_MS);
	assert_int_equal(atomic_load(&test.stops), 1);
	assert_int_equal(stops[0].step, QUESTION_ASKED);
	assert_int_equal(stops[1].step, QUESTION_WAITING);
	sem_post(&test.hanging); /* should it be asked all the same */
	attach_queue_free(TAKE_PTR(test.asking));
	assert_int_equal(atomic_load(&test.stops), 2);
	assert_int_equal(atomic_load(&test.children), 2);
	assert_int_equal(stops[0].step, QUESTION_NONE);
	assert_int_equal(stops[1].step, QUESTION_NONE);
	assert_int_equal(starts.step, QUESTION_NONE);
	assert_int_equal(count_fds(), fds);
	run_for(10 * NS_PER_MS); /* nothing of it is called any more */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_look_that_was_given_up_asks_nobody, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_a_look_forked_that_was_given_up_is_buried,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_goes_on_is_buried_when_it_ends, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			one_that_has_answered_and_goes_on_is_buried_by_and_by, set_up, tear_down),
		cmocka_unit_test_setup_teardown(at_the_end_who_waits_is_asked_if_it_needs_no_look,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
