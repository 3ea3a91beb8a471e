// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window's end: each VM that records is told of it and writes its files, which are then read. All
 * of that has one time limit.
 */
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "java/agents/jfr_state.h"
#include "kind/kind.h"

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
	for (struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		if (is_awaited(vm))
			return;
	}
	if (jfr->done)
		loop_timer_set(jfr->loop, &jfr->limit, loop_now_ns());
}

static void free_files(struct jfr_vm *vm)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++)
		jfrfile_free(TAKE_PTR(vm->files[probe]));
	jfr_of(vm)->bytes -= vm->bytes;
	vm->bytes = 0;
}

void jfr_forget_window(struct jfr_vm *vm)
{
	bool asked = vm->phase == PHASE_DUMPING || vm->phase == PHASE_LATE;

	free_files(vm);
	vm->phase = asked ? PHASE_LATE : PHASE_IDLE;
	finish_if_done(jfr_of(vm));
}

/* Leaves the window to the kernel; counts that if the VM was to have it. */
static void fall_back(struct jfr_vm *vm, enum jfr_cause cause)
{
	if (vm->border_us)
		jfr_of(vm)->counts.fell_back[cause]++;
	jfr_forget_window(vm);
}

static void limit_passes(void *arg)
{
	struct jfr *jfr = arg;
	void (*done)(void *arg) = TAKE_PTR(jfr->done);

	for (struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		if (!is_awaited(vm))
			continue;
		vm->since_us = jfr->to_us;
		vm->misses++;
		fall_back(vm, JFR_SILENT);
	}
	loop_timer_cancel(jfr->loop, &jfr->limit);
	done(jfr->done_arg);
}

/* ---- one of them ---- */

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

