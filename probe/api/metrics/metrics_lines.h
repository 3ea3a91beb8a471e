/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of Prometheus' text format, and the parts of /metrics. Names get the prefix "stackprobe_".
 * Loop thread only. */
#pragma once

#include "api/feature/feature.h"

struct upload_status;

/* Writes the lines # HELP and # TYPE of a metric. */
void metrics_head(struct buf *out, const char *name, const char *type, const char *help);

/* Writes a metric without labels: head and line. */
void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 double value);

/* Writes the value of a label, without the quotes: UTF-8, with \, " and line feed escaped. */
void metrics_label(struct buf *out, const char *text, size_t len);

/* Writes `,container="web",pod="front",namespace="shop"`, without labels that aren't known; nothing
 * if `container` is NULL. */
void metrics_container(struct buf *out, const struct container *container);

/* Writes the unwinder's tables and truncated stacks, by process only if `of_processes`
 * (api/metrics/metrics_unwind.c). */
void metrics_unwind(struct buf *out, const struct services *services,
		    const struct engine_stats *stats, bool of_processes);

/* Writes live allocations and probe points (api/metrics/metrics_memory.c). */
void metrics_memory(struct buf *out, const struct services *services,
		    const struct engine_stats *stats);

/* Writes Python's processes and code objects (api/metrics/metrics_python.c). */
void metrics_python(struct buf *out, const struct services *services,
		    const struct code_cache_stats *codes);

/* Writes Java's processes and methods (api/metrics/metrics_java.c). */
void metrics_java(struct buf *out, const struct services *services,
		  const struct engine_stats *stats);

/* Write the counters of /sched, and the lines of probe_up of its probes
 * (api/metrics/metrics_sched.c). */
void metrics_sched(struct buf *out, const struct services *services);
void metrics_sched_up(struct buf *out, const struct services *services);

/* Writes the counters of uploads (api/metrics/metrics_upload.c). */
void metrics_upload(struct buf *out, const struct upload_status *status);

/* Writes CPU times, switches and waits by process (api/metrics/metrics_process.c). */
void metrics_process(struct buf *out, const struct services *services,
		     const struct engine_stats *stats);
