// SPDX-License-Identifier: GPL-2.0-only
#include "select/spec.h"

#include <string.h>

#include "loop/loop.h"
#include "profile/detail.h"
#include "probes/tracer_memory.h"
#include "probes/tracer_sched.h"

int spec_init(struct spec *spec, const struct params *params)
{
	*spec = (struct spec){.params = *params};
	return snoopers_new(&spec->snoopers);
}

void spec_copy(struct spec *to, const struct spec *from)
{
	*to = *from;
	snoopers_ref(to->snoopers);
}

void spec_done(struct spec *spec)
{
	snoopers_unref(spec->snoopers);
	spec->snoopers = NULL;
}

uint64_t params_period_ns(const struct params *params)
{
	if (params->frequency_hz)
		return NS_PER_S / (uint64_t)params->frequency_hz;
	return (uint64_t)params->perf_sample_period_ms * NS_PER_MS;
}

void params_detail(const struct params *params, struct detail *detail)
{
	*detail = (struct detail){
		.thread_frame = params->thread_frame,
		.native_stack = params->native_stack,
		.frames = (enum frame_detail)params->frame_detail,
		.places = true,
	};
}

static uint64_t ns_of_us(int64_t us)
{
	return (uint64_t)us > UINT64_MAX / 1000 ? UINT64_MAX : (uint64_t)us * 1000;
}

void params_offcpu(const struct params *params, struct offcpu_settings *settings)
{
	static const uint32_t states[] = {
		[OFFCPU_SD] = 1u << WAIT_SLEEP | 1u << WAIT_DISK,
		[OFFCPU_D] = 1u << WAIT_DISK,
		[OFFCPU_ALL] =
			1u << WAIT_RUNNABLE | 1u << WAIT_SLEEP | 1u << WAIT_DISK | 1u << WAIT_OTHER,
	};

	*settings = (struct offcpu_settings){
		.minblock_ns = ns_of_us(params->minblock_us),
		.maxblock_ns = ns_of_us(params->maxblock_us),
		.states = states[params->offcpu_state],
		.depth = (uint32_t)params->offcpu_depth,
		.split = params->offcpu_split,
	};
}

void params_memory(const struct params *params, struct memory_settings *settings)
{
	*settings = (struct memory_settings){
		.fault_bytes = (uint64_t)params->mem_fault_bytes,
		.sample_bytes = (uint64_t)params->mem_sample_bytes,
	};
}

bool params_equal(const struct params *a, const struct params *b)
{
	return a->svg_period_s == b->svg_period_s &&
	       a->perf_sample_period_ms == b->perf_sample_period_ms &&
	       a->frequency_hz == b->frequency_hz && a->multi_instance == b->multi_instance &&
	       a->native_stack == b->native_stack && a->thread_frame == b->thread_frame &&
	       a->frame_detail == b->frame_detail && a->java_source == b->java_source &&
	       a->java_symbol_refresh_interval_s == b->java_symbol_refresh_interval_s &&
	       a->max_overhead == b->max_overhead && a->icicle == b->icicle &&
	       a->minblock_us == b->minblock_us && a->maxblock_us == b->maxblock_us &&
	       a->offcpu_state == b->offcpu_state && a->offcpu_split == b->offcpu_split &&
	       a->offcpu_depth == b->offcpu_depth && a->aggregate_by_cpu == b->aggregate_by_cpu &&
	       a->mem_fault_bytes == b->mem_fault_bytes &&
	       a->mem_sample_bytes == b->mem_sample_bytes && strcmp(a->svg_dir, b->svg_dir) == 0 &&
	       strcmp(a->flame_dir, b->flame_dir) == 0;
}

bool params_upload_equal(const struct params *a, const struct params *b)
{
	return strcmp(a->pyroscope_server, b->pyroscope_server) == 0 &&
	       a->pyroscope_api == b->pyroscope_api;
}
