// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/close_job.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct closing {
	struct job job;
	void (*closed)(void); /* called for each descriptor; NULL: no call */
	size_t count, next;
	int fds[];
};

static void close_all(struct job *job)
{
	struct closing *closing = (struct closing *)job;

	while (closing->next < closing->count) {
		close(closing->fds[closing->next++]);
		if (closing->closed)
			closing->closed();
	}
}

static void free_closing(struct job *job)
{
	free(job); /* if the worker is being stopped, the rest stays open */
}

void close_later(struct worker *worker, uint64_t whose, const int *fds, size_t count,
		 void (*closed)(void))
{
	struct closing *closing = NULL;
	size_t open = 0;

	for (size_t i = 0; i < count; i++)
		open += fds[i] >= 0;
	if (open == 0)
		return;
	closing = calloc(1, sizeof(*closing) + open * sizeof(closing->fds[0]));
	if (!closing) {
		worker_count_refused(worker); /* better a leak than a loop that hangs */
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (fds[i] >= 0)
			closing->fds[closing->count++] = fds[i];
	}
	closing->closed = closed;
	closing->job = (struct job){
		.run = close_all, .free = free_closing, .whose = whose, .patient = true};
	worker_submit(worker, &closing->job);
}
