// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that are unlike their own past, as history's last look saw them. */
#include <string.h>

#include "api/metrics/metrics_lines.h"
#include "kind/kind.h"
#include "profile/by_container.h"

void metrics_watch(const struct services *services)
{
	const struct spec *spec = session_spec(services->flamegraph);

	history_watch(services->history, spec && spec->running ? spec->probes : 0);
}

/* Calls `put` for each probe whose anomalies somebody has looked for. */
static void each_watched(struct buf *out, const struct measure *row, const void *stats,
			 void (*put)(struct buf *out, const struct measure *row, const char *probe,
				     const struct history_watched *watched))
{
	const struct figures *figures = stats;

	for (int i = 0; i < PROBE_COUNT; i++) {
		const struct history_watched *watched =
			history_watched(figures->services->history, i);

		if (watched->at)
			put(out, row, kind_get(i)->name, watched);
	}
}

static void put_anomalies(struct buf *out, const struct measure *row, const char *probe,
			  const struct history_watched *watched)
{
	buf_printf(out, "stackprobe_%s{probe=\"%s\"} %llu\n", row->name, probe,
		   (unsigned long long)watched->anomalies);
}

static void put_compared(struct buf *out, const struct measure *row, const char *probe,
			 const struct history_watched *watched)
{
	buf_printf(out, "stackprobe_%s{probe=\"%s\"} %llu\n", row->name, probe,
		   (unsigned long long)watched->processes);
}

static void put_time(struct buf *out, const struct measure *row, const char *probe,
		     const struct history_watched *watched)
{
	buf_printf(out, "stackprobe_%s{probe=\"%s\"} %lld\n", row->name, probe,
		   (long long)(watched->at / (int64_t)NS_PER_S));
}

static void write_anomalies(struct buf *out, const struct measure *row, const void *stats)
{
	each_watched(out, row, stats, put_anomalies);
}

static void write_compared(struct buf *out, const struct measure *row, const void *stats)
{
	each_watched(out, row, stats, put_compared);
}

static void write_time(struct buf *out, const struct measure *row, const void *stats)
{
	each_watched(out, row, stats, put_time);
}

/* Writes the lines of a process: its rates on both sides. */
static void put_rates(struct buf *out, const struct measure *row, const char *probe,
		      const struct watched_row *process)
{
	const char *end = strchr(process->name, ']');
	const char *comm = end ? end + 1 : "";
	const struct {
		const char *when;
		double rate;
	} sides[] = {{"before", process->rate.before}, {"after", process->rate.after}};

	for (size_t i = 0; i < ARRAY_SIZE(sides); i++) {
		buf_printf(out, "stackprobe_%s{probe=\"%s\",pid=\"%d\",comm=\"", row->name, probe,
			   end ? (int)strtol(process->name + 1, NULL, 10) : 0);
		metrics_label(out, comm, strlen(comm));
		if (process->container) {
			buf_str(out, "\",container=\"");
			metrics_label(out, process->container + strlen(CONTAINER_PREFIX),
				      strlen(process->container + strlen(CONTAINER_PREFIX)));
		}
		buf_printf(out, "\",when=\"%s\"} %.9g\n", sides[i].when, sides[i].rate);
	}
}

static void put_processes(struct buf *out, const struct measure *row, const char *probe,
			  const struct history_watched *watched)
{
	for (size_t i = 0; i < watched->rows_count; i++)
		put_rates(out, row, probe, &watched->rows[i]);
}

static void write_processes(struct buf *out, const struct measure *row, const void *stats)
{
	const struct figures *figures = stats;

	if (figures->services->process_metrics != 0)
		each_watched(out, row, stats, put_processes);
}

static const struct measure rows[] = {
	{"anomalies", NULL, GAUGE,
	 "Processes that are unlike their own past, at the last look (GET /anomalies).",
	 .lines = write_anomalies, .labels = "probe"},
	{"anomaly_compared_processes", NULL, GAUGE,
	 "Processes that the last look compared with a past of their own.", .lines = write_compared,
	 .labels = "probe"},
	{"anomaly_look_timestamp_seconds", NULL, GAUGE,
	 "When the last look was, since 1970; /metrics begins one, at most each ten windows of "
	 "history.",
	 .lines = write_time, .labels = "probe"},
};

const struct measures anomaly_measures = {"Anomalies", "", MEASURE_ROWS(rows)};

static const struct measure process_rows[] = {
	{"process_anomaly_rate", NULL, GAUGE,
	 "Weight a second of a process that is unlike its own past, lately and before: at most 20 "
	 "processes with the largest changes.",
	 .lines = write_processes, .labels = "probe, pid, comm, container, when"},
};

const struct measures process_anomaly_measures = {"Anomalies", "", MEASURE_ROWS(process_rows),
						  .scope = OF_PROCESS};
