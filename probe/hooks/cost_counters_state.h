/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of hooks/ that load what counts by process for /proc. */
#pragma once

#include "kernel/tracer_part.h"

#define COST_BITS(from, to) (((1ULL << (to)) - 1) & ~((1ULL << (from)) - 1))

/* Notes what has been started. */
void tracer_counter_note(struct tracer *tracer, enum cost_counter which,
			 const struct counter_object *object);

/* Starts what reads the CPUs' counters (tracer_pmu_counts.c), if that can be: else nothing is noted
 * but why. Returns 0 or -ENOMEM. */
int tracer_pmu_start(struct tracer *tracer);
