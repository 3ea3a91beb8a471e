/* SPDX-License-Identifier: GPL-2.0-only */
/* Lines of Prometheus' text format, which the parts of /metrics share. Names get "stackprobe_". */
#pragma once

#include "api/feature.h"

void metrics_head(struct buf *out, const char *name, const char *type, const char *help);

/* A metric without labels: head and line. */
void metrics_one(struct buf *out, const char *name, const char *type, const char *help,
		 double value);

/* What the unwinder has and where it stopped (api/metrics_unwind.c). */
void metrics_unwind(struct buf *out, const struct services *services,
		    const struct engine_stats *stats);
