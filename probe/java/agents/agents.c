// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "loop/close_job.h"
#include "base/log.h"
#include "java/agents/agents_state.h"
#include "runtime/jvm.h"
#include "code/java_agent_frames.h"
#include "elf/fd_budget.h"

/* Delay of the next request to a VM that is stopped, or may be beginning. */
#define STOPPED_NS     NS_PER_S
#define BEGINS_NS      (2 * NS_PER_S)

#define FILE_BYTES_MAX (11U << 20) /* the agent's own maximum is 10 MiB */

int agents_new(struct agents **ret, struct loop *loop, struct worker *foreign,
	       const struct target_table *table)
{
	struct agents *agents = calloc(1, sizeof(*agents));

	if (!agents)
		return -ENOMEM;
	agents->foreign = foreign;
	agents->table = table;
	if (attach_queue_new(&agents->asking, loop, foreign) < 0) {
		free(agents);
		return -ENOMEM;
	}
	*ret = agents;
	return 0;
}

static void give_places(struct agent *agent)
{
	if (agent->held)
		fd_budget_give_many(AGENT_FDS);
	agent->held = false;
}

void agent_remove(struct agent *agent)
{
	int fds[] = {agent->folder_fd, agent->tmp_fd};

	agent->agents->count--;
	*agent->link = agent->next;
	if (agent->next)
		agent->next->link = agent->link;
	close_later(agent->agents->foreign, agent->question.whose, fds, ARRAY_SIZE(fds), NULL);
	give_places(agent);
	free(agent);
}

static struct agent *find(const struct agents *agents, const struct target *target)
{
	for (struct agent *agent = agents->all; agent; agent = agent->next) {
		if (agent->pid == target->pid && agent->id == target->id && !agent->stopping)
			return agent;
	}
	return NULL;
}

static struct target *target_of(const struct agent *agent)
{
	return target_table_find(agent->agents->table, (uint32_t)agent->pid, agent->id);
}

static struct agent *add(struct agents *agents, const struct target *target)
{
	struct agent *agent = agents->count < ASKING_VMS_MAX ? calloc(1, sizeof(*agent)) : NULL;

	if (!agent) {
		agents->unasked++;
		return NULL;
	}
	agent->agents = agents;
	agent->pid = target->pid;
	agent->id = target->id;
	agent->start_ticks = target->start_ticks;
	agent->question.whose = target->whose;
	agent->folder_fd = agent->tmp_fd = -1;
	agent->next = agents->all;
	agent->link = &agents->all;
	if (agent->next)
		agent->next->link = &agent->next;
	agents->all = agent;
	agents->count++;
	return agent;
}

/* ---- answers ---- */

/* Opens the agent's file, in place of the one in a folder that was removed, if there is one. */
static void open_file(struct agent *agent, const struct attach_answer *answer)
{
	int fd = fcntl(answer->folder_fd, F_DUPFD_CLOEXEC, 0);

	jvmfile_unref(TAKE_PTR(agent->file));
	if (fd < 0 || jvmfile_new(&agent->file, fd, agent->question.process.uid, FILE_BYTES_MAX,
				  agent->agents->foreign, agent->question.whose) < 0)
		agent->file = NULL;
	if (agent->file && agent->question.process.other_clock)
		jvmfile_set_other_clock(agent->file);
	agent->folder_device = answer->folder_device;
	agent->folder_inode = answer->folder_inode;
}

static void attached(struct agent *agent, const struct attach_answer *answer)
{
	struct agents *agents = agent->agents;
	int before[] = {agent->folder_fd, agent->tmp_fd};
	struct target *target = target_of(agent);

	close_later(agents->foreign, agent->question.whose, before, ARRAY_SIZE(before), NULL);
	agent->folder_fd = answer->folder_fd;
	agent->tmp_fd = answer->tmp_fd;
	agent->step = AGENT_ATTACHED;
	if (!agent->file || agent->folder_inode != answer->folder_inode ||
	    agent->folder_device != answer->folder_device)
		open_file(agent, answer);
	if (target) {
		target->jvmfile = agent->file;
		agent_frames_open(target, agents->foreign);
	}
	log_info("target %d: the agent is in its Java VM", (int)agent->pid);
}

/*
 * Returns the delay after a failure that passes by itself, when nothing was asked of the VM; 0: it
 * doesn't pass.
 */
static uint64_t passes_ns(const struct agent *agent)
{
	if (agent->step != AGENT_FAILED)
		return 0;
	switch (agent->answer.result) {
	case ATTACH_STOPPED:
		return STOPPED_NS;
	case ATTACH_SIGNALS:
	case ATTACH_NOT_NOW:
		return BEGINS_NS;
	default:
		return 0;
	}
}

void agent_failed(struct agent *agent, const struct attach_answer *answer)
{
	struct target *target = target_of(agent);

	if (target && answer->result == ATTACH_HUNG)
		target_set_hung(target);
	agent->answer = *answer;
	agent->step = AGENT_FAILED;
	if (agent->folder_fd < 0)
		give_places(agent);
	if (passes_ns(agent))
		return;
	const char *why = answer->text;
	if (!why[0] && answer->error)
		why = strerror(answer->error);
	log_warn("target %d: its Java VM can't be asked: %s%s%s", (int)agent->pid,
		 attach_result_name(answer->result), why[0] ? ": " : "", why);
}

/* ---- whom ---- */

static void let_go(struct agent *agent)
{
	struct target *target = target_of(agent);

	if (target)
		target->jvmfile = NULL;
	agent->unwanted = !attach_queue_drop(&agent->question);
	if (!agent->unwanted)
		agent_stop(agent);
}

