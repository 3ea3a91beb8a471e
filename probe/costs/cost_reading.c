// SPDX-License-Identifier: GPL-2.0-or-later
#include "costs/cost_reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "hooks/iterator.h"

#define PROCESSES_MAX (1u << 22) /* the largest pid */
#define CGROUPS_MAX   65536	 /* cgroups that are looked at in a reading */

struct reading_job {
	struct job job;
	struct cost_source source;
	struct cgroup_key *known;
	size_t known_count;
	struct cost_reading result;
	struct map *by_pid; /* tgid -> struct process_cost */
	/* whose command line is being read, for the loop, where the job is given up; pid 0:
	 * nobody's */
	_Atomic uint64_t at_start_ns;
	_Atomic uint32_t at_pid;
	void (*done)(void *arg, const struct cost_reading *reading);
	void *arg;
};

/* Adds a thread. What ended threads had is as of the first thread of the process: a thread that
 * ends later is read as a living one, or not at all, but never twice. */
static void take_thread(void *arg, const void *record)
{
	struct reading_job *mine = arg;
	const struct thread_cost *thread = record;
	struct process_cost *process = map_get(mine->by_pid, &thread->owner.tgid);

	if (!process) {
		int r = map_put(mine->by_pid, &thread->owner.tgid, (void **)&process);
		if (r < 0) {
			mine->result.error = r;
			return;
		}
		*process = (struct process_cost){.owner = thread->owner, .costs = thread->ended};
	}
	cost_sums_add(&process->costs, &thread->own);
	/* A main thread that has ended has no memory any more. */
	if (thread->owner.rss_pages > process->owner.rss_pages)
		process->owner.rss_pages = thread->owner.rss_pages;
}

static int list_processes(struct reading_job *mine)
{
	struct cost_reading *result = &mine->result;
	const struct process_cost *process;
	const uint32_t *pid;

	result->processes = calloc(map_count(mine->by_pid) + 1, sizeof(*result->processes));
	if (!result->processes)
		return -ENOMEM;
	map_each (mine->by_pid, pos, pid, process)
		result->processes[result->count++] = *process;
	return 0;
}

static int note_key(struct map *met, const struct cgroup_key *key)
{
	bool *noted;
	int r = map_put(met, key, (void **)&noted);

	return r < 0 ? r : 0;
}

/* Reads the cgroups of a process, and notes them under the key that the kernel's side told. */
static int meet_cgroup(struct cost_reading *result, struct map *met, const struct cost_owner *owner)
{
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));
	struct met_cgroup *grown;

	if (!cgroups)
		return -ENOMEM;
	if (cgroups_read((pid_t)owner->tgid, cgroups) < 0)
		return 0; /* it has ended: another one may tell */
	grown = reallocarray(result->met, result->met_count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	result->met = grown;
	char *path = strdup(cgroups->path);
	if (!path)
		return -ENOMEM;
	grown[result->met_count++] = (struct met_cgroup){owner->group, cgroups->place, path};
	return note_key(met, &owner->group);
}

static int meet_cgroups(struct reading_job *mine)
{
	_cleanup_map_ struct map *met = NULL;
	int r = map_new(&met, sizeof(struct cgroup_key), sizeof(bool), CGROUPS_MAX);

	for (size_t i = 0; r == 0 && i < mine->known_count; i++)
		r = note_key(met, &mine->known[i]);
	for (size_t i = 0; r == 0 && i < mine->result.count; i++) {
		const struct cost_owner *owner = &mine->result.processes[i].owner;

		if (!owner->is_kernel && !map_get(met, &owner->group))
			r = meet_cgroup(&mine->result, met, owner);
	}
	return r == -ENOSPC ? 0 : r;
}

static bool is_hung(const struct cost_source *source, const struct cost_owner *owner)
{
	for (size_t i = 0; i < COST_HUNG_MAX; i++) {
		if (source->hung[i].tgid == owner->tgid &&
		    source->hung[i].start_ns == owner->start_ns)
			return true;
	}
	return false;
}

/* Compares the command line of a process whose name matches a snooper that asks for one. Reading it
 * may hang, where a thread of the process does, and holds its mappings locked. */
