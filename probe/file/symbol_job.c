// SPDX-License-Identifier: GPL-2.0-or-later
#include "file/symbol_job.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "file/open_file.h"

#define NAMES_MAX (16u * 1024 * 1024)

/* Opens and reads the file itself. If the job hangs after that, perhaps it hangs in the debug file.
 */
static int read_own(struct symbol_job *reading)
{
	_cleanup_close_ int root_fd = open_request_open_root(&reading->opening);
	_cleanup_close_ int own = -1;
	char first[64];
	int fd = open_request_open(&reading->opening, root_fd, &own);

	if (fd < 0)
		return fd;
	if (pread(fd, first, sizeof(first), 0) < 0)
		return -errno;
	atomic_store(&reading->past_own, true);
	return 0;
}

/* Demangles the names; neighbours in the same function share one name. */
static int demangle_all(struct symbol_job *reading)
{
	_cleanup_buf_ struct buf readable = BUF_INIT(NAMES_MAX);
	uint32_t before = NATIVE_NO_NAME, last = NATIVE_NO_NAME;

	for (size_t i = 0; i < reading->count; i++) {
		struct native_function *function = &reading->functions[i];
		uint32_t linked = function->name;

		if (linked == NATIVE_NO_NAME)
			continue;
		if (linked != before) {
			last = (uint32_t)readable.len;
			demangle_within(&reading->demangling, reading->names.data + linked,
					&readable);
			buf_char(&readable, '\0');
		}
		before = linked;
		function->name = last;
	}
	if (buf_error(&readable))
		return buf_error(&readable);
	buf_done(&reading->names);
	reading->names = readable;
	readable = (struct buf)BUF_INIT(NAMES_MAX);
	return 0;
}

static int resolve_functions(struct symbol_job *reading)
{
	int r = read_own(reading);

	if (r < 0)
		return r;
	_cleanup_(open_file_done) struct open_file opened = {
		.fd = -1, .debug_fd = -1, .own_fd = -1};
	r = open_file_open(&opened, &reading->opening, reading->debugging_dir, &reading->debug);
	if (r == 0)
		r = native_resolve(opened.fd, opened.debug_fd, true, reading->functions,
				   reading->count, &reading->names, &reading->file);
	return r < 0 ? r : demangle_all(reading);
}

static void symbol_job_run(struct job *job)
{
	struct symbol_job *reading = (struct symbol_job *)job;

	reading->error = resolve_functions(reading);
}

static void symbol_job_done(struct job *job, bool finished)
{
	struct symbol_job *reading = (struct symbol_job *)job;

	reading->done(reading, finished);
}

static void free_reading(struct job *job)
{
	struct symbol_job *reading = (struct symbol_job *)job;

	open_request_done(&reading->opening);
	free(reading->debug.path);
	free(reading->functions);
	buf_done(&reading->names);
	reading->free(reading);
}

void symbol_job_submit(struct symbol_job *reading, struct worker *worker)
{
	reading->job = (struct job){.run = symbol_job_run,
				    .done = symbol_job_done,
				    .free = free_reading,
				    .whose = reading->opening.whose};
	reading->demangling.whose = reading->job.whose;
	reading->names = (struct buf)BUF_INIT(NAMES_MAX);
	worker_submit(worker, &reading->job);
}
