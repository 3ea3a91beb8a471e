/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET /flamegraph/PROBE.EXTENSION?from=&until=: a profile of a range of history, or the difference
 * of two. Loop thread only. */
#pragma once

#include "api/feature/feature.h"
#include "profile/render.h"

/* Answers as flamegraph_fetch() does; `render` has the choice of stacks and the form that the query
 * asks for. */
void flamegraph_range(const struct services *services, enum probe probe, enum view view,
		      const struct query *query, const struct render *form, struct answer *answer,
		      void (*ready)(void *arg), void *arg);
