// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/agents.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "code/java_agent_frames.h"
#include "java/agents/agents_state.h"
#include "jvm_agent/format.h"
#include "runtime/jvm.h"

#define LIMIT_MS       10000 /* for a VM that has much code and little CPU time */
#define STOP_LIMIT_MS  3000
#define BYTES_MAX      (10U << 20) /* of the agent's file, for the agent */
#define FILE_BYTES_MAX (11U << 20) /* and for us */

static struct agent *agent_of(const struct attached_vm *vm)
{
	return CONTAINER_OF(vm, struct agent, attached);
}

/* ---- start and end ---- */

static struct attach_order agent_order(struct attached_vm *vm)
{
	(void)vm;
	return (struct attach_order){
		.task = ATTACH_START, .bytes_max = BYTES_MAX, .limit_ms = LIMIT_MS};
}

/* Opens the agent's file, in place of the one in a folder that was removed, if there is one. */
static void agent_open_file(struct agent *agent)
{
	const struct attached_vm *vm = &agent->attached;
	const struct attach_process *process = &vm->question.process;
	int fd = fcntl(vm->folder_fd, F_DUPFD_CLOEXEC, 0);

	jvmfile_unref(TAKE_PTR(agent->file));
	if (fd < 0 || jvmfile_new(&agent->file, fd, process->uid, FILE_BYTES_MAX, vm->vms->foreign,
				  vm->question.whose) < 0)
		agent->file = NULL;
	if (agent->file && process->other_clock)
		jvmfile_set_other_clock(agent->file);
	agent->folder_device = vm->answer.folder_device;
	agent->folder_inode = vm->answer.folder_inode;
}

static void agent_started(struct attached_vm *vm)
{
	struct agent *agent = agent_of(vm);
	struct target *target = attached_target(vm);

	if (vm->state != ATTACHED_RUNNING)
		return;
	if (!agent->file || agent->folder_inode != vm->answer.folder_inode ||
	    agent->folder_device != vm->answer.folder_device)
		agent_open_file(agent);
	if (target) {
		target->jvmfile = agent->file;
		agent_frames_open(target, vm->vms->foreign);
	}
	log_info("target %d: the agent is in its Java VM", (int)vm->pid);
}

static void agent_forget(struct attached_vm *vm)
{
	struct target *target = attached_target(vm);

	if (target)
		target->jvmfile = NULL;
	if (vm->question.step == QUESTION_NONE) /* else it may still be met again */
		jvmfile_unref(TAKE_PTR(agent_of(vm)->file));
}

static const struct target *agent_current(struct attached_vm *vm)
{
	const struct target *target = attached_target(vm);

	return CONTAINER_OF(vm->vms, struct agents, vms)->on && target && target_is_alive(target)
		       ? target
		       : NULL;
}

/* The agent may have ended, or its file been removed: asking again is harmless. */
static void agent_look_after(struct attached_vm *vm)
{
	if (vm->state == ATTACHED_RUNNING && attached_may_ask_again(vm))
		attached_start(vm);
}

static const struct attached_ops ops = {
	.bytes = sizeof(struct agent),
	.fds = AGENT_FDS,
	.failure = "can't be asked",
	.stop = ATTACH_STOP,
	.stop_limit_ms = STOP_LIMIT_MS,
	.order = agent_order,
	.started = agent_started,
	.forget = agent_forget,
	.current = agent_current,
	.look_after = agent_look_after,
};

int agents_new(struct agents **ret, struct loop *loop, struct worker *foreign,
	       const struct target_table *table)
{
	struct agents *agents = calloc(1, sizeof(*agents));

	if (!agents || attached_init(&agents->vms, &ops, loop, foreign, table) < 0) {
		free(agents);
		return -ENOMEM;
	}
	*ret = agents;
	return 0;
}

void agents_stop(struct agents *agents)
{
	attached_stop(&agents->vms);
}

void agents_set(struct agents *agents, bool on, uint64_t interval_ns)
{
	agents->vms.interval_ns = interval_ns;
	agents->on = on;
	if (!on)
		agents_stop(agents);
}

void agents_free(struct agents *agents)
{
	if (!agents)
		return;
	agents_stop(agents);
	attached_done(&agents->vms);
	free(agents);
}

/* ---- whom ---- */

static struct attached_vm *agent_find(const struct agents *agents, const struct target *target)
{
	for (struct attached_vm *vm = agents->vms.all; vm; vm = vm->next) {
		if (vm->pid == target->pid && vm->id == target->id &&
		    vm->state != ATTACHED_STOPPING)
			return vm;
	}
	return NULL;
}

/* Has the agent of the same process under another name be this target's. */
static bool agent_rename(struct agents *agents, struct target *target)
{
	for (struct attached_vm *vm = agents->vms.all; vm; vm = vm->next) {
		struct target *before = attached_target(vm);

		if (vm->pid != target->pid || vm->start_ticks != target->start_ticks || !before ||
		    target_is_alive(before) || before->ended_by_exec)
			continue;
		before->jvmfile = NULL;
		vm->id = target->id;
		target->jvmfile = agent_of(vm)->file;
		return true;
	}
	return false;
}

bool agents_has(const struct agents *agents, const struct target *target)
{
	return attached_has(&agents->vms, target);
}

void agents_meet(struct agents *agents, struct target *target)
{
	struct attached_vm *vm;

	/* One that is stopping has the folder until then. */
	if (!agents->on || !target_jvm(target) || !target_is_alive(target) ||
	    target_hangs(target) ||
	    attached_find(&agents->vms, target->pid, target->start_ticks, 1U << ATTACHED_STOPPING))
		return;
	vm = agent_find(agents, target);
	if (vm)
		attached_meet(vm);
	else if (!agent_rename(agents, target))
		attached_add(&agents->vms, target);
}

void agents_sweep(struct agents *agents, bool (*wanted)(void *arg, const struct target *target),
		  void *arg)
{
	attached_sweep(&agents->vms, wanted, arg);
}

/* ---- what is known ---- */

void agents_stats(const struct agents *agents, struct agents_stats *stats)
{
	*stats = (struct agents_stats){.unasked = agents->vms.unasked};
	for (const struct attached_vm *vm = agents->vms.all; vm; vm = vm->next) {
		struct jvmfile_stats file = {0};

		stats->attached += vm->state == ATTACHED_RUNNING;
		stats->failed += vm->state == ATTACHED_FAILED;
		stats->attaching += vm->state == ATTACHED_STARTING;
		if (agent_of(vm)->file)
			jvmfile_stats(agent_of(vm)->file, &file);
		stats->codes += file.codes;
		stats->given += file.given;
		stats->lost += file.lost;
	}
}

void agents_state(const struct agents *agents, const struct target *target, char *to, size_t bytes)
{
	const struct attached_vm *vm = agent_find(agents, target);

	if (vm && vm->state == ATTACHED_FAILED)
		snprintf(to, bytes, "failed: %s%s%s", attach_result_name(vm->answer.result),
			 vm->answer.text[0] ? ": " : "", vm->answer.text);
	else
		snprintf(to, bytes, "%s",
			 !vm					 ? "none"
			 : vm->question.step == QUESTION_WAITING ? "waiting"
			 : vm->state == ATTACHED_RUNNING	 ? "attached"
								 : "attaching");
}