static void check_files(struct jfr_vm *vm, int error, struct jfrfile *const files[PROBE_COUNT])
{
	struct jfr *jfr = jfr_of(vm);
	size_t bytes = 0;

	for (int probe = 0; error == 0 && probe < PROBE_COUNT; probe++) {
		if (!(vm->probes & 1U << probe))
			continue;
		const struct jfr_head *head = &files[probe]->head;
		if (head->sequence != vm->sequence ||
		    files[probe]->weight > kind_get(probe)->recorded_max ||
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
}

void jfr_was_read(struct jfr_vm *vm, int error, struct jfrfile *files[PROBE_COUNT])
{
	if (vm->phase != PHASE_READING)
		return; /* too late */
	check_files(vm, error, files);
	if (vm->phase == PHASE_TOLD) {
		for (int probe = 0; probe < PROBE_COUNT; probe++)
			vm->files[probe] = TAKE_PTR(files[probe]);
	} else {
		vm->since_us = vm->border_us;
	}
	finish_if_done(jfr_of(vm));
}

void jfr_hangs(struct jfr_vm *vm)
{
	const struct attach_answer hung = {.result = ATTACH_HUNG, .folder_fd = -1, .tmp_fd = -1};

	if (vm->attached.state != ATTACHED_RUNNING)
		return; /* it begins anew, or stops */
	if (is_awaited(vm))
		fall_back(vm, JFR_SILENT);
	attached_fail(&vm->attached, &hung);
	attached_settle(&vm->attached);
}

/* Takes the answer of a VM that has written its window, which ended then. */
static void window_written(struct jfr_vm *vm, bool in_time, uint64_t ended_us)
{
	bool joins = vm->border_us && vm->border_us == jfr_of(vm)->from_us;

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
static void window_missed(struct jfr_vm *vm, bool in_time, const struct attach_answer *answer)
{
	enum jfr_cause cause = cause_of(answer->result);

	if (in_time) {
		vm->misses += cause == JFR_SILENT;
		fall_back(vm, cause);
	}
	if (cause == JFR_REFUSED || answer->result == ATTACH_HUNG ||
	    (cause == JFR_SILENT && vm->misses >= MISSES_MAX))
		attached_fail(&vm->attached, answer);
}

static void window_dumped(struct attach_request *question, const struct attach_answer *answer)
{
	struct jfr_vm *vm = CONTAINER_OF(question, struct jfr_vm, attached.question);
	bool in_time = vm->phase == PHASE_DUMPING;
	bool runs = vm->attached.state == ATTACHED_RUNNING; /* else its files hang */

	vm->phase = PHASE_IDLE;
	if (runs && answer->result == ATTACH_DONE)
		window_written(vm, in_time, question->order.to_us);
	else if (runs)
		window_missed(vm, in_time, answer);
	attached_settle(&vm->attached);
}

/* Those that are told to stop have work, too. */
static unsigned limit_ms(const struct jfr *jfr)
{
	unsigned count = 0;

	for (const struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm))
		count += vm->attached.state == ATTACHED_RUNNING ||
			 vm->attached.state == ATTACHED_STOPPING;
	unsigned ms = count * LIMIT_EACH_MS;
	return ms < LIMIT_MS ? LIMIT_MS : ms > LIMIT_MAX_MS ? LIMIT_MAX_MS : ms;
}

static void window_dump(struct jfr_vm *vm, unsigned limit)
{
	struct jfr *jfr = jfr_of(vm);
	struct attach_request *question = &vm->attached.question;
	bool joins = vm->border_us && vm->border_us == jfr->from_us;

	vm->phase = PHASE_DUMPING;
	question->look = true;
	question->answered = window_dumped;
	question->order = (struct attach_order){.task = ATTACH_JFR_DUMP,
						.limit_ms = limit,
						.folder_fd = vm->attached.folder_fd,
						.tmp_fd = vm->attached.tmp_fd,
						.sequence = ++vm->sequence,
						.since_us = joins ? vm->since_us : jfr->to_us,
						.to_us = jfr->to_us};
	attach_queue_ask(jfr->dumping, question);
}

bool jfr_end_window(struct jfr *jfr, uint64_t ended_ns, void (*done)(void *arg), void *arg)
{
	unsigned limit = limit_ms(jfr);
	bool asked = false;

	jfr->from_us = jfr->to_us;
	jfr->to_us = since_1970_us(ended_ns);
	for (struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		jfr_forget_window(vm);
		if (vm->attached.state != ATTACHED_RUNNING || !vm->attached.wanted)
			continue;
		if (jfr_has_execed(vm)) { /* targets that ended in the window are still known */
			fall_back(vm, JFR_ENDED);
		} else if (vm->phase == PHASE_LATE) {
			vm->misses++;
			fall_back(vm, JFR_SILENT); /* it is still busy with the last window */
		} else {
			window_dump(vm, limit);
			asked = true;
		}
	}
	if (!asked)
		return false;
	jfr->done = done;
	jfr->done_arg = arg;
	jfr->limit.expired = limit_passes;
	jfr->limit.arg = jfr;
	jfr->limit.name = "jfr";
	loop_timer_set(jfr->loop, &jfr->limit, loop_now_ns() + limit * NS_PER_MS);
	return true;
}

/* ---- what was told ---- */

uint32_t jfr_recorded(const struct jfr *jfr, const struct target *target)
{
	const struct jfr_vm *vm = jfr_find(jfr, target->pid, target->start_ticks);

	return vm && vm->phase == PHASE_TOLD ? vm->probes : 0;
}

static void count_files(struct jfr_counts *counts, const struct jfr_vm *vm)
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
	for (struct jfr_vm *vm = jfr_first(jfr); vm; vm = jfr_next(vm)) {
		const struct target *target = attached_target(&vm->attached);

		if (vm->phase == PHASE_TOLD && target) {
			count_files(&jfr->counts, vm);
			for (uint32_t probe = 0; probe < PROBE_COUNT; probe++) {
				if (vm->files[probe])
					take(arg, target, probe, TAKE_PTR(vm->files[probe]));
			}
		}
		jfr_forget_window(vm);
	}
}
