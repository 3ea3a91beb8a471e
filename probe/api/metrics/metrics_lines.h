/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of Prometheus' text format, and the tables of /metrics that nobody below owns. Names get
 * the prefix "stackprobe_". Loop thread only. */
#pragma once

#include "api/status/figures.h"

/* Writes the value of a label, without the quotes: UTF-8, with \, " and line feed escaped. */
void metrics_label(struct buf *out, const char *text, size_t len);

/* Writes `,container="web",pod="front",namespace="shop"`, without labels that aren't known; nothing
 * if `container` is NULL. */
void metrics_container(struct buf *out, const struct container *container);

/* Looks for anomalies of what runs, for the next answer (api/metrics/metrics_anomalies.c). */
void metrics_watch(const struct services *services);

/* Return the daemon's own CPU time and resident memory, for rows that ask for them. */
double metrics_cpu_s(const void *stats);
uint64_t metrics_resident_bytes(const void *stats);

/* Fills in the rows of sched_measures, from the table of /sched's probes. Called once. */
void sched_measures_make(void);

/* Rows of struct figures: the state of probes, what is lost; the daemon itself; /sched; processes;
 * what each exporter tells of itself. */
extern const struct measures state_measures, loss_measures, daemon_measures, sched_measures,
	process_measures, process_cost_measures, container_cost_measures, node_cost_measures,
	standard_measures, anomaly_measures, process_anomaly_measures;
