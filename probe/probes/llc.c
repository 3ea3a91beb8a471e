// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe llc: misses of the last-level cache, and look-ups in it, by the stack that caused them.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/timer.h"
#include "kernel/tracer_part.h"
#include "llc.skel.h"
#include "probes/probe_needs.h"
#include "select/param.h"

struct llc_params {
	int64_t period; /* events between two samples */
};
PARAMS_FIT(struct llc_params);

static const struct param params[] = {
	{"llc_period", PARAM_NUMBER_OF(struct llc_params, period), .min = 100, .max = 1LL << 40,
	 .number = 100003, .unit = "events",
	 .help = "one sample for so many misses of a CPU, and one for so many references"},
	{0},
};

enum llc_event { LLC_MISSES, LLC_REFERENCES, LLC_EVENTS };

static const struct {
	uint64_t config;
	const char *name; /* as perf says */
} events[LLC_EVENTS] = {
	[LLC_MISSES] = {PERF_COUNT_HW_CACHE_MISSES, "cache-misses"},
	[LLC_REFERENCES] = {PERF_COUNT_HW_CACHE_REFERENCES, "cache-references"},
};

/* The counters of all CPUs, of the one tracer; NULL: none. Loop thread. */
static struct timer *counters[LLC_EVENTS];

static void free_counters(void *arg)
{
	(void)arg;
	for (int i = 0; i < LLC_EVENTS; i++)
		timer_free(TAKE_PTR(counters[i]));
}

static void explain_event(struct why *why, int error, const char *event)
{
	char what[120];

	snprintf(what, sizeof(what), "the hardware event %s can't be sampled", event);
	if (timer_has_no_counter(error))
		why_set(why, "%s: " TIMER_NO_COUNTER, what);
	else
		tracer_explain(why, error, what);
}

static struct llc_bpf *open_llc(const struct load_from *from)
{
	struct llc_bpf *bpf = tracer_open(from->tracer, llc);

	if (!bpf)
		return NULL;
	tracer_set_stacks(bpf);
	bpf_program__set_autoattach(bpf->progs.take_miss, false);
	bpf_program__set_autoattach(bpf->progs.take_reference, false);
	return bpf;
}

OWN_OBJECT(llc)

static int load_programs(struct probe_run *run, struct why *why)
{
	int r = tracer_load_own(run->tracer, &loadable_llc, &run->own,
				"the programs on the CPU's counters can't be loaded", why);

	if (r == 0) /* they use the programs, so they are stopped before */
		loaded_add(run->tracer, &(struct loaded){NULL, -1, free_counters, NULL, NULL});
	return r;
}

static int start_counter(struct probe_run *run, enum llc_event which, struct why *why)
{
	const struct llc_params *wanted = run->settings;
	const struct llc_bpf *bpf = tracer_own_bpf(run->own);
	int r = 0;

	if (!counters[which])
		r = timer_new(&counters[which], run->tracer->loop,
			      bpf_program__fd(which == LLC_MISSES ? bpf->progs.take_miss
								  : bpf->progs.take_reference),
			      PERF_TYPE_HARDWARE, events[which].config, true);
	if (r == 0)
		r = timer_start(counters[which], (uint64_t)wanted->period);
	if (r < 0)
		explain_event(why, r, events[which].name);
	return r;
}

/* Called again while the probe runs, takes over a changed period. */
static int start_counters(struct probe_run *run, struct why *why)
{
	int r = run->own ? 0 : load_programs(run, why);

	if (r == 0)
		r = start_counter(run, LLC_MISSES, why);
	return r < 0 ? r : start_counter(run, LLC_REFERENCES, why);
}

static void stop_counters(struct probe_run *run)
{
	free_counters(NULL);
	loaded_remove(run->tracer, NULL, -1);
	tracer_unload(&run->own);
}

const struct kind probe_llc = {
	.name = "llc",
	.title = "Last-Level Cache Misses",
	.count_name = "misses",
	.for_users = true,
	.counts_empty = true,
	.of_hardware = true,
	.is_part_of_events = true,
	.event_name = "references",
	.event_title = "Last-Level Cache References",
	.pprof = {.values = {{"references", "count", PPROF_EVENTS},
			     {"llc_misses", "count", PPROF_WEIGHT}},
		  .period_type = "",
		  .period_unit = ""},
	.upload = {"llc", "stackprobe-llc", ".alloc_objects", "objects", 100},
	.deepflow = 4,
	.params = params,
	.needs = {NEEDS_PROGRAMS,
		  {CAN_CACHE_MISSES},
		  {CAN_CACHE_REFERENCES},
		  NEEDS_DATA,
		  NEEDS_KERNEL_NAMES,
		  NEEDS_FILE_NAMES},
	.loads = llc_loads,
	.start = start_counters,
	.stop = stop_counters,
};
