// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job looks at a VM's process and forks the process that asks the VM; the answer comes by a
 * socket.
 */
#include "java/agents/attach_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/close_job.h"
#include "loop/reaper.h"

#define KILL_MS 3000 /* ms after its own limit */

struct attach_queue {
	struct loop *loop;
	struct worker *foreign;
	struct attach_request *first, **last; /* waiting ones */
	struct attach_request *asked;
	unsigned count; /* number of those asked */
	unsigned at_once;
	struct loop_call turn;
	bool turn_posted;
	struct loop_timer burial;
};

/* A job that looks at a process and forks the process that asks. */
struct look_job {
	struct job job;
	struct worker *closer;
	struct attach_request *question; /* while the job isn't given up */
	struct attach_process process;
	/* its descriptors are copies: the job may outlive the request */
	struct attach_order order;
	struct attach attach; /* child 0: not forked, or handed over */
	enum attach_result result;
	int error;
	_Atomic bool begun, given_up;
	pid_t pid;
	uint64_t start_ticks;
};

/* ---- queue ---- */

static void append_request(struct attach_queue *queue, struct attach_request *question)
{
	question->next = NULL;
	*queue->last = question;
	queue->last = &question->next;
}

static void take_out(struct attach_queue *queue, struct attach_request **from,
		     struct attach_request *question)
{
	while (*from != question)
		from = &(*from)->next;
	*from = question->next;
	if (queue->last == &question->next)
		queue->last = from;
	question->next = NULL;
}

static void post_turn(struct attach_queue *queue)
{
	if (queue->turn_posted || !queue->first || queue->count >= queue->at_once)
		return;
	queue->turn_posted = true;
	loop_post(queue->loop, &queue->turn);
}

/* ---- answers ---- */

static void answer_request(struct attach_request *question, const struct attach_answer *told)
{
	struct attach_queue *queue = question->queue;

	take_out(queue, &queue->asked, question);
	queue->count--;
	question->step = QUESTION_NONE;
	question->answered(question, told);
	post_turn(queue);
}

static void fail_request(struct attach_request *question, enum attach_result result, int error)
{
	answer_request(question,
		       &(struct attach_answer){
			       .result = result, .error = error, .folder_fd = -1, .tmp_fd = -1});
}

static void bury_all(void *arg)
{
	struct attach_queue *queue = arg;

	if (reaper_bury())
		loop_timer_set(queue->loop, &queue->burial, loop_now_ns() + NS_PER_S);
}

/* Waits for the child, or leaves that to the reaper. */
static void bury_child(struct attach_queue *queue, struct attach *attach)
{
	if (!attach_bury(attach))
		reaper_leave(attach->child);
	attach->child = 0;
	bury_all(queue);
}

static void answer_comes(void *arg)
{
	struct attach_request *question = arg;
	struct attach_queue *queue = question->queue;
	struct attach_answer told = {0};

	loop_unwatch(queue->loop, &question->watch);
	loop_timer_cancel(queue->loop, &question->limit);
	attach_finish(&question->attach, &told);
	bury_child(queue, &question->attach);
	answer_request(question, &told);
}

static void limit_passes(void *arg)
{
	struct attach_request *question = arg;

	attach_kill(&question->attach);
	answer_comes(question); /* without an answer */
}

static void await_answer(struct attach_request *question)
{
	struct attach_queue *queue = question->queue;
	uint64_t limit_ms = question->order.limit_ms + KILL_MS;

	question->watch = (struct loop_watch){.fd = question->attach.fd,
					      .ready = answer_comes,
					      .arg = question,
					      .name = "attach"};
	question->limit =
		(struct loop_timer){.expired = limit_passes, .arg = question, .name = "attach"};
	loop_timer_set(queue->loop, &question->limit, loop_now_ns() + limit_ms * NS_PER_MS);
	if (loop_watch(queue->loop, &question->watch) < 0)
		loop_timer_set(queue->loop, &question->limit, loop_now_ns());
}

/* ---- the look ---- */

/* Closes in a job: these may be the last descriptors, and closing hang. */
static void close_copies(struct look_job *mine)
{
	int folder_fd = TAKE_FD(mine->order.folder_fd), tmp_fd = TAKE_FD(mine->order.tmp_fd);

	cleanup_close(&folder_fd);
	cleanup_close(&tmp_fd);
}

static void look_job_run(struct job *job)
{
	struct look_job *mine = (struct look_job *)job;

	atomic_store(&mine->begun, true);
	mine->result = attach_look(&mine->process, mine->pid, mine->start_ticks);
	if (mine->result == ATTACH_DONE && !atomic_load(&mine->given_up)) {
		mine->error = -attach_begin(&mine->attach, &mine->process, &mine->order);
		if (mine->error)
			mine->result = ATTACH_SYSTEM;
	}
	attach_process_done(&mine->process);
	close_copies(mine);
}

