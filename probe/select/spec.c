// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/spec.h"

#include <string.h>

#include "loop/loop.h"

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
