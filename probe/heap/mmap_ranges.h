/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Address ranges that programs have mapped themselves and not unmapped yet, from the events of
 * bpf/memory/mapping_calls.h. A range may be unmapped in part or mapped over. Bounded. Loop thread
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "bpf/shared/allocations.h"
#include "heap/live_alloc.h"

struct mmap_ranges;

/* Creates an empty set of at most `max` ranges, of all processes together. Returns 0 or -ENOMEM. */
int mmap_ranges_new(struct mmap_ranges **ret, size_t max);
void mmap_ranges_free(struct mmap_ranges *mapped);

/* Applies an event: a range was mapped (over what was there) or unmapped. */
void mmap_ranges_on_event(struct mmap_ranges *mapped, const struct mapped_event *event);

/* Drops a process's ranges older than `time_ns`: its program ended, or another one began. */
void mmap_ranges_cut(struct mmap_ranges *mapped, uint32_t tgid, uint64_t time_ns);

/*
 * Drops ranges older than `time_ns` of processes that keeps() refuses: their unmappings aren't
 * reported any more. Without memory for that, drops nothing until the next call.
 */
void mmap_ranges_keep(struct mmap_ranges *mapped, bool (*keeps)(void *arg, uint32_t tgid),
		      void *arg, uint64_t time_ns);

/* Drops all ranges. */
void mmap_ranges_clear(struct mmap_ranges *mapped);

/*
 * Copies all ranges to *ret, which the caller frees. A range that was unmapped in part is one entry
 * for each piece left; only its first one counts as an object. Returns the number of entries, or
 * -ENOMEM.
 */
int64_t mmap_ranges_list(const struct mmap_ranges *mapped, struct live_alloc **ret);

struct mmap_ranges_stats {
	uint64_t ranges;  /* pieces, now */
	uint64_t refused; /* pieces that found no room, since the start */
};
void mmap_ranges_stats(const struct mmap_ranges *mapped, struct mmap_ranges_stats *stats);
