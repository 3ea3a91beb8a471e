// SPDX-License-Identifier: GPL-2.0-or-later
/* Turns page faults on and off. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "bpf/shared/faults.h"
#include "fault.skel.h"
#include "fault_native.skel.h"
#include "hooks/fault_sampling.h"
#include "kernel/timer.h"
#include "hooks/tracer_memory.h"
#include "hooks/hooks_state.h"

#define HUGE_PAGE_FILE "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
#define HUGE_BYTES     (2 * 1024 * 1024)
#define NO_COPIES      "copies of anonymous pages at a write aren't told"
#define BATCH_MIN      32 /* lib/percpu_counter.c: compute_batch_value() */

/* Events after a fault, and, if there is no tracepoint, before it. */
enum fault_event { BEFORE_ANY, AFTER_MINOR, AFTER_MAJOR, FAULT_EVENTS };

struct tracer_faults {
	struct fault_bpf *bpf;
	struct timer *events[FAULT_EVENTS];
};

static uint32_t huge_bytes(void)
{
	_cleanup_buf_ struct buf text = BUF_INIT(32);

	if (file_read(AT_FDCWD, HUGE_PAGE_FILE, &text) < 0)
		return HUGE_BYTES;
	buf_char(&text, '\0');
	unsigned long bytes = buf_error(&text) ? 0 : strtoul(text.data, NULL, 10);
	return bytes && bytes <= UINT32_MAX ? (uint32_t)bytes : HUGE_BYTES;
}

static int32_t batch_pages(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return cpus > BATCH_MIN / 2 ? (int32_t)cpus * 2 : BATCH_MIN;
}

static void set_constants(const struct tracer *tracer, struct fault_bpf *bpf)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	bpf->rodata->page_bytes = page;
	bpf->rodata->huge_pages = (int32_t)(huge_bytes() / page);
	bpf->rodata->batch_pages = batch_pages();
	bpf->rodata->cpu_values_at = tracer->types.known.cpu_values_at;
	bpf->rodata->has_vm_events = tracer->types.known.has_vm_events;
	bpf->rodata->vm_events_behind_queue = tracer->types.known.vm_events_behind_queue;
	tracer_set_stacks(bpf);
}

LOADABLE_FUNCTIONS(fault)
WALKING_OBJECT(fault)

static struct fault_bpf *open_faults(const struct load_from *from, bool is_first)
{
	struct fault_bpf *bpf = open_walking_fault(from);

	if (!bpf)
		return NULL;
	set_constants(from->tracer, bpf);
	tracer_set_slot(bpf, after_slot, is_first);
	return bpf;
}

static void *load_faults(const struct load_from *from)
{
	struct fault_bpf *bpf = open_faults(from, true);
	bool has_tracepoints = from->tracer->types.known.has_fault_tracepoints;

	if (!bpf)
		return NULL;
	bpf_program__set_autoload(bpf->progs.before_user, has_tracepoints);
	bpf_program__set_autoload(bpf->progs.before_kernel, has_tracepoints);
	bpf_program__set_autoload(bpf->progs.before_any, !has_tracepoints);
	int r = tracer_share_maps(from->life, bpf->obj);
	if (r == 0)
		r = fault_bpf__load(bpf);
	return tracer_loaded(&loadable_fault, bpf, r);
}

static bool has_faults(const struct tracer *tracer)
{
	return tracer->faults;
}

const struct loadable loadable_fault = {
	.load = load_faults,
	LOADABLE_FIELDS(fault),
	.is_loaded = has_faults,
	.is_taken_over = true,
};

LOADABLE_AGAIN(fault, fault, open_faults, after, after_slot, tracer->faults->bpf)

const struct loadable *const faults_loads[] = {&loadable_fault, NULL};

static int attach_event(struct tracer *tracer, enum fault_event which,
			const struct bpf_program *program)
{
	static const uint32_t events[] = {
		[BEFORE_ANY] = PERF_COUNT_SW_PAGE_FAULTS,
		[AFTER_MINOR] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
		[AFTER_MAJOR] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	};
	struct timer **timer = &tracer->faults->events[which];
	int r = timer_new(timer, tracer->loop, bpf_program__fd(program), PERF_TYPE_SOFTWARE,
			  events[which], true);

	return r < 0 ? r : timer_start(*timer, 1);
}

