// SPDX-License-Identifier: GPL-2.0-only
#include "base/closer.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct closing {
	struct job job;
	size_t count, next;
	int fds[];
};

static void close_all(struct job *job)
{
	struct closing *closing = (struct closing *)job;

	while (closing->next < closing->count)
		close(closing->fds[closing->next++]);
}

static void closed(struct job *job, bool finished)
{
	(void)job;
	(void)finished;
}

static void free_closing(struct job *job)
{
	close_all(job); /* those that it didn't come to: the worker is being stopped */
	free(job);
}

void close_later(struct worker *worker, uint64_t whose, const int *fds, size_t count)
{
	struct closing *closing = NULL;
	size_t open = 0;

	for (size_t i = 0; i < count; i++)
		open += fds[i] >= 0;
	if (open == 0)
		return;
	closing = calloc(1, sizeof(*closing) + open * sizeof(closing->fds[0]));
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		if (closing)
			closing->fds[closing->count++] = fds[i];
		else
			close(fds[i]);
	}
	if (!closing)
		return;
	closing->job = (struct job){
		.run = close_all, .done = closed, .free = free_closing, .whose = whose};
	worker_submit(worker, &closing->job);
}