static void look_job_done(struct job *job, bool finished)
{
	struct look_job *mine = (struct look_job *)job;
	struct attach_request *question = mine->question;

	if (!finished) {
		atomic_store(&mine->given_up, true); /* nobody waits for its answer */
		/* A job that didn't begin waited for others that hang. */
		fail_request(question, atomic_load(&mine->begun) ? ATTACH_HUNG : ATTACH_SILENT, 0);
	} else if (mine->result != ATTACH_DONE) {
		fail_request(question, mine->result, mine->error);
	} else {
		question->process = mine->process;
		question->attach = mine->attach;
		mine->attach = (struct attach){.fd = -1};
		await_answer(question);
	}
}

static void free_looking(struct job *job)
{
	struct look_job *mine = (struct look_job *)job;

	/* Nobody waits for the child's answer: it ends by itself. */
	cleanup_close(&mine->attach.fd);
	if (!attach_bury(&mine->attach))
		reaper_leave(mine->attach.child);
	/* Descriptors of a job that never began. */
	int fds[] = {mine->order.folder_fd, mine->order.tmp_fd};
	close_later(mine->closer, mine->job.whose, fds, ARRAY_SIZE(fds), NULL);
	free(mine);
}

static int copy_fd(int *fd)
{
	if (*fd < 0)
		return 0;
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? -errno : 0;
}

static void begin_look(struct attach_request *question)
{
	struct look_job *mine = calloc(1, sizeof(*mine));

	if (!mine) {
		fail_request(question, ATTACH_SYSTEM, ENOMEM);
		return;
	}
	mine->job = (struct job){.run = look_job_run, .done = look_job_done, .free = free_looking};
	mine->job.whose = question->whose;
	mine->closer = question->queue->foreign;
	mine->question = question;
	mine->order = question->order;
	mine->attach.fd = -1;
	mine->pid = question->pid;
	mine->start_ticks = question->start_ticks;
	int r = copy_fd(&mine->order.folder_fd);
	int also = copy_fd(&mine->order.tmp_fd);
	if (r < 0 || also < 0) {
		fail_request(question, ATTACH_SYSTEM, r < 0 ? -r : -also);
		free_looking(&mine->job);
		return;
	}
	worker_submit(question->queue->foreign, &mine->job);
}

/* ---- turns ---- */

static void begin_request(struct attach_request *question)
{
	struct attach_queue *queue = question->queue;

	take_out(queue, &queue->first, question);
	question->next = queue->asked;
	queue->asked = question;
	queue->count++;
	question->step = QUESTION_ASKED;
	if (!reaper_has_room()) {
		fail_request(question, ATTACH_SYSTEM, EAGAIN);
		return;
	}
	if (question->look) {
		begin_look(question);
		return;
	}
	int r = attach_begin(&question->attach, &question->process, &question->order);
	if (r < 0)
		fail_request(question, ATTACH_SYSTEM, -r);
	else
		await_answer(question);
}

static void take_turns(void *arg)
{
	struct attach_queue *queue = arg;

	queue->turn_posted = false;
	while (queue->first && queue->count < queue->at_once)
		begin_request(queue->first);
}

void attach_queue_ask(struct attach_queue *queue, struct attach_request *question)
{
	question->queue = queue;
	question->step = QUESTION_WAITING;
	question->attach = (struct attach){.fd = -1};
	append_request(queue, question);
	post_turn(queue);
}

bool attach_queue_drop(struct attach_request *question)
{
	if (question->step == QUESTION_WAITING) {
		take_out(question->queue, &question->queue->first, question);
		question->step = QUESTION_NONE;
	}
	return question->step == QUESTION_NONE;
}

int attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign)
{
	struct attach_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	queue->loop = loop;
	queue->foreign = foreign;
	queue->last = &queue->first;
	queue->at_once = ASKING_AT_ONCE_MAX;
	queue->turn = (struct loop_call){.run = take_turns, .arg = queue, .name = "attach"};
	queue->burial = (struct loop_timer){.expired = bury_all, .arg = queue, .name = "attach"};
	*ret = queue;
	return 0;
}

void attach_queue_limit(struct attach_queue *queue, unsigned at_once)
{
	queue->at_once = at_once;
}

/* Leaves a child to end by itself. */
static void leave_child(struct attach_request *question)
{
	struct loop *loop = question->queue->loop;

	if (question->attach.fd < 0)
		return; /* a job looks at the process */
	loop_timer_cancel(loop, &question->limit);
	loop_unwatch(loop, &question->watch);
	close(question->attach.fd);
}

void attach_queue_tell(const struct attach_request *question)
{
	struct attach attach;

	if (attach_begin(&attach, &question->process, &question->order) == 0)
		close(attach.fd);
}

void attach_queue_free(struct attach_queue *queue)
{
	if (!queue)
		return;
	loop_unpost(queue->loop, &queue->turn);
	loop_timer_cancel(queue->loop, &queue->burial);
	for (struct attach_request *question = queue->first; question; question = question->next) {
		if (!question->look)
			attach_queue_tell(question);
		question->step = QUESTION_NONE;
	}
	for (struct attach_request *question = queue->asked; question; question = question->next) {
		leave_child(question);
		question->step = QUESTION_NONE;
	}
	free(queue);
}
