// SPDX-License-Identifier: GPL-2.0-or-later
#include "select/cgroup_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "container/cgroup.h"
#include "proc/proc.h"

#define PROCESSES_MAX 4194304 /* include/linux/threads.h: PID_MAX_LIMIT */

struct pid_listing {
	pid_t *pids;
	size_t count, room;
	bool incomplete;
};

static void list_one(void *arg, pid_t pid)
{
	struct pid_listing *list = arg;

	if (list->count == list->room && list->room < PROCESSES_MAX) {
		size_t room = list->room ? list->room * 2 : 1024;
		pid_t *more = reallocarray(list->pids, room, sizeof(*more));

		if (more) {
			list->pids = more;
			list->room = room;
		}
	}
	if (list->count == list->room)
		list->incomplete = true;
	else
		list->pids[list->count++] = pid;
}

static void list_all(struct cgroup_scan *scan)
{
	struct pid_listing list = {0};

	if (proc_each(list_one, &list) < 0)
		list.incomplete = true;
	scan->pids = list.pids;
	scan->count = list.count;
	scan->incomplete = list.incomplete;
}

static bool is_wanted(const struct cgroup_scan *scan, const struct cgroups *cgroups)
{
	struct match match;

	if (!scan->snoopers || cgroups->place.id[0])
		return true;
	snoopers_match_container(scan->snoopers, &(struct identity){.cgroup = cgroups->path},
				 &match);
	return match.probes;
}

/*
 * Returns whether we are short of something, which says nothing about the process. With any other
 * error it has ended.
 */
static bool is_shortage(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static void read_process(struct cgroup_scan *scan, pid_t pid, struct cgroups *cgroups)
{
	struct cgroup_member *resident = &scan->residents[scan->residents_count];
	struct proc_stat stat;
	int r = proc_stat(pid, &stat);

	if (r == 0)
		r = cgroups_read(pid, cgroups);
	if (is_shortage(r))
		scan->incomplete = true;
	if (r != 0 || !is_wanted(scan, cgroups))
		return;
	*resident = (struct cgroup_member){
		.pid = pid,
		.start_ticks = stat.start_ticks,
		.place = cgroups->place,
		.path = strdup(cgroups->path),
	};
	if (resident->path)
		scan->residents_count++;
	else
		scan->incomplete = true;
}

static void scan_job_run(struct job *job)
{
	struct cgroup_scan *scan = (struct cgroup_scan *)job;
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));

	if (!scan->pids)
		list_all(scan);
	if (!cgroups) {
		scan->incomplete = true;
		scan->at = scan->count;
	}
	for (int i = 0; i < CENSUS_PIECE && scan->at < scan->count; i++)
		read_process(scan, scan->pids[scan->at++], cgroups);
}

static void clear_residents(struct cgroup_scan *scan)
{
	for (size_t i = 0; i < scan->residents_count; i++)
		free(scan->residents[i].path);
	scan->residents_count = 0;
}

static void free_scan(struct job *job)
{
	struct cgroup_scan *scan = (struct cgroup_scan *)job;

	clear_residents(scan);
	snoopers_unref(scan->snoopers);
	free(scan->pids);
	free(scan);
}

static void scan_job_done(struct job *job, bool finished);

/* Submits the rest as another job. */
static void go_on(struct worker *worker, struct cgroup_scan *from)
{
	struct cgroup_scan *scan = malloc(sizeof(*scan));

	if (!scan) {
		from->incomplete = true;
		from->told(from->arg, from, true, true);
		return;
	}
	memcpy(scan, from, sizeof(*scan));
	scan->job = (struct job){.run = scan_job_run, .done = scan_job_done, .free = free_scan};
	scan->residents_count = 0;
	from->pids = NULL;
	from->snoopers = NULL;
	worker_submit(worker, &scan->job);
}

static void scan_job_done(struct job *job, bool finished)
{
	struct cgroup_scan *scan = (struct cgroup_scan *)job;
	bool last = !finished || scan->at >= scan->count;

	scan->told(scan->arg, scan, finished, last);
	if (finished)
		clear_residents(scan);
	if (!last)
		go_on(job->worker, scan);
}

int cgroup_scan_begin(struct worker *worker, struct snoopers *snoopers, const pid_t *pids,
		      size_t count,
		      void (*told)(void *arg, struct cgroup_scan *scan, bool finished, bool last),
		      void *arg)
{
	struct cgroup_scan *scan = calloc(1, sizeof(*scan));

	if (!scan)
		return -ENOMEM;
	if (pids) {
		scan->pids = calloc(count + 1, sizeof(*pids));
		if (!scan->pids) {
			free(scan);
			return -ENOMEM;
		}
		memcpy(scan->pids, pids, count * sizeof(*pids));
		scan->count = count;
	}
	scan->job = (struct job){.run = scan_job_run, .done = scan_job_done, .free = free_scan};
	scan->snoopers = snoopers ? snoopers_ref(snoopers) : NULL;
	scan->told = told;
	scan->arg = arg;
	worker_submit(worker, &scan->job);
	return 0;
}
