// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "loop/close_job.h"
#include "base/map.h"
#include "proc/foreign.h"
#include "proc/mapped.h"
#include "proc/proc.h"
#include "elf/fd_budget.h"

#define FILES_MAX 1024 /* of one process; the others have no names */
/*
 * Time limits from the beginning: for reading maps, then for opening files. What is left has no
 * names.
 */
#define MAPS_NS	 (NS_PER_S)
#define FILES_NS (3 * NS_PER_S / 2)

/* Texts of paths are compared by struct maps. */
struct mapped_file_key {
	uint64_t path, device, inode;
};

/*
 * Finds out which file is mapped, and keeps it open if there is room: its process may end any time.
 */
static void open_mapped(const struct inspection *e, int root_fd, const struct mapping *mapping,
			struct opened *opened)
{
	struct mapped mapped = {.pid = e->pid,
				.start = mapping->start,
				.end = mapping->end,
				.root_fd = root_fd,
				.path = mapping->path,
				.device = mapping->device,
				.inode = mapping->inode};

	if (fd_budget_take()) {
		int fd = mapped_open(&mapped, &opened->stat);

		opened->fd = fd < 0 ? -1 : fd;
		opened->known = fd >= 0;
		if (fd < 0)
			fd_budget_give();
		if (fd != -EMFILE && fd != -ENFILE)
			return;
	}
	opened->known = mapped_stat(&mapped, &opened->stat) == 0;
}

static bool is_open_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	struct stat stat_;

	return !folder || stat(folder, &stat_) < 0 || stat_.st_uid != 0 ||
	       stat_.st_mode & (S_IWGRP | S_IWOTH);
}

/*
 * Finds the first mapping of the same file: a file may be mapped in many places, with others in
 * between, and is opened once. `files`: the first mapping of each file.
 */
static size_t first_of_file(struct map *files, const struct mapping *mapping, size_t i)
{
	struct mapped_file_key key = {(uintptr_t)mapping->path, mapping->device, mapping->inode};
	size_t *first;
	int r = map_put(files, &key, (void **)&first);

	if (r == 1)
		*first = i;
	return r < 0 ? i : *first;
}

/* Reads its root, to look for files in; keeps it open only if it isn't ours. */
static int open_root(struct inspection *e)
{
	struct stat ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)e->pid);
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &e->root_stat) < 0 || stat("/", &ours) < 0)
		return -1;
	e->other_root = ours.st_dev != e->root_stat.st_dev || ours.st_ino != e->root_stat.st_ino;
	e->has_root = true;
	if (e->other_root && fd_budget_take()) {
		e->root_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		if (e->root_fd < 0)
			fd_budget_give();
	}
	return TAKE_FD(fd);
}

/* Reads which file is the program's own, and which network namespace it has. */
static void read_facts(struct inspection *e)
{
	struct stat netns;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)e->pid);
	e->has_program = stat(path, &e->program) == 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)e->pid);
	e->netns_id = stat(path, &netns) == 0 ? netns.st_ino : 0;
}

static void read_cgroups(struct inspection *e)
{
	e->cgroups = malloc(sizeof(*e->cgroups));
	if (e->cgroups && cgroups_read(e->pid, e->cgroups) < 0) {
		free(e->cgroups);
		e->cgroups = NULL;
	}
}

