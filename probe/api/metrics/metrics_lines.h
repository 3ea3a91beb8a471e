/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of Prometheus' text format, which the parts of /metrics share. Names get "stackprobe_". */
#pragma once

#include "api/feature/feature.h"

struct upload_status;

void metrics_head(struct buf *out, const char *name, const char *type, const char *help);

/* A metric without labels: head and line. */
void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 double value);

/* A label's value, without the quotes: UTF-8, of which \, " and line feed are escaped. */
void metrics_label(struct buf *out, const char *text, size_t len);

/* `,container="web",pod="front",namespace="shop"`; in none (NULL), or not known: nothing. */
void metrics_container(struct buf *out, const struct container *container);

/* What the unwinder has and where it stopped, also by process (api/metrics/metrics_unwind.c). */
void metrics_unwind(struct buf *out, const struct services *services,
		    const struct engine_stats *stats, bool of_processes);

/* What is held, where points are (api/metrics/metrics_memory.c). */
void metrics_memory(struct buf *out, const struct services *services,
		    const struct engine_stats *stats);

/* Python's processes and code objects (api/metrics/metrics_python.c). */
void metrics_python(struct buf *out, const struct services *services,
		    const struct code_cache_stats *codes);

/* Java's processes and methods (api/metrics/metrics_java.c). */
void metrics_java(struct buf *out, const struct services *services,
		  const struct engine_stats *stats);

/* What /sched counts, and which of its probes run: lines of probe_up (api/metrics/metrics_sched.c).
 */
void metrics_sched(struct buf *out, const struct services *services);
void metrics_sched_up(struct buf *out, const struct services *services);

/* How uploads go (api/metrics/metrics_upload.c). */
void metrics_upload(struct buf *out, const struct upload_status *status);

/* What processes have had of their CPUs (api/metrics/metrics_process.c). */
void metrics_process(struct buf *out, const struct services *services,
		     const struct engine_stats *stats);
