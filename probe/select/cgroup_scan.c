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

static void list_all(struct cgroup_scan *census)
{
	struct pid_listing list = {0};

	if (proc_each(list_one, &list) < 0)
		list.incomplete = true;
	census->pids = list.pids;
	census->count = list.count;
	census->incomplete = list.incomplete;
}

static bool is_wanted(const struct cgroup_scan *census, const struct cgroups *cgroups)
{
	struct match match;

	if (!census->snoopers || cgroups->place.id[0])
		return true;
	snoopers_match_container(census->snoopers, &(struct identity){.cgroup = cgroups->path},
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

static void read_process(struct cgroup_scan *census, pid_t pid, struct cgroups *cgroups)
{
	struct cgroup_member *resident = &census->residents[census->residents_count];
	struct proc_stat stat;
	int r = proc_stat(pid, &stat);

	if (r == 0)
		r = cgroups_read(pid, cgroups);
	if (is_shortage(r))
		census->incomplete = true;
	if (r != 0 || !is_wanted(census, cgroups))
		return;
	*resident = (struct cgroup_member){
		.pid = pid,
		.start_ticks = stat.start_ticks,
		.place = cgroups->place,
		.path = strdup(cgroups->path),
	};
	if (resident->path)
		census->residents_count++;
	else
		census->incomplete = true;
}

static void census_run(struct job *job)
{
	struct cgroup_scan *census = (struct cgroup_scan *)job;
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));

	if (!census->pids)
		list_all(census);
	if (!cgroups) {
		census->incomplete = true;
		census->at = census->count;
	}
	for (int i = 0; i < CENSUS_PIECE && census->at < census->count; i++)
		read_process(census, census->pids[census->at++], cgroups);
}

static void clear_residents(struct cgroup_scan *census)
{
	for (size_t i = 0; i < census->residents_count; i++)
		free(census->residents[i].path);
	census->residents_count = 0;
}

static void free_census(struct job *job)
{
	struct cgroup_scan *census = (struct cgroup_scan *)job;

	clear_residents(census);
	snoopers_unref(census->snoopers);
	free(census->pids);
	free(census);
}

static void census_done(struct job *job, bool finished);

/* Submits the rest as another job. */
static void go_on(struct worker *worker, struct cgroup_scan *from)
{
	struct cgroup_scan *census = malloc(sizeof(*census));

	if (!census) {
		from->incomplete = true;
		from->told(from->arg, from, true, true);
		return;
	}
	memcpy(census, from, sizeof(*census));
	census->job = (struct job){.run = census_run, .done = census_done, .free = free_census};
	census->residents_count = 0;
	from->pids = NULL;
	from->snoopers = NULL;
	worker_submit(worker, &census->job);
}

static void census_done(struct job *job, bool finished)
{
	struct cgroup_scan *census = (struct cgroup_scan *)job;
	bool last = !finished || census->at >= census->count;

	census->told(census->arg, census, finished, last);
	if (finished)
		clear_residents(census);
	if (!last)
		go_on(job->worker, census);
}

int cgroup_scan_begin(struct worker *worker, struct snoopers *snoopers, const pid_t *pids,
		      size_t count,
		      void (*told)(void *arg, struct cgroup_scan *census, bool finished, bool last),
		      void *arg)
{
	struct cgroup_scan *census = calloc(1, sizeof(*census));

	if (!census)
		return -ENOMEM;
	if (pids) {
		census->pids = calloc(count + 1, sizeof(*pids));
		if (!census->pids) {
			free(census);
			return -ENOMEM;
		}
		memcpy(census->pids, pids, count * sizeof(*pids));
		census->count = count;
	}
	census->job = (struct job){.run = census_run, .done = census_done, .free = free_census};
	census->snoopers = snoopers ? snoopers_ref(snoopers) : NULL;
	census->told = told;
	census->arg = arg;
	worker_submit(worker, &census->job);
	return 0;
}
