// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/jfr_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

/* Delay of the next request to a VM that is stopped, or may be beginning. */
#define STOPPED_NS NS_PER_S
#define BEGINS_NS  (2 * NS_PER_S)

/*
 * Limit of VMs that begin at once: JFR takes a second or two of CPU time to begin, so many would
 * all be late.
 */
#define BEGINNING_AT_ONCE 8

const uint32_t jfr_probes = 1U << PROBE_ONCPU | 1U << PROBE_OFFCPU | 1U << PROBE_MEM;

int jfr_new(struct jfr **ret, struct loop *loop, struct worker *foreign,
	    const struct target_table *table, void (*began)(void *arg), void *arg)
{
	struct jfr *jfr = calloc(1, sizeof(*jfr));

	if (!jfr)
		return -ENOMEM;
	jfr->loop = loop;
	jfr->foreign = foreign;
	jfr->table = table;
	jfr->began = began;
	jfr->began_arg = arg;
	jfr_window_init(jfr);
	if (attach_queue_new(&jfr->beginning, loop, foreign) < 0 ||
	    attach_queue_new(&jfr->dumping, loop, foreign) < 0) {
		jfr_free(jfr);
		return -ENOMEM;
	}
	attach_queue_limit(jfr->beginning, BEGINNING_AT_ONCE);
	*ret = jfr;
	return 0;
}

/* ---- table ---- */

struct target *jfr_target_of(const struct jfr_vm *vm)
{
	return target_table_find(vm->jfr->table, (uint32_t)vm->pid, vm->id);
}

struct jfr_vm *jfr_find(const struct jfr *jfr, pid_t pid, uint64_t start_ticks)
{
	for (struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		if (vm->pid == pid && vm->start_ticks == start_ticks)
			return vm;
	}
	return NULL;
}

bool jfr_has_execed(struct jfr_vm *vm, const struct target *now)
{
	const struct target *before = now->id == vm->id ? NULL : jfr_target_of(vm);

	/* Another program has the same files: what hung will hang again. */
	if (before && before->ended_by_exec && vm->answer.result != ATTACH_HUNG)
		vm->execed = true;
	return vm->execed;
}

static struct jfr_vm *add(struct jfr *jfr, const struct target *target)
{
	struct jfr_vm *vm = jfr->count < ASKING_VMS_MAX ? calloc(1, sizeof(*vm)) : NULL;

	if (!vm) {
		jfr->counts.unasked++;
		return NULL;
	}
	vm->jfr = jfr;
	vm->pid = target->pid;
	vm->start_ticks = target->start_ticks;
	vm->question.whose = target->whose;
	vm->folder_fd = vm->tmp_fd = -1;
	vm->next = jfr->all;
	vm->link = &jfr->all;
	if (vm->next)
		vm->next->link = &vm->next;
	jfr->all = vm;
	jfr->count++;
	return vm;
}

void jfr_remove(struct jfr_vm *vm)
{
	jfr_forget_window(vm);
	jfr_close_folder(vm);
	vm->jfr->count--;
	*vm->link = vm->next;
	if (vm->next)
		vm->next->link = vm->link;
	free(vm);
}

void jfr_let_go(struct jfr_vm *vm)
{
	jfr_forget_window(vm);
	vm->again = false;
	vm->unwanted = !vm->stopping && !attach_queue_drop(&vm->question);
	if (!vm->stopping && !vm->unwanted)
		jfr_ask_stop(vm);
}

/* ---- what became of it ---- */

/* Returns the delay after a failure that passes by itself, when nothing was asked of the VM. */
static uint64_t again_ns(const struct jfr_vm *vm)
{
	switch (vm->answer.result) {
	case ATTACH_STOPPED:
		return STOPPED_NS;
	case ATTACH_SIGNALS:
	case ATTACH_NOT_NOW:
		return BEGINS_NS;
	default:
		return vm->jfr->wish.interval_ns;
	}
}

static bool may_ask_again(const struct jfr_vm *vm)
{
	return vm->answer.result != ATTACH_HUNG && loop_now_ns() - vm->asked_ns >= again_ns(vm);
}

static void tell_why(const struct jfr_vm *vm, struct why *why)
{
	const struct attach_answer *answer = &vm->answer;
	bool told = answer->result == ATTACH_REFUSED && answer->text[0];
	const char *text = answer->text;

	if (!text[0] && answer->error)
		text = strerror(answer->error);
	if (told)
		why_set(why, "%s", text);
	else
		why_set(why, "%s%s%s", attach_result_name(answer->result), text[0] ? ": " : "",
			text);
}

void jfr_fail(struct jfr_vm *vm, const struct attach_answer *answer)
{
	struct why why;
	struct target *target = jfr_target_of(vm);

	if (target && answer->result == ATTACH_HUNG)
		target_set_hung(target); /* it isn't inspected in any other way, either */
	vm->answer = *answer;
	vm->step = JFR_FAILED;
	vm->border_us = 0;
	tell_why(vm, &why);
	if (again_ns(vm) == vm->jfr->wish.interval_ns)
		log_warn("target %d: its Java VM doesn't record: %s", (int)vm->pid, why.text);
}

