/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * GET /processes: what runs on the host, and what of it is sampled. Counters since each process's
 * start, which two answers make into rates; nothing is kept for a client, and no BPF program is
 * needed. Loop thread only.
 */
#pragma once

#include "api/feature/feature.h"

struct processes;

/* Creates what answers; its jobs may hang for a while. The caller owns *ret. Returns 0 or -ENOMEM.
 */
int processes_new(struct processes **ret, struct engine *engine, struct worker *worker);
/* Frees it, and what is asked: the worker was stopped, the engine is still there. */
void processes_free(struct processes *processes);

/* Fills in the answer, or leaves its status 0 and calls ready(arg) later. */
void processes_get(const struct services *services, const struct query *query,
		   struct answer *answer, void (*ready)(void *arg), void *arg);
