/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages /debug/pprof, where Go programs have their profiles, for tools that fetch these. Loop
 * thread only.
 */
#pragma once

#include "api/feature/feature.h"

/* Answers GET of /debug/pprof/NAME ("": the index), like a feature's fetch(). */
void debug_pprof_fetch(const struct services *services, const char *name, const struct query *query,
		       struct answer *answer, void (*ready)(void *arg), void *arg);

/* Fills in what that needs, like a feature's need(). */
void debug_pprof_need(const char *name, const struct query *query, struct need *need);
