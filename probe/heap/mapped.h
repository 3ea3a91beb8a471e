/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs have mapped themselves and not given back, range by range, from the events of
 * bpf/mmap.bpf.c. Parts may go, and ranges be mapped over. On the loop's thread; bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/allocations.h"
#include "heap/holding.h"

struct mapped;

/* -ENOMEM. `max` ranges of all processes together. */
int mapped_new(struct mapped **ret, size_t max);
void mapped_free(struct mapped *mapped);

void mapped_on_event(struct mapped *mapped, const struct mapped_event *event);

/* The process's program has ended, or another one began, at that time. */
void mapped_cut(struct mapped *mapped, uint32_t tgid, uint64_t time_ns);

/* Forgets what came until then of processes that keeps() refuses: what these unmap isn't told any
 * more. Without memory for it all stays until the next time. */
void mapped_keep(struct mapped *mapped, bool (*keeps)(void *arg, uint32_t tgid), void *arg,
		 uint64_t time_ns);

/* Forgets all. */
void mapped_clear(struct mapped *mapped);

/* A copy of all, the caller's to free; a range that lost parts is one holding for each that is
 * left, all but the first with 0 objects. Returns their number, or -ENOMEM. */
int64_t mapped_list(const struct mapped *mapped, struct holding **ret);

struct mapped_stats {
	uint64_t ranges;  /* now */
	uint64_t refused; /* found no room */
};
void mapped_stats(const struct mapped *mapped, struct mapped_stats *stats);
