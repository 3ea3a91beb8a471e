/* SPDX-License-Identifier: GPL-2.0-only */
/* Translates the params of a spec, which are plain data, into the settings of the parts that
 * sample. */
#pragma once

#include "probes/tracer_memory.h"
#include "probes/tracer_sched.h"
#include "profile/stack_detail.h"
#include "select/spec.h"

/* Fills `detail`: what is to be seen of stacks. */
void params_detail(const struct params *params, struct stack_detail *detail);

/* Fills `settings` of off-CPU. A time that has no room in ns becomes the longest one. */
void params_offcpu(const struct params *params, struct offcpu_settings *settings);

/* Fills `settings`: of how many bytes one page fault and one allocation is drawn. */
void params_memory(const struct params *params, struct memory_settings *settings);
