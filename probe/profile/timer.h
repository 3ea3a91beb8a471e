/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sampling timer: a software CPU clock event on every CPU, idle excluded, each with the given
 * BPF program. CPUs that come and go are followed (kernel uevents).
 */
#pragma once

#include <stdint.h>

#include "base/loop.h"

struct bpf_program;
struct timer;

/* Nothing is attached yet. -ENOMEM */
int timer_new(struct timer **ret, struct loop *loop, struct bpf_program *program);
void timer_free(struct timer *timer);

/* Starts, or changes the period. -errno of perf_event_open when a CPU that is there can't be
 * sampled. */
int timer_start(struct timer *timer, uint64_t period_ns);

/* CPUs that are sampled. */
unsigned timer_cpus(const struct timer *timer);
