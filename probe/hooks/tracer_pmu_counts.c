// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracer's part for the CPUs' counters, by process (bpf/pmucost.bpf.c). */
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "hooks/cost_counters_state.h"
#include "hooks/hooks_state.h"
#include "kernel/timer.h"
#include "pmucost.skel.h"

#define COUNTER_NAME(number, name) [number] = (name),
static const char *const counter_names[PMU_COUNTS] = {PMU_LIST(COUNTER_NAME)};

static const uint64_t hardware_events[PMU_COUNTS] = {
	[PMU_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
	[PMU_REF_CYCLES] = PERF_COUNT_HW_REF_CPU_CYCLES,
	[PMU_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
	[PMU_CACHE_REFERENCES] = PERF_COUNT_HW_CACHE_REFERENCES,
	[PMU_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
};

struct pmu_counting {
	struct pmucost_bpf *bpf;
	struct timer *timers[PMU_COUNTS]; /* NULL: there is no such counter */
};

static void stop_counting(void *arg)
{
	struct pmu_counting *counting = arg;

	if (counting->bpf)
		pmucost_bpf__detach(counting->bpf);
	for (int i = 0; i < PMU_COUNTS; i++)
		timer_free(counting->timers[i]);
	pmucost_bpf__destroy(counting->bpf);
	free(counting);
}

/* Returns 0 if the CPU has such a counter, or the error of perf_event_open(). */
static int try_counter(uint64_t event)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr), .config = event};
	long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

/* Tries which counters there are. Returns them, 1 << enum pmu_count. */
static uint32_t try_counters(int errors[PMU_COUNTS])
{
	uint32_t known = 0;

	for (int i = 0; i < PMU_COUNTS; i++) {
		errors[i] = try_counter(hardware_events[i]);
		known |= errors[i] ? 0 : 1U << i;
	}
	return known;
}

/* Says which counters there aren't, and why: those with the same reason together. */
static void explain_absent(struct why *why, const int errors[PMU_COUNTS])
{
	char text[sizeof(why->text)] = "";
	size_t len = 0;

	for (int i = 0; i < PMU_COUNTS; i++) {
		bool has_more = i + 1 < PMU_COUNTS && errors[i + 1] == errors[i];

		if (!errors[i])
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", counter_names[i],
					has_more ? ", " : ": ");
		if (!has_more)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s; ",
						timer_has_no_counter(errors[i])
							? TIMER_NO_COUNTER
							: strerror(-errors[i]));
	}
	if (len)
		why_set(why, "%.*s", (int)len - 2, text);
}

/* Opens the counters on each CPU. Returns those that there are. */
static uint32_t open_counters(struct pmu_counting *counting, struct tracer *tracer, uint32_t known,
			      int errors[PMU_COUNTS])
{
	for (uint32_t i = 0; i < PMU_COUNTS; i++) {
		const struct timer_places places = {bpf_map__fd(counting->bpf->maps.pmu_counters),
						    PMU_COUNTS, i};

		if (!(known & 1U << i))
			continue;
		errors[i] = timer_new_counting(&counting->timers[i], tracer->loop, &places,
					       PERF_TYPE_HARDWARE, hardware_events[i]);
		if (errors[i] == 0)
			errors[i] = timer_start(counting->timers[i], 0);
		if (errors[i] < 0) {
			timer_free(TAKE_PTR(counting->timers[i]));
			known &= ~(1U << i);
		}
	}
	return known;
}

static int load_programs(struct pmu_counting *counting, struct tracer *tracer)
{
	int cpus = libbpf_num_possible_cpus();

	counting->bpf = tracer_open(tracer, pmucost);
	if (!counting->bpf)
		return -errno;
	struct pmucost_bpf *bpf = counting->bpf;
	const struct bpf_map *used[] = {bpf->maps.cost_counters, bpf->maps.pmu_counters,
					bpf->maps.pmu_before, NULL};
	tracer_keep_maps(bpf->obj, used);
	if (cpus < 0)
		return cpus;
	int r = bpf_map__set_max_entries(bpf->maps.pmu_counters, (uint32_t)cpus * PMU_COUNTS);
	return r < 0 ? r : pmucost_bpf__load(bpf);
}

/* Returns the values that these counters make: 1 << enum cost. */
static uint64_t values_of(uint32_t known)
{
	return known ? (uint64_t)known << COST_PMU_CYCLES | 1ULL << COST_PMU_NS : 0;
}

static int start_counting(struct pmu_counting *counting, struct tracer *tracer, uint32_t known,
			  int errors[PMU_COUNTS])
{
	int r = load_programs(counting, tracer);

	if (r < 0)
		return r;
	known = open_counters(counting, tracer, known, errors);
	explain_absent(&tracer->counters_absent[COUNTER_PMU], errors);
	counting->bpf->bss->pmu_known = known;
	r = known ? pmucost_bpf__attach(counting->bpf) : 0;
	if (r < 0 || !known)
		return r;
	tracer_counter_note(tracer, COUNTER_PMU,
			    &(struct counter_object){
				    .bpf = counting,
				    .object = counting->bpf->obj,
				    .destroy = stop_counting,
				    .by_process = bpf_map__fd(counting->bpf->maps.cost_counters),
				    .beside = bpf_program__fd(counting->bpf->progs.count_running),
				    .lost = &counting->bpf->bss->lost_events,
				    .known = values_of(known),
			    });
	return 1;
}

int tracer_pmu_start(struct tracer *tracer)
{
	int errors[PMU_COUNTS];
	uint32_t known = try_counters(errors);

	explain_absent(&tracer->counters_absent[COUNTER_PMU], errors);
	if (!known)
		return 0;
	struct pmu_counting *counting = calloc(1, sizeof(*counting));
	if (!counting)
		return -ENOMEM;
	int r = start_counting(counting, tracer, known, errors);
	if (r <= 0)
		stop_counting(counting);
	if (r < 0) /* proc_cpu has run times all the same */
		tracer_explain(&tracer->counters_absent[COUNTER_PMU], r,
			       "the program that reads the CPUs' counters can't be loaded");
	return 0;
}
