// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "session/session.h"

static const struct measure_label cause = {"cause", files_cause_name, 0, FILES_CAUSES};

static const struct measure rows[] = {
	{"files_written_total", "written", COUNTER, "Profiles written to files.",
	 MEASURE_AT(session_stats, files_written)},
	{"files_failed_total", "failed", COUNTER, "Profiles that could not be written, by cause.",
	 MEASURE_EACH(session_stats, files_causes, &cause)},
	{"unwritten_samples_total", NULL, COUNTER,
	 "Weight of the profiles that could not be written to files.",
	 MEASURE_AT(session_stats, unwritten)},
};

const struct measures session_measures = {"Files", "status.files", MEASURE_ROWS(rows)};
