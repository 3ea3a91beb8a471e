// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests to a VM: to record, and to stop. */
#include "base/cleanup.h"
#include "base/container_of.h"
#include "loop/close_job.h"
#include "base/log.h"
#include "java/agents/jfr_state.h"
#include "elf/fd_budget.h"

#define LIMIT_MS      30000 /* for loading its classes, on a busy machine */
#define STOP_LIMIT_MS 6000  /* for the recording's end */
#define IDLE_S	      120   /* several windows */

_Static_assert(ATTACH_JFR_ONCPU == 1U << PROBE_ONCPU && ATTACH_JFR_OFFCPU == 1U << PROBE_OFFCPU &&
		       ATTACH_JFR_MEM == 1U << PROBE_MEM,
	       "what is recorded has the probes' bits");

static struct jfr_vm *vm_of(struct attach_request *question)
{
	return CONTAINER_OF(question, struct jfr_vm, question);
}

#define FDS 2

static void close_fds(struct jfr_vm *vm)
{
	int folder_fd = TAKE_FD(vm->folder_fd), tmp_fd = TAKE_FD(vm->tmp_fd);
	int fds[FDS] = {folder_fd, tmp_fd};

	close_later(vm->jfr->foreign, vm->question.whose, fds, FDS, NULL);
}

void jfr_close_folder(struct jfr_vm *vm)
{
	close_fds(vm);
	if (vm->held)
		fd_budget_give_many(FDS);
	vm->held = false;
}

static void records(struct jfr_vm *vm, const struct attach_answer *answer)
{
	close_fds(vm);
	vm->folder_fd = answer->folder_fd;
	vm->tmp_fd = answer->tmp_fd;
	vm->owner = vm->question.process.uid;
	vm->answer = *answer;
	vm->border_us = 0;
	vm->misses = 0;
	vm->step = JFR_RECORDING;
	log_info("target %d: its Java VM records (%s)", (int)vm->pid, answer->text);
}

/*
 * Tells that VMs have begun: of many that begin together when all have, as each window's end costs
 * each VM.
 */
static void tell_begun(const struct jfr *jfr)
{
	bool any = false;

	for (const struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		if (vm->step == JFR_STARTING && !vm->stopping)
			return;
		any |= vm->step == JFR_RECORDING && !vm->border_us;
	}
	if (any)
		jfr->began(jfr->began_arg);
}

static void began(struct attach_request *question, const struct attach_answer *answer)
{
	struct jfr_vm *vm = vm_of(question);

	if (answer->result == ATTACH_DONE && answer->folder_fd >= 0)
		records(vm, answer);
	else
		jfr_fail(vm, answer);
	if (vm->folder_fd < 0)
		jfr_close_folder(vm);
	tell_begun(vm->jfr);
	if (vm->unwanted)
		jfr_let_go(vm);
	else
		jfr_ask_clear(vm);
}

void jfr_ask_begin(struct jfr_vm *vm)
{
	const struct attach_answer none_left = {.result = ATTACH_SYSTEM,
						.text = "no descriptors left"};
	struct jfr *jfr = vm->jfr;

	vm->asked_ns = loop_now_ns();
	vm->held = vm->held || fd_budget_take_many(FDS);
	if (!vm->held) {
		jfr_fail(vm, &none_left);
		return;
	}
	vm->step = JFR_STARTING;
	vm->probes = jfr->wish.probes;
	vm->period_ms = jfr->wish.period_ms;
	vm->question.pid = vm->pid;
	vm->question.start_ticks = vm->start_ticks;
	vm->question.look = true;
	vm->question.answered = began;
	vm->question.order = (struct attach_order){.task = ATTACH_JFR_START,
						   .limit_ms = LIMIT_MS,
						   .folder_fd = -1,
						   .tmp_fd = -1,
						   .sequence = ++vm->sequence,
						   .recorded = vm->probes,
						   .period_ms = vm->period_ms,
						   .idle_s = IDLE_S};
	attach_queue_ask(jfr->beginning, &vm->question);
}

static void order_stop(struct jfr_vm *vm)
{
	vm->question.look = false;
	/* The process that has its pid now must not be asked. */
	vm->question.order =
		(struct attach_order){.task = vm->execed ? ATTACH_CLEAN : ATTACH_JFR_STOP,
				      .limit_ms = STOP_LIMIT_MS,
				      .folder_fd = vm->folder_fd,
				      .tmp_fd = vm->tmp_fd};
}

static void ask_stop(struct jfr_vm *vm)
{
	order_stop(vm);
	attach_queue_ask(vm->jfr->beginning, &vm->question);
}

void jfr_tell_stop(struct jfr_vm *vm)
{
	enum attach_task asked = vm->question.order.task;

	if (!vm->unwanted || vm->folder_fd < 0 || asked == ATTACH_JFR_STOP || asked == ATTACH_CLEAN)
		return;
	order_stop(vm);
	attach_queue_tell(&vm->question);
}

static void cleared(struct attach_request *question, const struct attach_answer *answer)
{
	struct jfr_vm *vm = vm_of(question);

	(void)answer;
	jfr_close_folder(vm);
	if (vm->unwanted)
		jfr_let_go(vm);
}

void jfr_ask_clear(struct jfr_vm *vm)
{
	if (vm->step != JFR_FAILED || vm->folder_fd < 0 || vm->question.step != QUESTION_NONE)
		return;
	if (vm->answer.result == ATTACH_HUNG) { /* the recording ends by itself */
		jfr_close_folder(vm);
		return;
	}
	vm->question.answered = cleared;
	ask_stop(vm);
}

static void stopped(struct attach_request *question, const struct attach_answer *answer)
{
	struct jfr_vm *vm = vm_of(question);

	(void)answer;
	if (!vm->again || vm->execed) {
		jfr_remove(vm);
		return;
	}
	jfr_close_folder(vm);
	vm->again = vm->stopping = false;
	jfr_ask_begin(vm);
}

void jfr_ask_stop(struct jfr_vm *vm)
{
	if (vm->folder_fd < 0) {
		jfr_remove(vm);
		return;
	}
	vm->stopping = true;
	vm->question.answered = stopped;
	ask_stop(vm);
}
