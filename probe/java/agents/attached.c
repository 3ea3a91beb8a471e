// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/attached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/container_of.h"
#include "base/log.h"
#include "elf/fd_budget.h"
#include "loop/close_job.h"

/* Delay of the next request to a VM that is stopped, or may be beginning. */
#define STOPPED_NS NS_PER_S
#define BEGINS_NS  (2 * NS_PER_S)

int attached_init(struct attached_vms *vms, const struct attached_ops *ops, struct loop *loop,
		  struct worker *foreign, const struct target_table *table)
{
	vms->ops = ops;
	vms->foreign = foreign;
	vms->table = table;
	return attach_queue_new(&vms->starting, loop, foreign);
}

/* ---- table ---- */

struct attached_vm *attached_find(const struct attached_vms *vms, pid_t pid, uint64_t start_ticks,
				  unsigned states)
{
	for (struct attached_vm *vm = vms->all; vm; vm = vm->next) {
		if (vm->pid == pid && vm->start_ticks == start_ticks && states & 1U << vm->state)
			return vm;
	}
	return NULL;
}

bool attached_has(const struct attached_vms *vms, const struct target *target)
{
	return attached_find(vms, target->pid, target->start_ticks, ~(1U << ATTACHED_FAILED));
}

struct target *attached_target(const struct attached_vm *vm)
{
	return target_table_find(vm->vms->table, (uint32_t)vm->pid, vm->id);
}

struct attached_vm *attached_add(struct attached_vms *vms, const struct target *target)
{
	struct attached_vm *vm = vms->count < ASKING_VMS_MAX ? calloc(1, vms->ops->bytes) : NULL;

	if (!vm) {
		vms->unasked++;
		return NULL;
	}
	*vm = (struct attached_vm){
		.vms = vms,
		.next = vms->all,
		.link = &vms->all,
		.pid = target->pid,
		.start_ticks = target->start_ticks,
		.id = target->id,
		.wanted = true,
		.question = {.pid = target->pid,
			     .start_ticks = target->start_ticks,
			     .whose = target->whose},
		.folder_fd = -1,
		.tmp_fd = -1,
	};
	if (vm->next)
		vm->next->link = &vm->next;
	vms->all = vm;
	vms->count++;
	attached_start(vm);
	return vm;
}

static void vm_close_fds(struct attached_vm *vm)
{
	int fds[] = {vm->folder_fd, vm->tmp_fd};

	close_later(vm->vms->foreign, vm->question.whose, fds, ARRAY_SIZE(fds), NULL);
	vm->folder_fd = vm->tmp_fd = -1;
}

/* Closes its descriptors and gives back their places. */
static void vm_close_folder(struct attached_vm *vm)
{
	vm_close_fds(vm);
	if (vm->held)
		fd_budget_give_many(vm->vms->ops->fds);
	vm->held = false;
}

static void vm_remove(struct attached_vm *vm)
{
	vm->vms->ops->forget(vm);
	vm_close_folder(vm);
	vm->vms->count--;
	*vm->link = vm->next;
	if (vm->next)
		vm->next->link = vm->link;
	free(vm);
}

/* ---- failures ---- */

/* Returns after what time a failure may have passed by itself; 0: it doesn't. */
static uint64_t failure_passes_ns(const struct attached_vm *vm)
{
	switch (vm->answer.result) {
	case ATTACH_STOPPED:
		return STOPPED_NS;
	case ATTACH_SIGNALS:
	case ATTACH_NOT_NOW:
		return BEGINS_NS;
	default:
		return 0;
	}
}

bool attached_may_ask_again(const struct attached_vm *vm)
{
	uint64_t passes = failure_passes_ns(vm);

	if (vm->answer.result == ATTACH_HUNG) /* under another name, too */
		return false;
	return loop_now_ns() - vm->asked_ns >= (passes ? passes : vm->vms->interval_ns);
}

void attached_why(const struct attached_vm *vm, char *why, size_t bytes)
{
	const struct attach_answer *answer = &vm->answer;
	const char *name = attach_result_name(answer->result), *text = answer->text;

	if (!text[0] && answer->error)
		text = strerror(answer->error);
	if (vm->vms->ops->refusal_is_told && answer->result == ATTACH_REFUSED && answer->text[0])
		snprintf(why, bytes, "%s", text);
	else
		snprintf(why, bytes, "%s%s%s", name, text[0] ? ": " : "", text);
}

void attached_fail(struct attached_vm *vm, const struct attach_answer *answer)
{
	char why[ATTACH_TEXT_BYTES + 32];
	struct target *target = attached_target(vm);

	if (target && answer->result == ATTACH_HUNG)
		target_set_hung(target); /* it isn't inspected in any other way, either */
	vm->answer = *answer;
	vm->state = vm->question.step == QUESTION_NONE ? ATTACHED_FAILED : ATTACHED_CLEARING;
	if (vm->folder_fd < 0)
		vm_close_folder(vm);
	attached_why(vm, why, sizeof(why));
	if (!failure_passes_ns(vm))
		log_warn("target %d: its Java VM %s: %s", (int)vm->pid, vm->vms->ops->failure, why);
}

