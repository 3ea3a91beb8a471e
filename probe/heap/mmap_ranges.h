/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs have mapped themselves and not given back, range by range, from the events of
 * bpf/mmap.bpf.c. Parts may go, and ranges be mapped over. On the loop's thread; bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/allocations.h"
#include "heap/live_alloc.h"

struct mmap_ranges;

/* -ENOMEM. `max` ranges of all processes together. */
int mmap_ranges_new(struct mmap_ranges **ret, size_t max);
void mmap_ranges_free(struct mmap_ranges *mapped);

void mmap_ranges_on_event(struct mmap_ranges *mapped, const struct mapped_event *event);

/* The process's program has ended, or another one began, at that time. */
void mmap_ranges_cut(struct mmap_ranges *mapped, uint32_t tgid, uint64_t time_ns);

/* Forgets what came until then of processes that keeps() refuses: what these unmap isn't told any
 * more. Without memory for it all stays until the next time. */
void mmap_ranges_keep(struct mmap_ranges *mapped, bool (*keeps)(void *arg, uint32_t tgid),
		      void *arg, uint64_t time_ns);

/* Forgets all. */
void mmap_ranges_clear(struct mmap_ranges *mapped);

/* A copy of all, the caller's to free; a range that lost parts is one holding for each that is
 * left, all but the first with 0 objects. Returns their number, or -ENOMEM. */
int64_t mmap_ranges_list(const struct mmap_ranges *mapped, struct live_alloc **ret);

struct mmap_ranges_stats {
	uint64_t ranges;  /* now */
	uint64_t refused; /* found no room */
};
void mmap_ranges_stats(const struct mmap_ranges *mapped, struct mmap_ranges_stats *stats);