/* Attaches events after a fault first: they look for what was noted before it. */
static int attach_faults(struct tracer *tracer)
{
	struct fault_bpf *bpf = tracer->faults->bpf;
	int r = attach_event(tracer, AFTER_MINOR, bpf->progs.after);

	if (r == 0)
		r = attach_event(tracer, AFTER_MAJOR, bpf->progs.after);
	if (r < 0 || !tracer->types.known.has_fault_tracepoints)
		return r < 0 ? r : attach_event(tracer, BEFORE_ANY, bpf->progs.before_any);
	bpf->links.on_fault_switch = bpf_program__attach(bpf->progs.on_fault_switch);
	if (!bpf->links.on_fault_switch)
		return -errno;
	bpf->links.before_user = bpf_program__attach(bpf->progs.before_user);
	if (!bpf->links.before_user)
		return -errno;
	bpf->links.before_kernel = bpf_program__attach(bpf->progs.before_kernel);
	return bpf->links.before_kernel ? 0 : -errno;
}

const char *tracer_faults_limit(const struct ktypes *types)
{
	if (!types->has_fault_tracepoints)
		return "faults have no error code: " NO_COPIES;
	return types->has_vm_events
		       ? ""
		       : "the kernel's BTF doesn't tell where vm_event_states is: " NO_COPIES;
}

const char *tracer_faults_lack(const struct ktypes *types)
{
	bool known = types->has_rss_counters ? types->cpu_values_at : types->has_task_rss;

	return known ? ""
		     : "what a page fault adds can't be told: this kernel counts resident pages in "
		       "a way that isn't known";
}

/* Returns whether the kernel counts resident pages in a known way. */
static int check_counters(const struct tracer *tracer, struct why *why)
{
	const char *lack = tracer_faults_lack(&tracer->types.known);

	if (!lack[0])
		return 0;
	why_set(why, "%s", lack);
	return -EOPNOTSUPP;
}

static void stop_faults(void *arg)
{
	tracer_faults_stop(arg);
}

static int begin_faults(struct tracer *tracer, struct why *why)
{
	int r = tracer_options(tracer) ? check_counters(tracer, why) : -errno;

	if (r < 0)
		return r;
	struct fault_bpf *bpf = tracer_take(tracer, &loadable_fault);
	if (!bpf)
		return -errno;
	tracer->faults = calloc(1, sizeof(*tracer->faults));
	if (!tracer->faults) {
		fault_bpf__destroy(bpf);
		return -ENOMEM;
	}
	tracer->faults->bpf = bpf;
	loaded_add(tracer, &(struct loaded){bpf->obj, -1, stop_faults, tracer, NULL});
	walkers_add(tracer, &(struct walker){.which = &loadable_fault_again,
					     .first = bpf->obj,
					     .has = bpf->rodata->runtimes_walked,
					     .take_over = take_over_fault});
	return 0;
}

/* Writes the table that isn't in use. */
static void set_chances(struct tracer *tracer, uint64_t sample_bytes)
{
	struct fault_settings *settings = &tracer->faults->bpf->bss->faults;
	uint32_t other = !settings->table;

	fault_sampling_fill(settings->chances[other], (uint32_t)sysconf(_SC_PAGESIZE),
			    sample_bytes);
	__atomic_store_n(&settings->table, other, __ATOMIC_SEQ_CST);
}

int tracer_faults(struct tracer *tracer, uint64_t sample_bytes, struct why *why)
{
	int r = tracer_start(tracer, why);

	if (r < 0)
		return r;
	if (tracer->faults) {
		set_chances(tracer, sample_bytes);
		tracer_wait_for_programs(tracer);
		return 0;
	}
	why->text[0] = '\0';
	r = begin_faults(tracer, why);
	if (r == 0) {
		set_chances(tracer, sample_bytes);
		r = attach_faults(tracer);
	}
	if (r < 0 && !why->text[0])
		tracer_explain(why, r, "the programs on page faults can't be loaded");
	if (r < 0)
		tracer_faults_stop(tracer);
	return r;
}

void tracer_faults_stop(struct tracer *tracer)
{
	struct tracer_faults *faults = TAKE_PTR(tracer->faults);

	if (!faults)
		return;
	loaded_remove(tracer, faults->bpf->obj, -1);
	walkers_remove(tracer, &loadable_fault_again);
	for (int i = 0; i < FAULT_EVENTS; i++)
		timer_free(faults->events[i]);
	preload_retire(tracer->preload, &loadable_fault, faults->bpf);
	free(faults);
}