/* ---- whom ---- */

static bool is_other(const struct jfr_vm *vm)
{
	const struct jfr_wish *wish = &vm->jfr->wish;

	return vm->probes != wish->probes || vm->period_ms != wish->period_ms;
}

/* Applies the wish; a VM with a request under way is handled after the next window. */
static void follow_wish(struct jfr_vm *vm)
{
	if (vm->step != JFR_RECORDING || !is_other(vm) || vm->question.step != QUESTION_NONE)
		return;
	jfr_forget_window(vm);
	jfr_ask_begin(vm);
}

void jfr_stop(struct jfr *jfr)
{
	for (struct jfr_vm *vm = jfr->all, *next; vm; vm = next) {
		next = vm->next;
		jfr_let_go(vm);
	}
}

void jfr_set(struct jfr *jfr, const struct jfr_wish *wish)
{
	jfr->wish = *wish;
	if (!wish->probes)
		jfr_stop(jfr);
	for (struct jfr_vm *vm = jfr->all; wish->probes && vm; vm = vm->next) {
		if (!vm->stopping)
			follow_wish(vm);
	}
}

void jfr_free(struct jfr *jfr)
{
	if (!jfr)
		return;
	jfr_stop(jfr);
	attach_queue_free(jfr->beginning); /* sends the requests to stop */
	attach_queue_free(jfr->dumping);
	while (jfr->all) {
		jfr_tell_stop(jfr->all);
		jfr_remove(jfr->all);
	}
	jfr_window_done(jfr);
	free(jfr);
}

void jfr_meet(struct jfr *jfr, const struct target *target)
{
	struct jfr_vm *vm;

	if (!jfr->wish.probes || !target_is_alive(target) || target_hangs(target))
		return;
	vm = jfr_find(jfr, target->pid, target->start_ticks);
	if (!vm) {
		vm = add(jfr, target);
		if (vm)
			jfr_ask_begin(vm);
	}
	if (!vm || (vm->id && jfr_has_execed(vm, target)))
		return;
	vm->id = target->id;
	vm->unwanted = false;
	vm->again = vm->stopping;
	if (!vm->stopping && vm->step == JFR_FAILED && may_ask_again(vm) &&
	    vm->question.step == QUESTION_NONE)
		jfr_ask_begin(vm);
}

bool jfr_has(const struct jfr *jfr, const struct target *target)
{
	const struct jfr_vm *vm = jfr_find(jfr, target->pid, target->start_ticks);

	return vm && (vm->step != JFR_FAILED || vm->folder_fd >= 0);
}

/* Returns the VM's current target: the process may have another name. NULL: the VM is gone. */
static const struct target *current(struct jfr_vm *vm)
{
	const struct target *target = target_table_current(vm->jfr->table, vm->pid);

	if (!target || !target_is_alive(target) || target->start_ticks != vm->start_ticks ||
	    jfr_has_execed(vm, target))
		return NULL;
	vm->id = target->id;
	return target;
}

void jfr_sweep(struct jfr *jfr, bool (*wanted)(void *arg, const struct target *target), void *arg)
{
	for (struct jfr_vm *vm = jfr->all, *next; vm; vm = next) {
		next = vm->next;
		if (vm->stopping || vm->unwanted)
			continue;
		const struct target *target = current(vm);
		if (!target || !wanted(arg, target))
			jfr_let_go(vm);
		else
			follow_wish(vm);
	}
}

/* ---- what is known ---- */

static enum jfr_step step_of(const struct jfr_vm *vm)
{
	if (!vm || vm->stopping || vm->execed)
		return JFR_NONE;
	return vm->step == JFR_RECORDING && !vm->border_us ? JFR_STARTING : vm->step;
}

enum jfr_step jfr_state(const struct jfr *jfr, const struct target *target, struct why *why)
{
	const struct jfr_vm *vm = jfr_find(jfr, target->pid, target->start_ticks);
	enum jfr_step step = step_of(vm);

	why_set(why, "%s", "");
	if (step == JFR_FAILED)
		tell_why(vm, why);
	else if (step == JFR_RECORDING)
		why_set(why, "%s", vm->answer.text);
	return step;
}

void jfr_refuse(struct jfr *jfr, uint64_t events)
{
	jfr->counts.refused += events;
}

void jfr_counts(const struct jfr *jfr, struct jfr_counts *counts)
{
	*counts = jfr->counts;
	for (const struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		enum jfr_step step = step_of(vm);

		counts->starting += step == JFR_STARTING;
		counts->recording += step == JFR_RECORDING;
		counts->failed += step == JFR_FAILED;
	}
}
