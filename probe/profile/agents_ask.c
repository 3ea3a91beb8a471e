// SPDX-License-Identifier: GPL-2.0-only
/* Asking one VM: a job looks at it and forks the process that asks; its answer comes by a socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "jvm_agent/format.h"
#include "profile/agents_state.h"

#define LIMIT_MS      10000 /* a VM that has much code, and little CPU time */
#define STOP_LIMIT_MS 3000
#define KILL_MS	      3000 /* after its own limit */
#define BYTES_MAX     (10U << 20)

struct looking {
	struct job job;
	struct agents *agents;
	struct attach_process process;
	struct attach attach; /* child 0: it was not forked, or is taken */
	enum attach_result result;
	int error;
	pid_t pid;
	uint64_t id, start_ticks;
};

static void look(struct job *job)
{
	struct looking *mine = (struct looking *)job;
	struct attach_order order = {.task = ATTACH_START,
				     .bytes_max = BYTES_MAX,
				     .limit_ms = LIMIT_MS,
				     .folder_fd = -1,
				     .tmp_fd = -1};

	mine->result = attach_look(&mine->process, mine->pid, mine->start_ticks);
	if (mine->result == ATTACH_DONE) {
		mine->error = -attach_begin(&mine->attach, &mine->process, &order);
		if (mine->error)
			mine->result = ATTACH_SYSTEM;
	}
	attach_process_done(&mine->process);
}

static struct agent *find(const struct agents *agents, pid_t pid, uint64_t id)
{
	for (struct agent *agent = agents->all; agent; agent = agent->next) {
		if (agent->pid == pid && agent->id == id && !agent->stopping)
			return agent;
	}
	return NULL;
}

void agents_bury(void *arg)
{
	struct agents *agents = arg;
	bool any = false;

	for (int i = 0; i < AGENTS_AT_ONCE; i++) {
		if (agents->unburied[i] && waitpid(agents->unburied[i], NULL, WNOHANG) != 0)
			agents->unburied[i] = 0;
		any |= agents->unburied[i] != 0;
	}
	if (any)
		loop_timer_set(agents->loop, &agents->burial, loop_now_ns() + NS_PER_S);
}

/* It has ended, or is soon buried with others. */
static void bury(struct agents *agents, struct attach *attach)
{
	agents_bury(agents);
	for (int i = 0; i < AGENTS_AT_ONCE && !attach_bury(attach); i++) {
		if (!agents->unburied[i]) {
			agents->unburied[i] = attach->child;
			attach->child = 0;
			loop_timer_set(agents->loop, &agents->burial, loop_now_ns() + NS_PER_S);
		}
	}
}

static void answer_comes(void *arg)
{
	struct agent *agent = arg;
	struct agents *agents = agent->agents;
	struct attach_answer answer = {0};

	loop_unwatch(agents->loop, &agent->watch);
	loop_timer_cancel(agents->loop, &agent->limit);
	attach_finish(&agent->attach, &answer);
	bury(agents, &agent->attach);
	agents->asking--;
	agent_answered(agent, &answer);
}

static void limit_passes(void *arg)
{
	struct agent *agent = arg;

	attach_kill(&agent->attach);
	answer_comes(agent); /* there is none */
}

static void follow(struct agent *agent, uint32_t limit_ms)
{
	struct agents *agents = agent->agents;

	agent->watch =
		(struct loop_watch){.fd = agent->attach.fd, .ready = answer_comes, .arg = agent};
	agent->limit = (struct loop_timer){.expired = limit_passes, .arg = agent};
	agents->asking++;
	loop_timer_set(agents->loop, &agent->limit,
		       loop_now_ns() + (uint64_t)(limit_ms + KILL_MS) * NS_PER_MS);
	if (loop_watch(agents->loop, &agent->watch) < 0)
		loop_timer_set(agents->loop, &agent->limit, loop_now_ns());
}

static void fail(struct agent *agent, enum attach_result result, int error)
{
	struct attach_answer answer = {
		.result = result, .error = error, .folder_fd = -1, .tmp_fd = -1};

	agent_answered(agent, &answer);
}

static void looked(struct job *job, bool finished)
{
	struct looking *mine = (struct looking *)job;
	struct agents *agents = mine->agents;
	struct agent *agent = find(agents, mine->pid, mine->id);

	agents->asking--;
	if (!agent)
		return;
	if (!finished) {
		fail(agent, ATTACH_SILENT, 0);
	} else if (mine->result != ATTACH_DONE) {
		fail(agent, mine->result, mine->error);
	} else {
		agent->process = mine->process;
		agent->attach = mine->attach;
		mine->attach = (struct attach){.fd = -1};
		follow(agent, LIMIT_MS);
	}
}

static void free_looking(struct job *job)
{
	struct looking *mine = (struct looking *)job;

	/* Nobody waits for its answer: it ends by itself. */
	cleanup_close(&mine->attach.fd);
	attach_bury(&mine->attach);
	free(mine);
}

void agent_start(struct agent *agent)
{
	struct agents *agents = agent->agents;
	struct looking *mine = calloc(1, sizeof(*mine));

	agent->asked_ns = loop_now_ns();
	agent->step = AGENT_ATTACHING;
	if (!mine) {
		fail(agent, ATTACH_SYSTEM, ENOMEM);
		return;
	}
	mine->job = (struct job){.run = look, .done = looked, .free = free_looking};
	mine->agents = agents;
	mine->attach.fd = -1;
	mine->pid = agent->pid;
	mine->id = agent->id;
	mine->start_ticks = agent->start_ticks;
	agents->asking++;
	worker_submit(agents->foreign, &mine->job);
}

void agent_stop(struct agent *agent)
{
	agent->stopping = true;
	agent->step = AGENT_WAITING;
	jvmfile_unref(TAKE_PTR(agent->file));
	if (agent->folder_fd < 0)
		agent_remove(agent);
}

void agent_tell(struct agent *agent)
{
	struct agents *agents = agent->agents;
	struct attach_order order = {.task = ATTACH_STOP,
				     .limit_ms = STOP_LIMIT_MS,
				     .folder_fd = agent->folder_fd,
				     .tmp_fd = agent->tmp_fd};
	int fds[] = {agent->folder_fd, agent->tmp_fd};

	agent->step = AGENT_ATTACHING;
	agent->folder_fd = agent->tmp_fd = -1;
	int r = attach_begin(&agent->attach, &agent->process, &order);
	close_later(agents->foreign, fds, ARRAY_SIZE(fds));
	if (r < 0)
		agent_remove(agent);
	else
		follow(agent, STOP_LIMIT_MS);
}
