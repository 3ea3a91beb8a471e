// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "profile/cleaner.h"

#define AT(member) MEASURE_AT(cleaner_stats, member)

static const struct measure rows[] = {
	{"files_removed_total", "removed", COUNTER, "Files removed because of their age or size.",
	 AT(removed)},
	{"files_removed_bytes_total", NULL, COUNTER,
	 "Bytes of the files removed because of their age or size.", AT(removed_bytes)},
	{"files_remove_failed_total", "remove_failed", COUNTER,
	 "Files and folders that could not be removed or read when they had to go.", AT(failed)},
	{"files_kept", NULL, GAUGE,
	 "Files that the last look for old ones left (0 without a limit of bytes).", AT(files)},
	{"files_kept_bytes", NULL, GAUGE,
	 "Bytes of the files that the last look for old ones left (0 without a limit of bytes).",
	 AT(bytes)},
};

const struct measures cleaner_measures = {"Files", "status.files", MEASURE_ROWS(rows)};
