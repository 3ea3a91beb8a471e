// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes live allocations, and the probe points of allocators. */
#include "api/metrics/metrics_lines.h"
#include "hooks/tracer_memory.h"

static void write_held(struct buf *out, const struct live_heap_stats *held, uint32_t max)
{
	metrics_one(out, "held_allocations", "gauge",
		    "Sampled allocations that weren't freed when they were counted last.",
		    (double)held->entries);
	metrics_one(out, "held_allocations_max", "gauge", "The most of these there can be.",
		    (double)max);
	metrics_one(out, "held_dead_total", "counter",
		    "Allocations that were removed because their process had ended.",
		    (double)held->dead);
	metrics_one(out, "held_unnamed", "gauge",
		    "Objects without frames in the view that was read last.",
		    (double)held->unnamed);
	metrics_one(out, "held_young", "gauge",
		    "Objects that it left out: their stacks had no names yet.",
		    (double)held->young);
	metrics_one(out, "held_refused_total", "counter",
		    "Objects that found no room in the profile of a view.", (double)held->refused);
	metrics_one(out, "held_unread_total", "counter", "Readings of what is held that failed.",
		    (double)held->failed);
	metrics_one(out, "held_ends_refused_total", "counter",
		    "Ends of processes that were not noted: what these held may be shown still.",
		    (double)held->mm_epochs_refused);
}

static void write_stack_cache(struct buf *out, const struct live_heap_stats *held)
{
	metrics_one(out, "ledger_stacks", "gauge",
		    "Stacks whose frames are kept, for they may hold something.",
		    (double)held->stack_cache.stacks);
	metrics_one(out, "ledger_refused_total", "counter",
		    "Stacks that found no room there: what they hold has no frames.",
		    (double)held->stack_cache.refused);
	metrics_one(out, "mapped_ranges", "gauge",
		    "Ranges that programs have mapped themselves and not given back.",
		    (double)held->ranges);
	metrics_one(out, "mapped_refused_total", "counter", "Of these, ranges that found no room.",
		    (double)held->ranges_refused);
}

static void write_points(struct buf *out, const struct allocators_stats *points)
{
	metrics_one(out, "probed_files", "gauge", "Files of allocators that have probe points.",
		    (double)points->files);
	metrics_one(out, "probe_points", "gauge", "Probe points in them.", (double)points->points);
	metrics_one(out, "probe_points_single_stepped", "gauge",
		    "Of these, points on an instruction that the kernel has to single-step.",
		    (double)points->stepped);
}

void metrics_memory(struct buf *out, const struct services *services,
		    const struct engine_stats *stats)
{
	write_held(out, &stats->live_heap, tracer_held_max(engine_tracer(services->engine)));
	write_stack_cache(out, &stats->live_heap);
	write_points(out, &stats->allocators);
}
