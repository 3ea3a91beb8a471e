// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests to one VM (java/attach/attach_queue.h): to load the agent, or to stop it. */
#include "base/cleanup.h"
#include "base/container_of.h"
#include "jvm_agent/format.h"
#include "java/agents/agents_state.h"
#include "elf/fd_budget.h"

#define LIMIT_MS      10000 /* for a VM that has much code and little CPU time */
#define STOP_LIMIT_MS 3000
#define BYTES_MAX     (10U << 20)

static void answered(struct attach_request *question, const struct attach_answer *answer)
{
	agent_answered(CONTAINER_OF(question, struct agent, question), answer);
}

void agent_start(struct agent *agent)
{
	const struct attach_answer none_left = {.result = ATTACH_SYSTEM,
						.text = "no descriptors left"};
	struct attach_request *question = &agent->question;

	agent->asked_ns = loop_now_ns();
	agent->held = agent->held || fd_budget_take_many(AGENT_FDS);
	if (!agent->held) {
		agent_failed(agent, &none_left);
		return;
	}
	agent->step = AGENT_ATTACHING;
	question->pid = agent->pid;
	question->start_ticks = agent->start_ticks;
	question->look = true;
	question->order = (struct attach_order){.task = ATTACH_START,
						.bytes_max = BYTES_MAX,
						.limit_ms = LIMIT_MS,
						.folder_fd = -1,
						.tmp_fd = -1};
	question->answered = answered;
	attach_queue_ask(agent->agents->asking, question);
}

static void order_stop(struct agent *agent)
{
	agent->question.look = false;
	agent->question.order = (struct attach_order){.task = ATTACH_STOP,
						      .limit_ms = STOP_LIMIT_MS,
						      .folder_fd = agent->folder_fd,
						      .tmp_fd = agent->tmp_fd};
}

void agent_tell_stop(struct agent *agent)
{
	if (!agent->unwanted || agent->folder_fd < 0)
		return;
	order_stop(agent);
	attach_queue_tell(&agent->question);
}

void agent_stop(struct agent *agent)
{
	jvmfile_unref(TAKE_PTR(agent->file));
	if (agent->folder_fd < 0) {
		agent_remove(agent);
		return;
	}
	agent->stopping = true;
	agent->step = AGENT_ATTACHING;
	order_stop(agent);
	attach_queue_ask(agent->agents->asking, &agent->question);
}
