// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/settings.h"

void params_detail(const struct params *params, struct stack_detail *detail)
{
	*detail = (struct stack_detail){
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
