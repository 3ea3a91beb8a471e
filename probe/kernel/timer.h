/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A perf event on every CPU, mostly the CPU's clock, each running the given BPF program; or each
 * counting, where programs read it in a map. The program's and the map's descriptors are borrowed
 * until timer_free(). CPUs that come and go are followed (kernel uevents). Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/loop.h"

struct timer;

/*
 * Creates a timer, attached nowhere; the caller owns *ret. `type`: enum perf_type_id; `event`: enum
 * perf_sw_ids or perf_hw_id. `idle`: also
 * while the CPU is idle. Returns 0 or a negative errno, such as -ENOMEM.
 */
int timer_new(struct timer **ret, struct loop *loop, int program_fd, uint32_t type, uint64_t event,
	      bool idle);
/* Where events that count are in a map (BPF_MAP_TYPE_PERF_EVENT_ARRAY): CPU * stride + at. */
struct timer_places {
	int map_fd;
	uint32_t stride, at;
};

/* Creates the same for events that count, also while the CPU is idle. Its period is 0. */
int timer_new_counting(struct timer **ret, struct loop *loop, const struct timer_places *places,
		       uint32_t type, uint64_t event);
void timer_free(struct timer *timer);

/* Returns whether timer_start()'s error means that the machine has no such counter; and what people
 * read then. */
bool timer_has_no_counter(int error);
#define TIMER_NO_COUNTER                                                                           \
	"this machine shows no such counter (in a virtual machine, have the host pass a PMU "      \
	"through)"

/*
 * Attaches to all CPUs, or changes the period: ns of a clock, or the number of events of which the
 * program sees one. Returns 0, or the error of perf_event_open() if a CPU that is on-line can't be
 * sampled.
 */
int timer_start(struct timer *timer, uint64_t period);

/* Returns the number of CPUs that are sampled. */
unsigned timer_cpus(const struct timer *timer);
