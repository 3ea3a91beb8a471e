// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/record/record_processes.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/record/record_view.h"
#include "proc/proc.h"

/* Reads a pid or a tid. Returns 0 if it is none. */
static pid_t read_pid(const char *part)
{
	char *end;

	errno = 0;
	long pid = strtol(part, &end, 10);
	return isdigit((unsigned char)*part) && !*end && !errno && pid >= 1 && pid <= INT_MAX
		       ? (pid_t)pid
		       : 0;
}

/* Adds a process, unless it is there. */
static int add_process(struct record_options *options, pid_t pid)
{
	for (size_t i = 0; i < options->ids_count; i++) {
		if (options->ids[i].pid == pid)
			return GO_ON;
	}
	if (options->ids_count == RECORD_PIDS_MAX)
		return usage_error("more than 1024 processes", NULL);
	struct process_id *more = reallocarray(options->ids, options->ids_count + 1, sizeof(*more));
	if (!more)
		return EXIT_FAILED;
	options->ids = more;
	options->ids[options->ids_count++] = (struct process_id){.pid = pid};
	return GO_ON;
}

int record_processes_pid(struct record_options *options, char *part)
{
	pid_t pid = read_pid(part);

	return pid ? add_process(options, pid) : usage_error("not a pid", part);
}

int record_processes_tid(struct record_options *options, char *part)
{
	pid_t tid = read_pid(part);

	if (!tid)
		return usage_error("not a thread's number", part);
	if (options->tids_count == RECORD_PIDS_MAX)
		return usage_error("more than 1024 threads", NULL);
	pid_t *more = reallocarray(options->tids, options->tids_count + 1, sizeof(*more));
	if (!more)
		return EXIT_FAILED;
	options->tids = more;
	options->tids[options->tids_count++] = tid;
	return GO_ON;
}

static int find_process(struct process_id *id)
{
	struct proc_stat stat = {0};
	pid_t process = 0;
	int r = proc_tgid(id->pid, &process);

	if (r == 0 && process != id->pid) {
		fprintf(stderr,
			"stackprobe: %d is a thread of the process %d: record that, or with -t the "
			"thread alone\n",
			id->pid, process);
		return EXIT_FAILED;
	}
	if (r == 0)
		r = proc_stat(id->pid, &stat);
	if (r < 0) {
		fprintf(stderr, "stackprobe: no process has the pid %d%s%s\n", id->pid,
			r == -ESRCH ? "" : ": ", r == -ESRCH ? "" : strerror(-r));
		return EXIT_FAILED;
	}
	id->start_ticks = stat.start_ticks;
	return GO_ON;
}

/* Adds the process of a thread. */
static int find_thread(struct record_options *options, pid_t tid)
{
	pid_t process = 0;
	int r = proc_tgid(tid, &process);

	if (r == 0)
		return add_process(options, process);
	fprintf(stderr, "stackprobe: no thread has the number %d%s%s\n", tid,
		r == -ESRCH ? "" : ": ", r == -ESRCH ? "" : strerror(-r));
	return EXIT_FAILED;
}

int record_processes_find(struct record_options *options)
{
	int r = GO_ON;

	for (size_t i = 0; r == GO_ON && i < options->tids_count; i++)
		r = find_thread(options, options->tids[i]);
	for (size_t i = 0; r == GO_ON && i < options->ids_count; i++)
		r = find_process(&options->ids[i]);
	return r;
}