static int open_files(struct inspection *e, int root_fd)
{
	_cleanup_map_ struct map *files = NULL;
	int r = map_new(&files, sizeof(struct mapped_file_key), sizeof(size_t), MAPPINGS_MAX);

	for (size_t i = 0; i < e->maps.count; i++)
		e->opened[i] = (struct opened){.same = i, .fd = -1};
	for (size_t i = 0; r == 0 && i < e->maps.count; i++) {
		const struct mapping *mapping = &e->maps.mappings[i];
		struct opened *opened = &e->opened[i];

		if (mapping->kind != MAPPING_FILE)
			continue;
		opened->left_out = strcmp(mapping->path, MAPS_LEFT_OUT) == 0;
		if (opened->left_out)
			continue; /* which was counted */
		opened->same = first_of_file(files, mapping, i);
		if (opened->same == i &&
		    (map_count(files) > FILES_MAX || loop_now_ns() >= e->began_ns + FILES_NS))
			opened->left_out = true;
		else if (opened->same == i)
			open_mapped(e, root_fd, mapping, opened);
		opened->owner_is_told =
			opened->known && foreign_tells_owner(opened->fd, &opened->stat);
		if (opened->known && !e->other_root)
			opened->in_open_folder = is_open_folder(mapping->path);
		e->left_out += e->opened[opened->same].left_out;
	}
	return r;
}

static int read_maps(struct inspection *e)
{
	_cleanup_close_ int root_fd = open_root(e);
	int r = maps_read(e->pid, e->began_ns + MAPS_NS, &e->maps);

	/* The number of mappings behind the cut is unknown: they count as one. */
	e->left_out = e->maps.left_out + e->maps.is_cut;
	if (r < 0)
		return r;
	e->opened = calloc(e->maps.count ? e->maps.count : 1, sizeof(*e->opened));
	return e->opened ? open_files(e, root_fd) : -ENOMEM;
}

static void inspection_run(struct job *job)
{
	struct inspection *e = (struct inspection *)job;
	struct identity who = {
		.line_pid = e->line_pid,
		.line_start_ticks = e->line_start_ticks,
		.comm = e->comm,
	};
	struct proc_stat stat;

	if (e->snoopers)
		snoopers_match_cmdline(e->snoopers, &who, e->pid, &e->match);
	e->began_ns = loop_now_ns();
	e->program_id = proc_program(e->pid);
	e->error = read_maps(e);
	if (e->error == 0)
		read_facts(e);
	e->ended_ns = loop_now_ns();
	if (e->error == 0 && e->where)
		read_cgroups(e);
	if (e->error == 0 && !e->ns_pid)
		proc_ns_pid(e->pid, &e->ns_pid);
	/*
	 * Checked last, so that all was read from this very process. Another name or program means
	 * an exec whose event is on its way.
	 */
	if (e->error == 0 && proc_program(e->pid) != e->program_id)
		e->error = -ESRCH;
	if (e->error == 0)
		e->error = proc_stat(e->pid, &stat);
	if (e->error == 0 && (stat.start_ticks != e->start_ticks ||
			      strncmp(stat.comm, e->comm, sizeof(e->comm)) != 0))
		e->error = -ESRCH;
}

static void inspection_done(struct job *job, bool finished)
{
	struct inspection *e = (struct inspection *)job;

	e->done(e->arg, e, finished);
}

/* Frees the job, on the loop's thread unless it was given up: the worker closes files. */
static void close_files(const struct inspection *e)
{
	size_t count = e->opened ? e->maps.count : 0;
	int *fds = calloc(count + 1, sizeof(*fds));

	if (!fds)
		return; /* better a leak than a hanging loop */
	for (size_t i = 0; i < count; i++)
		fds[i] = e->opened[i].fd;
	fds[count] = e->root_fd;
	close_later(e->job.worker, e->job.whose, fds, count + 1, fd_budget_give);
	free(fds);
}

static void free_examination(struct job *job)
{
	struct inspection *e = (struct inspection *)job;

	close_files(e);
	free(e->opened);
	maps_done(&e->maps);
	snoopers_unref(e->snoopers);
	free(e->cgroups);
	free(e);
}

int inspect(struct worker *worker, const struct inspection *question)
{
	struct inspection *e = malloc(sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = *question;
	e->job = (struct job){.run = inspection_run,
			      .done = inspection_done,
			      .free = free_examination,
			      .whose = question->job.whose};
	e->root_fd = -1;
	if (e->snoopers)
		snoopers_ref(e->snoopers);
	worker_submit(worker, &e->job);
	return 0;
}
