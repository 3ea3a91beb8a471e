// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/symbol_file.h"
#include "measure/measure.h"

static const struct measure_label cause = {"cause", symbol_loss_name, 0, SYMBOL_LOST_COUNT};
static const struct measure_label map_cause = {"cause", perfmap_loss_name, 0, PERFMAP_LOST_COUNT};

#define AT(member) MEASURE_AT(symbol_files_stats, member)

static const struct measure rows[] = {
	{"symbol_files", NULL, GAUGE, "Files with code that are known.", AT(files)},
	{"symbol_files_unreadable", NULL, GAUGE,
	 "Files of targets with code whose functions can't be read.", AT(unreadable)},
	{"symbol_files_held", NULL, GAUGE, "Files of targets that are held open.", AT(held)},
	{"symbol_bytes", NULL, GAUGE,
	 "Memory of the daemon for the functions of files that are known.", AT(bytes)},
	{"symbol_readings_total", NULL, COUNTER, "How often a file's functions were read.",
	 AT(readings)},
	{"symbols_lost_total", "symbols_lost", COUNTER,
	 "Distinct addresses of a window whose function could not be looked up, by cause.",
	 MEASURE_EACH(symbol_files_stats, lost, &cause)},
	{"perf_maps_lost_total", "perf_maps_lost", COUNTER,
	 "Distinct addresses of a window whose perf map could not tell, by cause.",
	 MEASURE_EACH(symbol_files_stats, perfmaps_lost, &map_cause)},
};

const struct measures symbol_measures = {"Names of functions", "status", MEASURE_ROWS(rows)};