static void match_line(struct reading_job *mine, struct process_cost *process)
{
	const struct cost_owner *owner = &process->owner;
	const struct identity who = {.comm = owner->comm};
	struct match match;

	snoopers_match(mine->source.snoopers, &who, &match);
	if (!match.maybe || owner->is_kernel)
		return;
	process->line_unread = is_hung(&mine->source, owner);
	if (process->line_unread)
		return;
	mine->at_start_ns = owner->start_ns;
	mine->at_pid = owner->tgid;
	snoopers_match_cmdline(mine->source.snoopers, &who, (pid_t)owner->tgid, &match);
	mine->at_pid = 0;
	process->line_matches = match.probes;
	process->line_unread = match.maybe;
}

static void match_lines(struct reading_job *mine)
{
	for (size_t i = 0; mine->source.snoopers && i < mine->result.count; i++)
		match_line(mine, &mine->result.processes[i]);
}

static bool is_read(void *arg, uint64_t tgid)
{
	const struct reading_job *mine = arg;
	uint32_t pid = (uint32_t)tgid;

	return map_get(mine->by_pid, &pid);
}

static void run_reading(struct job *job)
{
	struct reading_job *mine = (struct reading_job *)job;
	int r = map_new(&mine->by_pid, sizeof(uint32_t), sizeof(struct process_cost),
			PROCESSES_MAX);

	if (r == 0)
		r = host_times_read(&mine->result.host);
	if (r == 0)
		r = unseen_ends_read(&mine->result.unseen, mine->source.ended_fd);
	if (r == 0)
		r = iterator_read(mine->source.fd, sizeof(struct thread_cost), take_thread, mine);
	if (r == 0)
		r = mine->result.error;
	if (r == 0)
		r = list_processes(mine);
	unseen_ends_leave_out(&mine->result.unseen, is_read, mine);
	if (r == 0)
		r = meet_cgroups(mine);
	if (r == 0)
		match_lines(mine);
	for (int i = 0; i < COST_COUNTERS && r == 0; i++)
		r = cost_counts_read(&mine->result.counts, (enum cost_counter)i,
				     &mine->source.counters[i]);
	mine->result.error = r;
}

static void end_reading(struct job *job, bool finished)
{
	struct reading_job *mine = (struct reading_job *)job;
	const struct cost_reading given_up = {.error = -ETIMEDOUT,
					      .hung = {mine->at_start_ns, mine->at_pid}};

	mine->done(mine->arg, finished ? &mine->result : &given_up);
}

static void free_reading(struct job *job)
{
	struct reading_job *mine = (struct reading_job *)job;

	for (size_t i = 0; i < mine->result.met_count; i++)
		free(mine->result.met[i].path);
	free(mine->result.met);
	free(mine->result.processes);
	map_free(mine->by_pid);
	free(mine->known);
	cost_counts_done(&mine->result.counts);
	unseen_ends_done(&mine->result.unseen);
	cost_source_close(&mine->source);
	free(mine);
}

static void close_one(int fd)
{
	if (fd >= 0)
		close(fd);
}

void cost_source_close(const struct cost_source *source)
{
	close_one(source->fd);
	close_one(source->ended_fd);
	for (int i = 0; i < COST_COUNTERS; i++) {
		close_one(source->counters[i].by_process);
		close_one(source->counters[i].beside);
	}
	snoopers_unref(source->snoopers);
}

int cost_reading_start(struct worker *worker, const struct cost_source *source,
		       const struct cgroup_key *known, size_t known_count,
		       void (*done)(void *arg, const struct cost_reading *reading), void *arg)
{
	struct reading_job *mine = calloc(1, sizeof(*mine));
	struct cgroup_key *copy = calloc(known_count + 1, sizeof(*copy));

	if (!mine || !copy) {
		free(mine);
		free(copy);
		cost_source_close(source);
		return -ENOMEM;
	}
	if (known_count)
		memcpy(copy, known, known_count * sizeof(*copy));
	*mine = (struct reading_job){
		.job = {.run = run_reading, .done = end_reading, .free = free_reading},
		.source = *source,
		.known = copy,
		.known_count = known_count,
		.result.line_serial = source->snoopers ? snoopers_serial(source->snoopers) : 0,
		.done = done,
		.arg = arg,
	};
	worker_submit(worker, &mine->job);
	return 0;
}
