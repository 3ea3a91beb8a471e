// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/settings.h"

#include "loop/loop.h"

void params_detail(const struct params *params, struct stack_detail *detail)
{
	*detail = (struct stack_detail){
		.thread_frame = params->thread_frame,
		.native_stack = params->native_stack,
		.frames = (enum frame_detail)params->frame_detail,
		.places = true,
	};
}

uint64_t params_period_ns(const struct params *params)
{
	if (params->frequency_hz)
		return NS_PER_S / (uint64_t)params->frequency_hz;
	return (uint64_t)params->perf_sample_period_ms * NS_PER_MS;
}
