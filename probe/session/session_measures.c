// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "session/session.h"

static uint64_t last_fired_s(const void *stats)
{
	const struct trigger_stats *trigger = stats;

	return (uint64_t)(trigger->last_fired / (int64_t)NS_PER_S);
}

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

static const struct measure trigger_rows[] = {
	{"trigger_fired_total", "fired", COUNTER,
	 "How often params.trigger fired, and a period was sampled.",
	 MEASURE_AT(trigger_stats, fired)},
	{"trigger_last_fired_timestamp_seconds", "last_fired", GAUGE,
	 "When params.trigger fired last, since 1970 (0: never).", .count = last_fired_s},
};

const struct measures trigger_measures = {"Trigger", "status.trigger", MEASURE_ROWS(trigger_rows)};
