// SPDX-License-Identifier: GPL-2.0-only
#include "profile/examine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/closer.h"
#include "proc/proc.h"

#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define FILES_MAX  1024 /* of one process; the others have no names */

#define OWN_FDS	   8 /* are left to connections and to other jobs */

/* Descriptors are given lowest first, so a high number tells that few are left. */
static bool is_one_of_the_last(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd + OWN_FDS >= limit.rlim_cur;
}

/*
 * The very file that is mapped, even when it was deleted or replaced: by /proc/PID/map_files. Where
 * that is not allowed, by its path in the process's root, out of which no link leads.
 */
static void open_mapped(const struct examination *e, const struct mapping *mapping,
			struct opened *opened)
{
	struct open_how how = {.flags = OPEN_FLAGS,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)e->pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	_cleanup_close_ int fd = open(path, OPEN_FLAGS);
	if (fd < 0 && errno == EPERM && e->root_fd >= 0)
		fd = (int)syscall(SYS_openat2, e->root_fd, mapping->path, &how, sizeof(how));
	if (fd >= 0 && !is_one_of_the_last(fd) && fstat(fd, &opened->stat) == 0 &&
	    S_ISREG(opened->stat.st_mode))
		opened->fd = TAKE_FD(fd);
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->kind == MAPPING_FILE && b->kind == MAPPING_FILE && a->inode == b->inode &&
	       strcmp(a->path, b->path) == 0;
}

static int read_maps(struct examination *e)
{
	char path[64];
	int files = 0;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)e->pid);
	e->root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (e->root_fd >= 0 && fstat(e->root_fd, &e->root_stat) < 0)
		close(TAKE_FD(e->root_fd));
	int r = maps_read(e->pid, &e->maps);
	if (r < 0)
		return r;
	e->opened = calloc(e->maps.count ? e->maps.count : 1, sizeof(*e->opened));
	if (!e->opened)
		return -ENOMEM;
	for (size_t i = 0; i < e->maps.count; i++) {
		const struct mapping *mapping = &e->maps.mappings[i];

		e->opened[i].fd = -1;
		e->opened[i].again = i && is_same_file(mapping - 1, mapping);
		if (mapping->kind == MAPPING_FILE && !e->opened[i].again && files++ < FILES_MAX)
			open_mapped(e, mapping, &e->opened[i]);
	}
	return 0;
}

static void run(struct job *job)
{
	struct examination *e = (struct examination *)job;
	struct identity who = {e->line_pid, e->line_start_ticks, e->comm};
	struct proc_stat stat;

	if (e->snoopers)
		snoopers_match_cmdline(e->snoopers, &who, e->pid, &e->match);
	e->began_ns = loop_now_ns();
	e->error = read_maps(e);
	e->ended_ns = loop_now_ns();
	/* Last, so that all of it was read from this very process; another name tells of an exec
	 * whose event is on its way. */
	if (e->error == 0)
		e->error = proc_stat(e->pid, &stat);
	if (e->error == 0 && (stat.start_ticks != e->start_ticks ||
			      strncmp(stat.comm, e->comm, sizeof(e->comm)) != 0))
		e->error = -ESRCH;
}

static void done(struct job *job, bool finished)
{
	struct examination *e = (struct examination *)job;

	e->done(e->arg, e, finished);
}

/* On the loop's thread, unless it was given up: closing is for the worker. */
static void close_files(const struct examination *e)
{
	size_t count = e->opened ? e->maps.count : 0;
	int *fds = calloc(count + 1, sizeof(*fds));

	if (!fds)
		return; /* better a leak than a hanging loop */
	for (size_t i = 0; i < count; i++)
		fds[i] = e->opened[i].fd;
	fds[count] = e->root_fd;
	close_later(e->job.worker, fds, count + 1);
	free(fds);
}

static void free_examination(struct job *job)
{
	struct examination *e = (struct examination *)job;

	close_files(e);
	free(e->opened);
	maps_done(&e->maps);
	snoopers_unref(e->snoopers);
	free(e);
}

int examine(struct worker *worker, const struct examination *question)
{
	struct examination *e = malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = *question;
	e->job = (struct job){.run = run, .done = done, .free = free_examination};
	e->root_fd = -1;
	if (e->snoopers)
		snoopers_ref(e->snoopers);
	worker_submit(worker, &e->job);
	return 0;
}
