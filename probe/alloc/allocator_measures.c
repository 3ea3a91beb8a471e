// SPDX-License-Identifier: GPL-2.0-or-later
#include "alloc/allocator_view.h"
#include "measure/measure.h"

#define AT(member) MEASURE_AT(allocators_stats, member)

static const struct measure rows[] = {
	{"probed_files", "files", GAUGE, "Files of allocators that have probe points.", AT(files)},
	{"probe_points", "points", GAUGE, "Probe points in files of allocators.", AT(points)},
	{"probe_points_single_stepped", "single_stepped", GAUGE,
	 "Probe points on an instruction that the kernel has to single-step.", AT(stepped)},
};

const struct measures allocator_measures = {"Memory: probe points", "status.probes.mem_glibc",
					    MEASURE_ROWS(rows)};
