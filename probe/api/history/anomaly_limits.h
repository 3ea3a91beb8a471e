/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what control groups let the processes of anomalies have. Loop thread only. */
#pragma once

#include "container/cgroup_limits.h"
#include "history/history_anomalies.h"
#include "loop/worker.h"

/*
 * Reads the limits of the first `top` anomalies, in a job of the worker. Calls done(arg) with as
 * many limits, borrowed; a process that has ended has none. NULL: the job took too long. Returns 0,
 * or -ENOMEM: done() isn't called.
 */
int anomaly_limits_read(struct worker *worker, const struct history_anomalies *anomalies,
			size_t top, void (*done)(void *arg, const struct cgroup_limits *limits),
			void *arg);