/* ---- answers of VMs ---- */

void agent_answered(struct agent *agent, const struct attach_answer *answer)
{
	if (agent->stopping) {
		agent_remove(agent);
		return;
	}
	if (answer->result == ATTACH_DONE && answer->folder_fd >= 0)
		attached(agent, answer);
	else
		agent_failed(agent, answer);
	if (agent->unwanted)
		let_go(agent);
}

void agents_stop(struct agents *agents)
{
	for (struct agent *agent = agents->all, *next; agent; agent = next) {
		next = agent->next;
		if (!agent->stopping)
			let_go(agent);
	}
}

void agents_set(struct agents *agents, bool on, uint64_t interval_ns)
{
	agents->interval_ns = interval_ns;
	agents->on = on;
	if (!on)
		agents_stop(agents);
}

void agents_free(struct agents *agents)
{
	if (!agents)
		return;
	agents_stop(agents);
	attach_queue_free(agents->asking); /* sends the requests to stop */
	while (agents->all) {
		agent_tell_stop(agents->all);
		jvmfile_unref(agents->all->file);
		agent_remove(agents->all);
	}
	free(agents);
}

/* Finds the agent of the same process under another name. */
static struct agent *find_renamed(const struct agents *agents, const struct target *target)
{
	for (struct agent *agent = agents->all; agent; agent = agent->next) {
		const struct target *before = agent->stopping ? NULL : target_of(agent);

		if (agent->pid == target->pid && agent->start_ticks == target->start_ticks &&
		    !agent->stopping && before && !target_is_alive(before) &&
		    !before->ended_by_exec)
			return agent;
	}
	return NULL;
}

static bool may_ask_again(const struct agent *agent)
{
	uint64_t passes = passes_ns(agent);

	if (agent->answer.result == ATTACH_HUNG) /* perhaps it has another name now */
		return false;
	return loop_now_ns() - agent->asked_ns >= (passes ? passes : agent->agents->interval_ns);
}

bool agents_has(const struct agents *agents, const struct target *target)
{
	for (const struct agent *agent = agents->all; agent; agent = agent->next) {
		if (agent->pid == target->pid && agent->start_ticks == target->start_ticks &&
		    agent->step != AGENT_FAILED)
			return true;
	}
	return false;
}

/* Returns whether an agent is being stopped, and has the folder until then. */
static bool is_stopping(const struct agents *agents, const struct target *target)
{
	for (const struct agent *agent = agents->all; agent; agent = agent->next) {
		if (agent->stopping && agent->pid == target->pid &&
		    agent->start_ticks == target->start_ticks)
			return true;
	}
	return false;
}

void agents_meet(struct agents *agents, struct target *target)
{
	struct agent *agent;

	if (!agents->on || !target_jvm(target) || !target_is_alive(target) ||
	    target_hangs(target) || is_stopping(agents, target))
		return;
	agent = find(agents, target);
	if (!agent) {
		agent = find_renamed(agents, target);
		if (agent) {
			target_of(agent)->jvmfile = NULL;
			agent->id = target->id;
			target->jvmfile = agent->file;
			return;
		}
		agent = add(agents, target);
		if (agent)
			agent_start(agent);
		return;
	}
	agent->unwanted = false;
	if (agent->step == AGENT_FAILED && may_ask_again(agent))
		agent_start(agent);
}

static void look_after(struct agent *agent, bool wanted)
{
	if (!wanted) {
		let_go(agent);
		return;
	}
	/* The agent may have ended, or its file been removed: asking again is harmless. */
	if (agent->step == AGENT_ATTACHED && may_ask_again(agent))
		agent_start(agent);
}

void agents_sweep(struct agents *agents, bool (*wanted)(void *arg, const struct target *target),
		  void *arg)
{
	for (struct agent *agent = agents->all, *next; agent; agent = next) {
		const struct target *target = target_of(agent);

		next = agent->next;
		if (agent->stopping)
			continue;
		look_after(agent,
			   agents->on && target && target_is_alive(target) && wanted(arg, target));
	}
}

void agents_stats(const struct agents *agents, struct agents_stats *stats)
{
	*stats = (struct agents_stats){.unasked = agents->unasked};
	for (const struct agent *agent = agents->all; agent; agent = agent->next) {
		struct jvmfile_stats file = {0};

		if (agent->stopping)
			continue;
		stats->attached += agent->step == AGENT_ATTACHED;
		stats->failed += agent->step == AGENT_FAILED;
		stats->attaching += agent->step == AGENT_ATTACHING;
		if (agent->file)
			jvmfile_stats(agent->file, &file);
		stats->codes += file.codes;
		stats->given += file.given;
		stats->lost += file.lost;
	}
}

void agents_state(const struct agents *agents, const struct target *target, char *to, size_t bytes)
{
	static const char *const names[] = {
		[AGENT_ATTACHING] = "attaching",
		[AGENT_ATTACHED] = "attached",
		[AGENT_FAILED] = "failed",
	};
	const struct agent *agent = find(agents, target);

	if (!agent)
		snprintf(to, bytes, "none");
	else if (agent->question.step == QUESTION_WAITING)
		snprintf(to, bytes, "waiting");
	else if (agent->step != AGENT_FAILED)
		snprintf(to, bytes, "%s", names[agent->step]);
	else
		snprintf(to, bytes, "failed: %s%s%s", attach_result_name(agent->answer.result),
			 agent->answer.text[0] ? ": " : "", agent->answer.text);
}
