/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A software event on every CPU, of the CPU's clock mostly, each with the given BPF program, of
 * which the descriptor stays the caller's and open. CPUs that come and go are followed (kernel
 * uevents).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

struct timer;

/* `event`: enum perf_sw_ids. `idle`: while the CPU is idle, too. Nothing is attached yet.
 * -ENOMEM */
int timer_new(struct timer **ret, struct loop *loop, int program_fd, uint32_t event, bool idle);
void timer_free(struct timer *timer);

/* Starts, or changes the period: of a clock in ns, else of so many events the program sees one.
 * -errno of perf_event_open when a CPU that is there can't be sampled. */
int timer_start(struct timer *timer, uint64_t period);

/* CPUs that are sampled. */
unsigned timer_cpus(const struct timer *timer);
