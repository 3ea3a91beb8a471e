/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out which task had the CPU that another one waited for. Any thread. */
#pragma once

#include "bpf/shared/scheduler.h"

struct cpu_holder {
	/*
	 * The task that ran there right before; tid 0 and comm "swapper/N": none. An empty comm:
	 * not known.
	 */
	struct slice before;
	/*
	 * The task that had the CPU longest while the other one waited, and how long; idle isn't a
	 * task. tid 0: none was seen.
	 */
	uint32_t most_tid;
	uint64_t most_ns;
	char most_comm[COMM_BYTES];
};

/* Fills in *holder. There are event->slices_count slices, newest first (struct slow_event). */
void cpu_holder_find(struct cpu_holder *holder, const struct slow_event *event,
		     const struct slice *slices);
