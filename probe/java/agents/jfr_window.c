// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window's end: each VM that records is told of it and writes its files, which are then read. All
 * of that has one time limit.
 */
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "java/agents/jfr_state.h"

#define LIMIT_MS      5000
#define LIMIT_EACH_MS 500   /* for each VM, as they all work for it at the same time … */
#define LIMIT_MAX_MS  20000 /* … up to this */
#define MISSES_MAX    3
#define BYTES_MAX     (256U << 20) /* memory for the files of all VMs, of a window */

const char *jfr_cause_name(enum jfr_cause cause)
{
	static const char *const names[] = {JFR_CAUSE_LIST(NAMED_NAME)};

	return names[cause];
}

/* Converts a time to µs since 1970: VMs have no other clock in common with us. */
static uint64_t since_1970_us(uint64_t ns)
{
	uint64_t passed_ns = loop_now_ns() - ns;

	return (clock_ns(CLOCK_REALTIME) - passed_ns) / 1000;
}

/* ---- all of them ---- */

static bool is_awaited(const struct jfr_vm *vm)
{
	return vm->phase == PHASE_DUMPING || vm->phase == PHASE_READING;
}

/* Ends the window when all have answered, by the timer, so that done() isn't called inside. */
static void finish_if_done(struct jfr *jfr)
{
	for (struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		if (is_awaited(vm))
			return;
	}
	if (jfr->ending)
		loop_timer_set(jfr->loop, &jfr->limit, loop_now_ns());
}

static void free_files(struct jfr_vm *vm)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		jfrfile_free(TAKE_PTR(vm->files[probe]));
	vm->jfr->bytes -= vm->bytes;
	vm->bytes = 0;
}

void jfr_forget_window(struct jfr_vm *vm)
{
	if (vm->phase == PHASE_TOLD)
		vm->jfr->told--;
	free_files(vm);
	vm->phase = PHASE_NONE;
	finish_if_done(vm->jfr);
}

/* Leaves the window to the kernel; counts that if the VM was to have it. */
static void fall_back(struct jfr_vm *vm, enum jfr_cause cause)
{
	if (vm->border_us)
		vm->jfr->counts.fell_back[cause]++;
	jfr_forget_window(vm);
}

static void limit_passes(void *arg)
{
	struct jfr *jfr = arg;

	for (struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		if (!is_awaited(vm))
			continue;
		vm->since_us = jfr->to_us;
		vm->misses++;
		fall_back(vm, JFR_SILENT);
	}
	loop_timer_cancel(jfr->loop, &jfr->limit);
	jfr->ending = false;
	jfr->done(jfr->done_arg);
}

void jfr_window_init(struct jfr *jfr)
{
	jfr->limit = (struct loop_timer){.expired = limit_passes, .arg = jfr};
}

void jfr_window_done(struct jfr *jfr)
{
	loop_timer_cancel(jfr->loop, &jfr->limit);
}

/* ---- one of them ---- */

/* Most weight that a VM can have in a window; so sums of many windows don't overflow. */
static const uint64_t weight_max[PROBE_COUNT] = {
	[PROBE_ONCPU] = 1ULL << 50,  /* ns: 13 days */
	[PROBE_OFFCPU] = 1ULL << 56, /* ns: 2 years, of waits that end in it */
	[PROBE_MEM] = 1ULL << 48,
};

/* Most events and bytes that a VM can count. */
#define COUNT_MAX (1ULL << 40)

static bool are_counts_sane(const struct jfrfile *file)
{
	const struct jfr_head *head = &file->head;
	uint64_t events = 0;

	for (size_t i = 0; i < file->stacks_count && events <= COUNT_MAX; i++)
		events += file->stacks[i].events;
	return events <= COUNT_MAX && head->lost_samples <= COUNT_MAX &&
	       head->lost_bytes <= COUNT_MAX && head->refused <= COUNT_MAX;
}

