// SPDX-License-Identifier: GPL-2.0-or-later
#include "java/agents/jfr_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "kind/kind.h"

#define LIMIT_MS      30000 /* for loading its classes, on a busy machine */
#define STOP_LIMIT_MS 6000  /* for the recording's end */
#define IDLE_S	      120   /* several windows */
#define FDS	      2	    /* the folder, the folder's parent */

/*
 * Limit of VMs that begin at once: JFR takes a second or two of CPU time to begin, so many would
 * all be late.
 */
#define BEGINNING_AT_ONCE 8

/* ---- start and end ---- */

/* Writes the probes' names, as the agent in the VM knows them: "oncpu+mem". */
static void name_recorded(uint32_t probes, char *names, size_t bytes)
{
	size_t len = 0;

	names[0] = '\0';
	for (int i = 0; i < PROBE_COUNT && len < bytes; i++) {
		if (probes & 1U << i)
			len += (size_t)snprintf(names + len, bytes - len, "%s%s", len ? "+" : "",
						kind_get(i)->name);
	}
}

static struct attach_order recording_order(struct attached_vm *attached)
{
	struct jfr_vm *vm = jfr_vm_of(attached);
	const struct jfr_wish *wish = &jfr_of(vm)->wish;

	vm->probes = wish->probes;
	vm->period_ms = wish->period_ms;
	struct attach_order order = {.task = ATTACH_JFR_START,
				     .limit_ms = LIMIT_MS,
				     .sequence = ++vm->sequence,
				     .period_ms = vm->period_ms,
				     .idle_s = IDLE_S};

	name_recorded(vm->probes, order.recorded, sizeof(order.recorded));
	return order;
}

/*
 * Tells that VMs have begun: of many that begin together when all have, as each window's end costs
 * each VM.
 */
static void tell_begun(const struct jfr *jfr)
{
	bool any = false;

	for (const struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		if (vm->attached.state == ATTACHED_STARTING)
			return;
		any |= vm->attached.state == ATTACHED_RUNNING && !vm->border_us;
	}
	if (any)
		jfr->began(jfr->began_arg);
}

static void recording_started(struct attached_vm *attached)
{
	struct jfr_vm *vm = jfr_vm_of(attached);

	if (attached->state == ATTACHED_RUNNING) {
		vm->owner = attached->question.process.uid;
		vm->phase = PHASE_IDLE;
		vm->border_us = 0;
		vm->misses = 0;
		log_info("target %d: its Java VM records (%s)", (int)attached->pid,
			 attached->answer.text);
	}
	tell_begun(jfr_of(vm));
}

static void recording_forget(struct attached_vm *attached)
{
	jfr_forget_window(jfr_vm_of(attached));
}

/* Returns the target that its process is now; NULL: it has ended, or isn't known. */
static const struct target *recording_target(const struct attached_vm *vm)
{
	const struct target *target = target_table_current(vm->vms->table, vm->pid);

	return target && target->start_ticks == vm->start_ticks ? target : NULL;
}

bool jfr_has_execed(struct jfr_vm *vm)
{
	struct attached_vm *attached = &vm->attached;
	const struct target *now = recording_target(attached);
	const struct target *before = attached_target(attached);

	if (!now)
		return false;
	/* Another program has the same files: what hung will hang again. */
	if (before && before != now && before->ended_by_exec &&
	    attached->answer.result != ATTACH_HUNG)
		attached->execed = true;
	return attached->execed;
}

/* Returns the VM's current target: the process may have another name. NULL: the VM is gone. */
static const struct target *recording_current(struct attached_vm *vm)
{
	const struct target *target = recording_target(vm);

	if (!target || !target_is_alive(target) || jfr_has_execed(jfr_vm_of(vm)))
		return NULL;
	vm->id = target->id;
	return target;
}

/* Applies the wish; a VM with a request under way is handled after the next window. */
static void recording_follow_wish(struct attached_vm *attached)
{
	struct jfr_vm *vm = jfr_vm_of(attached);
	const struct jfr_wish *wish = &jfr_of(vm)->wish;

	if (attached->state != ATTACHED_RUNNING || vm->phase == PHASE_DUMPING ||
	    vm->phase == PHASE_LATE ||
	    (vm->probes == wish->probes && vm->period_ms == wish->period_ms))
		return;
	jfr_forget_window(vm);
	attached_start(attached);
}