/* ---- start ---- */

static void vm_started(struct attach_request *question, const struct attach_answer *answer)
{
	struct attached_vm *vm = CONTAINER_OF(question, struct attached_vm, question);

	if (answer->result == ATTACH_DONE && answer->folder_fd >= 0) {
		vm_close_fds(vm);
		vm->folder_fd = answer->folder_fd;
		vm->tmp_fd = answer->tmp_fd;
		vm->answer = *answer;
		vm->state = ATTACHED_RUNNING;
	} else {
		attached_fail(vm, answer);
	}
	vm->vms->ops->started(vm);
	attached_settle(vm);
}

void attached_start(struct attached_vm *vm)
{
	const struct attach_answer none_left = {.result = ATTACH_SYSTEM,
						.text = "no descriptors left"};
	struct attach_request *question = &vm->question;

	vm->asked_ns = loop_now_ns();
	vm->held = vm->held || fd_budget_take_many(vm->vms->ops->fds);
	if (!vm->held) {
		attached_fail(vm, &none_left);
		return;
	}
	vm->state = ATTACHED_STARTING;
	question->look = true;
	question->order = vm->vms->ops->order(vm);
	question->order.folder_fd = question->order.tmp_fd = -1;
	question->answered = vm_started;
	attach_queue_ask(vm->vms->starting, question);
}

void attached_meet(struct attached_vm *vm)
{
	vm->wanted = true;
	if (vm->state == ATTACHED_FAILED && attached_may_ask_again(vm))
		attached_start(vm);
}

/* ---- end ---- */

static void vm_order_stop(struct attached_vm *vm)
{
	vm->question.look = false;
	/* The process that has its pid now must not be asked. */
	vm->question.order =
		(struct attach_order){.task = vm->execed ? ATTACH_CLEAN : vm->vms->ops->stop,
				      .limit_ms = vm->vms->ops->stop_limit_ms,
				      .folder_fd = vm->folder_fd,
				      .tmp_fd = vm->tmp_fd};
}

static void vm_stopped(struct attach_request *question, const struct attach_answer *answer)
{
	struct attached_vm *vm = CONTAINER_OF(question, struct attached_vm, question);

	(void)answer;
	vm_close_folder(vm);
	if (vm->state != ATTACHED_STOPPING)
		attached_settle(vm);
	else if (vm->wanted && !vm->execed)
		attached_start(vm);
	else
		vm_remove(vm);
}

/* Tells it to stop: `state` is CLEARING or STOPPING. */
static void vm_ask_stop(struct attached_vm *vm, enum attached_state state)
{
	vm->state = state;
	vm_order_stop(vm);
	vm->question.answered = vm_stopped;
	attach_queue_ask(vm->vms->starting, &vm->question);
}

static void vm_let_go(struct attached_vm *vm)
{
	bool idle = vm->state != ATTACHED_STOPPING && attach_queue_drop(&vm->question);

	vm->wanted = false;
	vm->vms->ops->forget(vm);
	if (idle && vm->folder_fd < 0)
		vm_remove(vm);
	else if (idle)
		vm_ask_stop(vm, ATTACHED_STOPPING);
}

void attached_settle(struct attached_vm *vm)
{
	if (vm->question.step != QUESTION_NONE)
		return;
	if (vm->state == ATTACHED_CLEARING)
		vm->state = ATTACHED_FAILED;
	if (!vm->wanted)
		vm_let_go(vm);
	else if (vm->state != ATTACHED_FAILED || vm->folder_fd < 0 || !vm->vms->ops->clears)
		return;
	else if (vm->answer.result == ATTACH_HUNG) /* it ends by itself */
		vm_close_folder(vm);
	else
		vm_ask_stop(vm, ATTACHED_CLEARING);
}

void attached_stop(struct attached_vms *vms)
{
	for (struct attached_vm *vm = vms->all, *next; vm; vm = next) {
		next = vm->next;
		vm_let_go(vm);
	}
}

void attached_sweep(struct attached_vms *vms,
		    bool (*wanted)(void *arg, const struct target *target), void *arg)
{
	for (struct attached_vm *vm = vms->all, *next; vm; vm = next) {
		next = vm->next;
		if (vm->state == ATTACHED_STOPPING || !vm->wanted)
			continue;
		const struct target *target = vms->ops->current(vm);
		if (!target || !wanted(arg, target))
			vm_let_go(vm);
		else
			vms->ops->look_after(vm);
	}
}

void attached_done(struct attached_vms *vms)
{
	attach_queue_free(vms->starting); /* sends the requests to stop */
	for (struct attached_vm *vm; (vm = vms->all);) {
		if (vm->folder_fd >= 0 && vm->question.look) { /* it isn't told yet */
			vm_order_stop(vm);
			attach_queue_tell(&vm->question);
		}
		vm_remove(vm);
	}
}
