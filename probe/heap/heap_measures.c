// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/live_heap.h"
#include "measure/measure.h"

#define AT(member) MEASURE_AT(live_heap_stats, member)

static const struct measure held_rows[] = {
	{"held_dead_total", NULL, COUNTER,
	 "Allocations that were removed because their process had ended.", AT(dead)},
	{"held_unnamed", "unnamed", GAUGE, "Objects without frames in the view that was read last.",
	 AT(unnamed)},
	{"held_young", "young", GAUGE,
	 "Objects that the last view of what is held left out, as their stacks had no names yet.",
	 AT(young)},
	{"held_refused_total", "refused", COUNTER,
	 "Objects that found no room in the profile of a view.", AT(refused)},
	{"held_unread_total", "unread", COUNTER,
	 "Readings of the allocations that are held that failed.", AT(failed)},
	{"held_ends_refused_total", NULL, COUNTER,
	 "Ends of processes that were not noted: what these held may be shown still.",
	 AT(mm_epochs_refused)},
	{"ledger_stacks", "stacks", GAUGE,
	 "Stacks whose frames are kept, for they may hold something.", AT(stack_cache.stacks)},
	{"ledger_refused_total", "stacks_refused", COUNTER,
	 "Stacks that found no room there: what they hold has no frames.", AT(stack_cache.refused)},
};

const struct measures heap_measures = {"Memory: what is held", "status.probes.mem_glibc.held",
				       MEASURE_ROWS(held_rows)};

static const struct measure range_rows[] = {
	{"mapped_ranges", "now", GAUGE,
	 "Ranges that programs have mapped themselves and not given back.", AT(ranges)},
	{"mapped_refused_total", "refused", COUNTER,
	 "Mapped ranges that found no room in the kernel's map.", AT(ranges_refused)},
};

const struct measures range_measures = {"Memory: mapped ranges", "status.probes.mem_glibc.mapped",
					MEASURE_ROWS(range_rows)};
