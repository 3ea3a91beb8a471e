// SPDX-License-Identifier: GPL-2.0-or-later
#include "measure/measure.h"
#include "window/drain.h"

#define AT(member) MEASURE_AT(drain_stats, member)

static const struct measure rows[] = {
	{"profile_refused_total", NULL, COUNTER,
	 "Weight that found no room in a profile (it has too many distinct frames).", AT(refused)},
	{"records_refused_total", NULL, COUNTER,
	 "Events in profiles that their records by thread (.jsonl) had no room for.",
	 AT(unrecorded)},
	{"windows_total", NULL, COUNTER, "Windows read.", AT(windows)},
	{"window_stacks", NULL, GAUGE, "Distinct stacks in the window read last.",
	 AT(window_stacks)},
};

const struct measures drain_measures = {"Windows", "", MEASURE_ROWS(rows)};

static const struct measure java_rows[] = {
	{"java_inline_unknown_total", "inline_unknown", COUNTER,
	 "Events in whose stack there is a Java method of which it isn't known what of it is "
	 "inlined there: the outermost method is shown.",
	 AT(inline_unknown)},
	{"java_untold_total", "untold", COUNTER,
	 "Events in whose stack there is code of a Java VM whose tables can't be read, of which "
	 "its agent has told nothing: it is [jit].",
	 AT(untold)},
};

const struct measures drain_java_measures = {"Java", "status.java", MEASURE_ROWS(java_rows)};
