/* SPDX-License-Identifier: GPL-2.0-only */
/* /debug/pprof: the pages where Go's programs have their profiles, for what scrapes these. */
#pragma once

#include "api/feature/feature.h"

/* GET of /debug/pprof/NAME ("": the index); as a feature's fetch(). */
void debug_pprof_fetch(const struct services *services, const char *name, const struct query *query,
		       struct answer *answer, void (*ready)(void *arg), void *arg);

/* What that takes; as a feature's need(). */
void debug_pprof_need(const char *name, const struct query *query, struct need *need);