static void check(struct jfr_vm *vm, int error, struct jfrfile *const files[PROBE_COUNT])
{
	struct jfr *jfr = vm->jfr;
	size_t bytes = 0;

	for (int probe = 0; error == 0 && probe < PROBE_COUNT; probe++) {
		if (!(vm->probes & 1U << probe))
			continue;
		const struct jfr_head *head = &files[probe]->head;
		if (head->sequence != vm->sequence || files[probe]->weight > weight_max[probe] ||
		    !are_counts_sane(files[probe])) {
			error = -EBADMSG;
		} else if (head->from_us != jfr->from_us || head->to_us != jfr->to_us) {
			fall_back(vm, JFR_BORDER); /* the clock was set */
			return;
		} else if (head->cut) {
			fall_back(vm, JFR_CUT);
			return;
		}
		bytes += files[probe]->bytes;
	}
	if (error || bytes > BYTES_MAX - jfr->bytes) {
		fall_back(vm, error ? JFR_FILE : JFR_CUT);
		return;
	}
	vm->bytes = bytes;
	jfr->bytes += bytes;
	vm->phase = PHASE_TOLD;
	vm->misses = 0;
	jfr->told++;
}

void jfr_was_read(struct jfr_vm *vm, int error, struct jfrfile *files[PROBE_COUNT])
{
	if (vm->phase != PHASE_READING)
		return; /* too late */
	check(vm, error, files);
	if (vm->phase == PHASE_TOLD) {
		for (int probe = 0; probe < PROBE_COUNT; probe++)
			vm->files[probe] = TAKE_PTR(files[probe]);
	} else {
		vm->since_us = vm->border_us;
	}
	finish_if_done(vm->jfr);
}

void jfr_hangs(struct jfr_vm *vm)
{
	const struct attach_answer hung = {.result = ATTACH_HUNG, .folder_fd = -1, .tmp_fd = -1};

	if (vm->step != JFR_RECORDING || vm->stopping)
		return; /* it begins anew, or stops */
	if (is_awaited(vm))
		fall_back(vm, JFR_SILENT);
	jfr_fail(vm, &hung);
	jfr_ask_clear(vm);
}

/* Takes the answer of a VM that has written its window, which ended then. */
static void wrote(struct jfr_vm *vm, uint64_t ended_us)
{
	bool in_time = vm->phase == PHASE_DUMPING;
	bool joins = vm->border_us && vm->border_us == vm->jfr->from_us;

	if (in_time && joins) {
		vm->border_us = ended_us;
		vm->phase = PHASE_READING;
		if (jfr_read(vm) == 0)
			return;
		fall_back(vm, JFR_FILE);
	} else if (in_time) {
		fall_back(vm, JFR_BORDER);
	}
	vm->border_us = vm->since_us = ended_us;
}

static enum jfr_cause cause_of(enum attach_result result)
{
	switch (result) {
	case ATTACH_SILENT:
	case ATTACH_HUNG:
	case ATTACH_SYSTEM: /* may pass */
		return JFR_SILENT;
	case ATTACH_GONE:
		return JFR_ENDED;
	case ATTACH_STOPPED:
		return JFR_STOPPED;
	default:
		return JFR_REFUSED;
	}
}

/* Handles a missing answer, or a refusal. */
static void missed(struct jfr_vm *vm, const struct attach_answer *answer)
{
	enum jfr_cause cause = cause_of(answer->result);

	if (vm->phase == PHASE_DUMPING) {
		vm->misses += cause == JFR_SILENT;
		fall_back(vm, cause);
	}
	if (vm->step == JFR_FAILED)
		return; /* its files hang */
	if (cause == JFR_REFUSED || answer->result == ATTACH_HUNG ||
	    (cause == JFR_SILENT && vm->misses >= MISSES_MAX))
		jfr_fail(vm, answer);
}

static void dumped(struct attach_request *question, const struct attach_answer *answer)
{
	struct jfr_vm *vm =
		(struct jfr_vm *)(void *)((char *)question - offsetof(struct jfr_vm, question));

	if (answer->result == ATTACH_DONE)
		wrote(vm, question->order.to_us);
	else
		missed(vm, answer);
	if (vm->unwanted)
		jfr_let_go(vm);
	else
		jfr_ask_clear(vm);
}

