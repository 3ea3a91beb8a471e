/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What GET /metrics answers. */
#pragma once

#include "api/feature/feature.h"

/* Writes all counters there are, in Prometheus' text format; series of
 * single processes only where the caller may read those. */
void metrics_write(const struct services *services, const struct caller *caller,
		   struct answer *answer);