static const struct attached_ops ops = {
	.bytes = sizeof(struct jfr_vm),
	.fds = FDS,
	.clears = true,
	.refusal_is_told = true,
	.failure = "doesn't record",
	.stop = ATTACH_JFR_STOP,
	.stop_limit_ms = STOP_LIMIT_MS,
	.order = recording_order,
	.started = recording_started,
	.forget = recording_forget,
	.current = recording_current,
	.look_after = recording_follow_wish,
};

int jfr_new(struct jfr **ret, struct loop *loop, struct worker *foreign,
	    const struct target_table *table, void (*began)(void *arg), void *arg)
{
	struct jfr *jfr = calloc(1, sizeof(*jfr));

	if (!jfr)
		return -ENOMEM;
	jfr->loop = loop;
	jfr->began = began;
	jfr->began_arg = arg;
	if (attached_init(&jfr->vms, &ops, loop, foreign, table) < 0 ||
	    attach_queue_new(&jfr->dumping, loop, foreign) < 0) {
		jfr_free(jfr);
		return -ENOMEM;
	}
	attach_queue_limit(jfr->vms.starting, BEGINNING_AT_ONCE);
	*ret = jfr;
	return 0;
}

void jfr_stop(struct jfr *jfr)
{
	attached_stop(&jfr->vms);
}

void jfr_set(struct jfr *jfr, const struct jfr_wish *wish)
{
	jfr->wish = *wish;
	jfr->vms.interval_ns = wish->interval_ns;
	if (!wish->probes)
		jfr_stop(jfr);
	for (struct attached_vm *vm = jfr->vms.all; wish->probes && vm; vm = vm->next)
		recording_follow_wish(vm);
}

void jfr_free(struct jfr *jfr)
{
	if (!jfr)
		return;
	jfr_stop(jfr);
	attach_queue_free(jfr->dumping);
	attached_done(&jfr->vms);
	loop_timer_cancel(jfr->loop, &jfr->limit);
	free(jfr);
}

/* ---- whom ---- */

struct jfr_vm *jfr_find(const struct jfr *jfr, pid_t pid, uint64_t start_ticks)
{
	return jfr_vm_of(attached_find(&jfr->vms, pid, start_ticks, ATTACHED_ANY));
}

void jfr_meet(struct jfr *jfr, const struct target *target)
{
	struct jfr_vm *vm;

	if (!jfr->wish.probes || !target_is_alive(target) || target_hangs(target))
		return;
	vm = jfr_find(jfr, target->pid, target->start_ticks);
	if (!vm) {
		attached_add(&jfr->vms, target);
		return;
	}
	if (jfr_has_execed(vm))
		return;
	vm->attached.id = target->id;
	attached_meet(&vm->attached);
}

bool jfr_has(const struct jfr *jfr, const struct target *target)
{
	return attached_has(&jfr->vms, target);
}

void jfr_sweep(struct jfr *jfr, bool (*wanted)(void *arg, const struct target *target), void *arg)
{
	attached_sweep(&jfr->vms, wanted, arg);
}

/* ---- what is known ---- */

static enum jfr_step step_of(const struct jfr_vm *vm)
{
	static const enum jfr_step steps[] = {
		[ATTACHED_STARTING] = JFR_STARTING, [ATTACHED_RUNNING] = JFR_RECORDING,
		[ATTACHED_FAILED] = JFR_FAILED,	    [ATTACHED_CLEARING] = JFR_FAILED,
		[ATTACHED_STOPPING] = JFR_NONE,
	};

	if (!vm || vm->attached.execed)
		return JFR_NONE;
	enum jfr_step step = steps[vm->attached.state];
	return step == JFR_RECORDING && !vm->border_us ? JFR_STARTING : step;
}

enum jfr_step jfr_state(const struct jfr *jfr, const struct target *target, struct why *why)
{
	const struct jfr_vm *vm = jfr_find(jfr, target->pid, target->start_ticks);
	enum jfr_step step = step_of(vm);

	why_set(why, "%s", "");
	if (step == JFR_FAILED && why)
		attached_why(&vm->attached, why->text, sizeof(why->text));
	else if (step == JFR_RECORDING)
		why_set(why, "%s", vm->attached.answer.text);
	return step;
}

void jfr_refuse(struct jfr *jfr, uint64_t events)
{
	jfr->counts.refused += events;
}

void jfr_counts(const struct jfr *jfr, struct jfr_counts *counts)
{
	*counts = jfr->counts;
	counts->unasked = jfr->vms.unasked;
	for (const struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		enum jfr_step step = step_of(vm);

		counts->starting += step == JFR_STARTING;
		counts->recording += step == JFR_RECORDING;
		counts->failed += step == JFR_FAILED;
	}
}
