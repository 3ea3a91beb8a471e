/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translates the params of a spec, which are plain data, into the settings of sampling and
 * profiles. Any thread.
 */
#pragma once

#include "probes/tracer_memory.h"
#include "probes/tracer_sched.h"
#include "profile/stack_detail.h"
#include "select/spec.h"

/* Fills in which details of stacks are shown. */
void params_detail(const struct params *params, struct stack_detail *detail);

/* Fills in the settings of off-CPU. A time too long for ns becomes the longest one. */
void params_offcpu(const struct params *params, struct offcpu_settings *settings);

/* Fills in how many bytes there are between sampled page faults and allocations. */
void params_memory(const struct params *params, struct memory_settings *settings);
