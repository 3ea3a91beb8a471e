// SPDX-License-Identifier: GPL-2.0-or-later
#include "history/history.h"

#define AT(member) MEASURE_AT(history_stats, member)

static const struct measure rows[] = {
	{"history_windows_total", "windows", COUNTER, "Windows that history has got on disk.",
	 AT(counts.windows)},
	{"history_failed_total", "failed", COUNTER,
	 "Windows that are missing in history as they could not be packed or written.",
	 AT(counts.failed)},
	{"history_merged_total", "merged", COUNTER,
	 "Records of 5 minutes and of an hour that history has put together.", AT(counts.merged)},
	{"history_damaged_total", "damaged", COUNTER,
	 "Records that could not be read, and are missing in answers.", AT(counts.damaged)},
	{"history_damaged_bytes", NULL, GAUGE,
	 "Bytes at the ends of history's files that can't be read, after a power cut say.",
	 AT(files.damaged)},
	{"history_bytes", "bytes", GAUGE, "Bytes of history's files.", AT(files.bytes)},
	{"history_limit_bytes", "limit_bytes", GAUGE,
	 "Bytes that history may have (0: none is kept).", AT(limit_bytes)},
	{"history_removed_total", "removed", COUNTER,
	 "Files of history that were removed because of their age or size.", AT(files.removed)},
	{"history_events_lost_total", "events_lost", COUNTER,
	 "Events that are missing in GET /events as they could not be written.", AT(events_lost)},
};

const struct measures history_measures = {"History", "status.history", MEASURE_ROWS(rows)};
