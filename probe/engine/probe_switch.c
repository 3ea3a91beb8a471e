// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/probe_switch.h"

#include <string.h>

#include "base/cleanup.h"
#include "alloc/allocators.h"
#include "probes/kind.h"
#include "bpf/shared/sample.h"

#define DEFAULT_PERIOD_NS    (10 * NS_PER_MS)
#define DEFAULT_MINBLOCK_NS  (50 * NS_PER_MS / 1000)
#define DEFAULT_MAXBLOCK_NS  (3600 * NS_PER_S)
#define DEFAULT_DEPTH	     256
#define DEFAULT_FAULT_BYTES  65536
#define DEFAULT_SAMPLE_BYTES 524288

static int start_clock(struct probe_switch *sampling, struct why *why)
{
	return tracer_sample(sampling->tracer, sampling->period_ns, why);
}

static int start_switches(struct probe_switch *sampling, struct why *why)
{
	return tracer_offcpu(sampling->tracer, &sampling->offcpu, why);
}

static int start_faults(struct probe_switch *sampling, struct why *why)
{
	return tracer_faults(sampling->tracer, sampling->memory.fault_bytes, why);
}

static int start_calls(struct probe_switch *sampling, struct why *why)
{
	int r = tracer_calls(sampling->tracer, sampling->memory.sample_bytes, why);

	if (r == 0)
		allocators_start(sampling->allocators);
	return r;
}

static void stop_clock(struct probe_switch *sampling)
{
	tracer_sample_stop(sampling->tracer);
}

static void stop_switches(struct probe_switch *sampling)
{
	tracer_offcpu_stop(sampling->tracer);
}

static void stop_faults(struct probe_switch *sampling)
{
	tracer_faults_stop(sampling->tracer);
}

static void calls_detached(void *arg)
{
	struct probe_switch *sampling = arg;

	tracer_calls_stop(sampling->tracer);
}

/* Stops allocators' probes; the programs stay until nothing is attached to them any more. */
static void stop_calls(struct probe_switch *sampling)
{
	allocators_stop(sampling->allocators, calls_detached, sampling);
}

static const struct {
	int (*start)(struct probe_switch *sampling, struct why *why);
	void (*stop)(struct probe_switch *sampling);
} all_hooks[HOOKS_COUNT] = {
	[HOOKS_CLOCK] = {start_clock, stop_clock},
	[HOOKS_SWITCHES] = {start_switches, stop_switches},
	[HOOKS_FAULTS] = {start_faults, stop_faults},
	[HOOKS_CALLS] = {start_calls, stop_calls},
};

void probe_switch_init(struct probe_switch *sampling, struct tracer *tracer)
{
	*sampling = (struct probe_switch){
		.tracer = tracer,
		.period_ns = DEFAULT_PERIOD_NS,
		.offcpu = {.minblock_ns = DEFAULT_MINBLOCK_NS,
			   .maxblock_ns = DEFAULT_MAXBLOCK_NS,
			   .states = 1u << WAIT_SLEEP | 1u << WAIT_DISK,
			   .depth = DEFAULT_DEPTH},
		.memory = {.fault_bytes = DEFAULT_FAULT_BYTES,
			   .sample_bytes = DEFAULT_SAMPLE_BYTES},
	};
}

void probe_switch_prepare(struct probe_switch *sampling, uint32_t probes)
{
	/* A failure is ignored: it will occur again at the start. */
	if (probes & 1u << PROBE_ONCPU)
		tracer_load(sampling->tracer, NULL);
}

static void start_probe(struct probe_switch *sampling, enum probe probe)
{
	struct sampling_failure *failure = &sampling->failures[probe];

	failure->why.text[0] = '\0';
	failure->error = all_hooks[kind_get(probe)->hooks].start(sampling, &failure->why);
	if (failure->error == 0) {
		sampling->running |= 1u << probe;
		return;
	}
	all_hooks[kind_get(probe)->hooks].stop(sampling);
	if (!failure->why.text[0])
		why_set(&failure->why, "%s", strerror(-failure->error));
}

static void stop_probe(struct probe_switch *sampling, enum probe probe)
{
	all_hooks[kind_get(probe)->hooks].stop(sampling);
	sampling->running &= ~(1u << probe);
}

void probe_switch_set(struct probe_switch *sampling, uint32_t probes)
{
	for (int probe = 0; probe < PROBE_COUNT; probe++) {
		bool wanted = probes & 1u << probe, runs = sampling->running & 1u << probe;

		if (wanted && !runs)
			start_probe(sampling, probe);
		else if (runs && !wanted)
			stop_probe(sampling, probe);
	}
}

int probe_switch_set_period(struct probe_switch *sampling, uint64_t period_ns, struct why *why)
{
	sampling->period_ns = period_ns;
	return sampling->running & 1u << PROBE_ONCPU ? start_clock(sampling, why) : 0;
}

int probe_switch_set_offcpu(struct probe_switch *sampling, const struct offcpu_settings *settings,
			    struct why *why)
{
	sampling->offcpu = *settings;
	return sampling->running & 1u << PROBE_OFFCPU ? start_switches(sampling, why) : 0;
}

int probe_switch_set_memory(struct probe_switch *sampling, const struct memory_settings *settings,
			    struct why *why)
{
	static const enum probe probes[] = {PROBE_MEM, PROBE_MEM_GLIBC};
	int error = 0;

	sampling->memory = *settings;
	for (size_t i = 0; i < ARRAY_SIZE(probes) && error == 0; i++) {
		if (sampling->running & 1u << probes[i])
			error = all_hooks[kind_get(probes[i])->hooks].start(sampling, why);
	}
	return error;
}