static unsigned limit_ms(const struct jfr *jfr)
{
	unsigned count = 0;

	for (const struct jfr_vm *vm = jfr->all; vm; vm = vm->next)
		count += vm->step == JFR_RECORDING;
	unsigned ms = count * LIMIT_EACH_MS;
	return ms < LIMIT_MS ? LIMIT_MS : ms > LIMIT_MAX_MS ? LIMIT_MAX_MS : ms;
}

static void dump(struct jfr_vm *vm, unsigned limit)
{
	struct jfr *jfr = vm->jfr;
	bool joins = vm->border_us && vm->border_us == jfr->from_us;

	vm->phase = PHASE_DUMPING;
	vm->question.look = true;
	vm->question.answered = dumped;
	vm->question.order = (struct attach_order){.task = ATTACH_JFR_DUMP,
						   .limit_ms = limit,
						   .folder_fd = vm->folder_fd,
						   .tmp_fd = vm->tmp_fd,
						   .sequence = ++vm->sequence,
						   .since_us = joins ? vm->since_us : jfr->to_us,
						   .to_us = jfr->to_us};
	attach_queue_ask(jfr->dumping, &vm->question);
}

/* Targets that ended in the window are still known. */
static bool has_execed(struct jfr_vm *vm)
{
	const struct target *target = target_table_current(vm->jfr->table, vm->pid);

	return target && target->start_ticks == vm->start_ticks && jfr_has_execed(vm, target);
}

bool jfr_end_window(struct jfr *jfr, uint64_t ended_ns, void (*done)(void *arg), void *arg)
{
	unsigned limit = limit_ms(jfr);

	jfr->from_us = jfr->to_us;
	jfr->to_us = since_1970_us(ended_ns);
	for (struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		jfr_forget_window(vm);
		if (vm->step != JFR_RECORDING || vm->stopping || vm->unwanted)
			continue;
		if (has_execed(vm)) {
			fall_back(vm, JFR_ENDED);
		} else if (vm->question.step == QUESTION_NONE) {
			dump(vm, limit);
			jfr->ending = true;
		} else {
			vm->misses++;
			fall_back(vm, JFR_SILENT); /* it is still busy with the last window */
		}
	}
	if (!jfr->ending)
		return false;
	jfr->done = done;
	jfr->done_arg = arg;
	loop_timer_set(jfr->loop, &jfr->limit, loop_now_ns() + limit * NS_PER_MS);
	return true;
}

/* ---- what was told ---- */

uint32_t jfr_recorded(const struct jfr *jfr, const struct target *target)
{
	const struct jfr_vm *vm =
		jfr->told ? jfr_find(jfr, target->pid, target->start_ticks) : NULL;

	return vm && vm->phase == PHASE_TOLD ? vm->probes : 0;
}

static void count(struct jfr_counts *counts, const struct jfr_vm *vm)
{
	uint64_t lost_bytes = 0; /* of the window, so it is in each file */

	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		if (!vm->files[probe])
			continue;
		const struct jfr_head *head = &vm->files[probe]->head;
		lost_bytes = head->lost_bytes;
		counts->lost_samples += head->lost_samples;
		counts->refused += head->refused;
	}
	counts->lost_bytes += lost_bytes;
	counts->windows++;
}

void jfr_take(struct jfr *jfr,
	      void (*take)(void *arg, const struct target *target, uint32_t probe,
			   struct jfrfile *file),
	      void *arg)
{
	for (struct jfr_vm *vm = jfr->all; vm; vm = vm->next) {
		const struct target *target = jfr_target_of(vm);

		if (vm->phase == PHASE_TOLD && target) {
			count(&jfr->counts, vm);
			for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
				if (vm->files[probe])
					take(arg, target, probe, TAKE_PTR(vm->files[probe]));
			}
		}
		jfr_forget_window(vm);
	}
}
