// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers of the daemon as a whole, and of its probes those that aren't in GET as they are here. */
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "base/cleanup.h"
#include "loop/reaper.h"
#include "kind/kind.h"
#include "kind/loss_names.h"
#include "sched/sched.h"
#include "sched/sched_kind.h"

/* ---- probes ---- */

static bool is_up(const char *state)
{
	return strcmp(state, "running") == 0 || strcmp(state, "arming") == 0;
}

static bool is_down(const char *state)
{
	return strcmp(state, "failed") == 0 || strcmp(state, "unsupported") == 0;
}

/* Writes for each probe whether it was asked for and its state is one of those that `is_one` knows.
 */
static void write_states(struct buf *out, const struct measure *row, const struct figures *figures,
			 bool (*is_one)(const char *state))
{
	const struct session *session = figures->services->flamegraph;
	const struct spec *spec = session_spec(session);
	uint32_t asked = 0, refused = 0;

	/* What the conf file or the saved state asks for, and couldn't begin. */
	if (!spec && !figures->services->starting && is_one == is_down)
		refused = figures->services->wanted_at_start;
	if (spec && spec->running)
		asked = spec->probes;
	for (int i = 0; i < PROBE_COUNT; i++) {
		if (!kind_exists(i))
			continue;
		const char *why, *state = session_state(session, i, &why);
		buf_printf(out, "stackprobe_%s{feature=\"flamegraph\",probe=\"%s\"} %d\n",
			   row->name, kind_get(i)->name,
			   (asked & 1u << i && is_one(state)) || (refused & 1u << i));
	}
	for (int i = 0; i < SCHED_COUNT; i++) {
		const char *why, *state = sched_state(figures->services->sched, i, &why);

		buf_printf(out, "stackprobe_%s{feature=\"sched\",probe=\"%s\"} %d\n", row->name,
			   sched_kind_get(i)->name, is_one(state));
	}
}

static void write_up(struct buf *out, const struct measure *row, const void *stats)
{
	write_states(out, row, stats, is_up);
}

static void write_down(struct buf *out, const struct measure *row, const void *stats)
{
	write_states(out, row, stats, is_down);
}

static const struct measure state_rows[] = {
	{"probe_up", NULL, GAUGE, "1 while a probe that was asked for collects.", .lines = write_up,
	 .labels = "feature, probe"},
	{"probe_down", NULL, GAUGE,
	 "1 while a probe that was asked for can't collect, which is more than waiting for its "
	 "trigger.",
	 .lines = write_down, .labels = "feature, probe"},
};

const struct measures state_measures = {"Probes", "", MEASURE_ROWS(state_rows)};

static void write_lost(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;

	for (int of = 0; of < LOSERS_COUNT; of++) {
		if (of < PROBE_COUNT && !kind_exists(of))
			continue;
		const char *name = of == LOSERS_ALL	? "all"
				   : of == LOSERS_SCHED ? "sched"
							: kind_get(of)->name;

		for (int i = 0; i < LOST_COUNT; i++)
			buf_printf(out, "stackprobe_%s{probe=\"%s\",where=\"%s\"} %llu\n",
				   row->name, name, loss_name(i),
				   (unsigned long long)figures->engine.lost[of][i]);
	}
}

static const struct measure loss_rows[] = {
	{"lost_total", NULL, COUNTER,
	 "Samples and events lost, by probe (or all, sched) and place.", .lines = write_lost,
	 .labels = "probe", .label = &loss_label},
	{"stack_truncated_total", NULL, COUNTER,
	 "Events whose stacks do not reach their root, by cause.",
	 MEASURE_EACH(figures, truncated, &truncation_label)},
};

const struct measures loss_measures = {"Probes", "", MEASURE_ROWS(loss_rows)};

/* ---- the daemon ---- */

static uint64_t ondemand_sessions(const void *stats)
{
	const struct figures *figures = stats;

	return ondemands_count(figures->services->ondemands);
}

static uint64_t children_left(const void *stats)
{
	(void)stats;
	return reaper_bury();
}

static double bpf_runtime_s(const void *stats)
{
	const struct figures *figures = stats;

	return (double)figures->engine.bpf_time_ns / 1e9;
}

static const char *refusal_name(unsigned refusal)
{
	static const char *const names[] = {REFUSAL_LIST(NAMED_NAME)};

	return names[refusal];
}

static const struct measure_label cause = {"cause", refusal_name, 0, REFUSALS};

static void write_build(struct buf *out, const struct measure *row, const void *stats)
{
	(void)stats;
	buf_printf(out, "stackprobe_%s{version=\"" VERSION "\"} 1\n", row->name);
}

static const struct measure rows[] = {
	{"build_info", NULL, GAUGE, "1, with the version of the daemon as a label.",
	 .lines = write_build, .labels = "version"},
	{"http_refused_total", NULL, COUNTER,
	 "Requests that were not let in, by cause (doc/security.md).",
	 MEASURE_EACH(figures, refused, &cause)},
	{"ondemand_sessions", NULL, GAUGE, "Sessions on demand that run.",
	 .count = ondemand_sessions},
	{"children_left", NULL, GAUGE,
	 "Processes of the daemon's own that were to end and haven't yet.", .count = children_left},
	{"bpf_runtime_seconds_total", NULL, COUNTER,
	 "Run time of the BPF programs that are loaded (0 while kernel.bpf_stats_enabled is 0); "
	 "begins again when they are loaded again.",
	 .seconds = bpf_runtime_s},
	{"bpf_runtime_seconds", NULL, GAUGE,
	 "Old name of stackprobe_bpf_runtime_seconds_total; it goes with the next version.",
	 .seconds = bpf_runtime_s},
	{"resident_memory_bytes", NULL, GAUGE, "Resident memory of the daemon.",
	 .count = metrics_resident_bytes},
	{"cpu_seconds_total", NULL, COUNTER, "CPU time of the daemon, user and system.",
	 .seconds = metrics_cpu_s},
};

const struct measures daemon_measures = {"The daemon", "", MEASURE_ROWS(rows)};
