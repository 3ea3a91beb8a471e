// SPDX-License-Identifier: GPL-2.0-only
#include "symbol/reader.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbol/opened.h"

#define NAMES_MAX (16u * 1024 * 1024)

static int resolve(struct reading *reading)
{
	_cleanup_(opened_done) struct opened opened;
	int r = opened_open(&opened, &reading->opening, reading->debugging_dir, &reading->debug);

	return r < 0 ? r
		     : native_resolve(opened.fd, opened.debug_fd, reading->functions,
				      reading->count, &reading->names, &reading->file);
}

static void run(struct job *job)
{
	struct reading *reading = (struct reading *)job;

	reading->error = resolve(reading);
}

static void done(struct job *job, bool finished)
{
	struct reading *reading = (struct reading *)job;

	reading->done(reading, finished);
}

static void free_reading(struct job *job)
{
	struct reading *reading = (struct reading *)job;

	opening_done(&reading->opening);
	free(reading->debug.path);
	free(reading->functions);
	buf_done(&reading->names);
	reading->free(reading);
}

void reading_submit(struct reading *reading, struct worker *worker)
{
	reading->job = (struct job){.run = run, .done = done, .free = free_reading};
	reading->names = (struct buf)BUF_INIT(NAMES_MAX);
	worker_submit(worker, &reading->job);
}
