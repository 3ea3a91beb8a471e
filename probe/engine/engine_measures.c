// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/engine.h"
#include "java/agents/jfr.h"
#include "measure/measure.h"

static uint64_t has_kernel_names(const void *stats)
{
	const struct engine_stats *engine = stats;

	return engine->kernel_names_error == 0;
}

static const struct measure_label cause = {.name = "cause"};

static const struct measure rows[] = {
	{"looks_total", NULL, COUNTER,
	 "Readings of new stacks between windows' ends: one was urgent, or in turn.",
	 MEASURE_AT(engine_stats, looks.woken), .label = &cause, .label_is = "woken"},
	{"looks_total", NULL, COUNTER, NULL, MEASURE_AT(engine_stats, looks.in_turn),
	 .label = &cause, .label_is = "in_turn"},
	{"frames_unnamed_total", NULL, COUNTER, "Frames that got no symbol.",
	 MEASURE_AT(engine_stats, unnamed_frames)},
	{"kernel_names_readable", NULL, GAUGE,
	 "0: /proc/kallsyms can't be read or hides its addresses (kernel.kptr_restrict).",
	 .count = has_kernel_names},
	{"cpus", NULL, GAUGE, "CPUs that are sampled.", MEASURE_AT(engine_stats, cpus)},
};

const struct measures engine_measures = {"Windows", "", MEASURE_ROWS(rows)};

static const struct measure job_rows[] = {
	{"jobs_given_up_total", "given_up", COUNTER,
	 "Jobs given up because a file system or a process hung, or was too slow.",
	 MEASURE_AT(engine_stats, given_up)},
	{"jobs_refused_total", "refused", COUNTER,
	 "Jobs refused because too many others, of their user or of all, hung.",
	 MEASURE_AT(engine_stats, refused_jobs)},
};

const struct measures job_measures = {"Jobs", "status.jobs", MEASURE_ROWS(job_rows)};

static const struct measure_label state = {.name = "state"};
static const struct measure_label jfr_cause = {"cause", jfr_cause_name, 0, JFR_CAUSES};

#define AT(member) MEASURE_AT(jfr_stats, member)

static const struct measure jfr_rows[] = {
	{"java_recordings", "recording", GAUGE, "Java VMs that were asked to record (JFR).",
	 AT(recording), .label = &state, .label_is = "recording"},
	{"java_recordings", "starting", GAUGE, NULL, AT(starting), .label = &state,
	 .label_is = "starting"},
	{"java_recordings", "failed", GAUGE, NULL, AT(failed), .label = &state,
	 .label_is = "failed"},
	{"java_jfr_windows_total", "windows", COUNTER,
	 "Windows of a Java VM whose stacks are those that it recorded.", AT(windows)},
	{NULL, "fell_back", COUNTER,
	 "Windows of a Java VM that was to record whose stacks are the kernel's, of all causes.",
	 AT(fell_back)},
	{"java_jfr_fell_back_total", "fell_back_by", COUNTER,
	 "Windows of a Java VM that was to record whose stacks are the kernel's.",
	 MEASURE_EACH(jfr_stats, fell_back_by, &jfr_cause)},
	{"java_jfr_lost_samples_total", "lost_samples", COUNTER,
	 "Samples that recording Java VMs could not take.", AT(lost_samples)},
	{"java_jfr_lost_bytes_total", "lost_bytes", COUNTER,
	 "Bytes of events for which recording Java VMs had no room.", AT(lost_bytes)},
	{"java_jfr_refused_total", "refused", COUNTER,
	 "Recorded events that found no room in what the VM told.", AT(refused)},
	{"java_jfr_unasked_total", "unasked", COUNTER,
	 "Stacks of Java VMs that weren't asked to record, for so many are.", AT(unasked)},
};

const struct measures jfr_measures = {"Java: recordings (JFR)", "status.java.jfr",
				      MEASURE_ROWS(jfr_rows)};
