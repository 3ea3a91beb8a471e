// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/history/anomaly_limits.h"

#include <errno.h>
#include <stdlib.h>

struct limits_job {
	struct job job;
	void (*done)(void *arg, const struct cgroup_limits *limits);
	void *arg;
	size_t count;
	pid_t *pids;
	struct cgroup_limits *limits;
};

static void read_limits(struct job *job)
{
	struct limits_job *limits = (struct limits_job *)job;

	for (size_t i = 0; i < limits->count; i++) {
		if (limits->pids[i])
			cgroup_limits_read(limits->pids[i], &limits->limits[i]);
	}
}

static void limits_are_read(struct job *job, bool finished)
{
	struct limits_job *limits = (struct limits_job *)job;

	limits->done(limits->arg, finished ? limits->limits : NULL);
}

static void free_limits_job(struct job *job)
{
	struct limits_job *limits = (struct limits_job *)job;

	for (size_t i = 0; limits->limits && i < limits->count; i++)
		free(limits->limits[i].path);
	free(limits->limits);
	free(limits->pids);
	free(limits);
}

int anomaly_limits_read(struct worker *worker, const struct history_anomalies *anomalies,
			size_t top, void (*done)(void *arg, const struct cgroup_limits *limits),
			void *arg)
{
	struct limits_job *limits = calloc(1, sizeof(*limits));

	if (!limits)
		return -ENOMEM;
	*limits = (struct limits_job){
		.job = {.run = read_limits, .done = limits_are_read, .free = free_limits_job},
		.done = done,
		.arg = arg,
		.count = anomalies->count < top ? anomalies->count : top,
	};
	limits->pids = calloc(limits->count + 1, sizeof(*limits->pids));
	limits->limits = calloc(limits->count + 1, sizeof(*limits->limits));
	if (!limits->pids || !limits->limits) {
		free_limits_job(&limits->job);
		return -ENOMEM;
	}
	for (size_t i = 0; i < limits->count; i++)
		limits->pids[i] = history_anomaly_pid(&anomalies->anomalies[i]);
	worker_submit(worker, &limits->job);
	return 0;
}
