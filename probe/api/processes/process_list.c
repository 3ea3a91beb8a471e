// SPDX-License-Identifier: GPL-2.0-or-later
#include "api/processes/process_list.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "access/passwd.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "container/cgroup.h"

#define PIECE		   64	 /* processes that a job looks at: some ms */
#define PIECE_THREADS	   4096	 /* a job begins no other process after so many threads */
#define THREADS_MAX	   65536 /* whose waits are summed up in a reading */
#define THREADS_OF_ONE_MAX 4096	 /* those of a process */
#define HUNG_NS		   (60 * NS_PER_S)
#define READINGS_MAX	   4 /* of a question, if command lines hang: the last one reads none */

/* The owner of the jobs, no user's number: as others' jobs they are put aside if they take long.
 * Fewer of them may hang than the worker bears of one owner. */
#define READERS	    job_of((uid_t)-1, 0)
#define HANGING_MAX (WORKER_HANGING_OF_ONE_MAX - 1)
/* Command lines of a user that may hang, or have hung within HUNG_NS. */
#define HANGING_OF_USER_MAX 2
#define HANGING_OF_ROOT_MAX 4

#define PID_BITS	    22 /* the kernel's PID_MAX_LIMIT */

struct process_reading {
	struct job job;
	struct process_lister *lister; /* for the loop's thread alone */
	struct process_question question;
	unsigned readings; /* that were given up */
	pid_t *pids;
	size_t pids_count, at;
	size_t detailed;
	size_t threads_left;
	bool counts_waits;
	struct hung_set *hung; /* a copy */
	struct process_listing list;
	int error;
	/* whose command line is being read, for the loop, where the job is given up: the user, and
	 * the process_key(); 0: nobody's */
	atomic_uint at_uid;
	_Atomic uint64_t at_process;
	atomic_bool given_up; /* a late reading goes no further */
};

/* ---- all processes ---- */

struct pid_collection {
	pid_t *pids;
	size_t count, room, left_out;
};

static void collect_pid(void *arg, pid_t pid)
{
	struct pid_collection *all = arg;

	if (all->count >= PROCESSES_MAX_READ ||
	    array_grow(all->pids, all->room, all->count + 1, 1024))
		all->left_out++;
	else
		all->pids[all->count++] = pid;
}

static int begin_reading(struct process_reading *mine)
{
	struct pid_collection all = {0};
	int r = proc_each(collect_pid, &all);

	mine->pids = all.pids;
	mine->pids_count = all.count;
	mine->list.left_out = all.left_out;
	mine->list.time_ns = clock_ns(CLOCK_REALTIME);
	mine->list.cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	mine->list.all = calloc(all.count + 1, sizeof(*mine->list.all));
	mine->counts_waits = proc_counts_waits();
	mine->threads_left = THREADS_MAX;
	return r < 0 ? r : mine->pids && mine->list.all ? 0 : -ENOMEM;
}

static void read_wait(struct process_reading *mine, struct listed_process *process)
{
	size_t most =
		mine->threads_left < THREADS_OF_ONE_MAX ? mine->threads_left : THREADS_OF_ONE_MAX;
	size_t left = most;

	process->has_wait = mine->counts_waits && most &&
			    proc_wait_ns(process->pid, &left, &process->wait_ns) == 0;
	mine->threads_left -= most - left;
}

static void read_process(struct process_reading *mine, pid_t pid)
{
	struct listed_process *process = &mine->list.all[mine->list.count];

	*process = (struct listed_process){.pid = pid};
	if (proc_stat(pid, &process->stat) < 0)
		return; /* it has ended */
	if (mine->question.order == PROCESSES_BY_WAIT)
		read_wait(mine, process);
	mine->list.count++;
}

/* ---- those that are shown ---- */

static uint64_t rank_of(const struct listed_process *process, enum process_order order)
{
	switch (order) {
	case PROCESSES_BY_WAIT:
		return process->has_wait ? process->wait_ns : 0;
	case PROCESSES_BY_RSS:
		return process->stat.rss_pages;
	case PROCESSES_BY_CPU:
		return process->stat.cpu_ticks;
	default:
		return 0;
	}
}

/* The largest first; equal ones by pid. */
static int compare_processes(const void *a, const void *b, void *arg)
{
	const struct listed_process *one = a, *other = b;
	const enum process_order *order = arg;
	uint64_t mine = rank_of(one, *order), its = rank_of(other, *order);

	if (mine != its)
		return mine > its ? -1 : 1;
	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

static void choose_processes(struct process_reading *mine)
{
	struct process_listing *list = &mine->list;
	size_t shown = list->count < mine->question.limit ? list->count : mine->question.limit;

	qsort_r(list->all, list->count, sizeof(*list->all), compare_processes,
		&mine->question.order);
	for (size_t i = shown; i < list->count; i++) {
		const struct proc_stat *stat = &list->all[i].stat;

		list->others.processes++;
		list->others.threads += stat->threads;
		list->others.cpu_ticks += stat->cpu_ticks;
		list->others.rss_pages += stat->rss_pages;
	}
	list->count = shown;
}

/* Names the user. One who has a process before it in the list is named there. */
static void name_user(const struct process_reading *mine, struct listed_process *process)
{
	for (const struct listed_process *at = mine->list.all; at < process; at++) {
		if (at->detail && at->detail->user[0] && at->uid == process->uid) {
			memcpy(process->detail->user, at->detail->user, PROCESS_USER_BYTES);
			return;
		}
	}
	passwd_user(process->uid, process->detail->user, PROCESS_USER_BYTES);
}

/* Drops the begin of a character at the end. */
static void trim_character(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[len - 1] & 0xC0) == 0x80)
		len--;
	if (len && (unsigned char)text[len - 1] >= 0xC0)
		len--;
	text[len] = '\0';
}

/* ---- command lines: reading one may hang, where a thread of the process does, and holds its
 * mappings locked ---- */

/* What is being read, or hangs, in all readings, late ones too: user << 32 | pid; 0: free. */
static _Atomic uint64_t places[HANGING_MAX];

static unsigned hanging_max(uid_t uid)
{
	return uid ? HANGING_OF_USER_MAX : HANGING_OF_ROOT_MAX;
}

/* Returns a process's number, unlike that of a later process with its pid; never 0. */
static uint64_t process_key(const struct listed_process *process)
{
	return process->stat.start_ticks << PID_BITS | (uint64_t)process->pid;
}

/* Takes a place. Returns NULL if all are taken, the user's are, or one is by this process. */
static _Atomic uint64_t *take_place(const struct listed_process *process)
{
	uint64_t none = 0, mine = (uint64_t)process->uid << 32 | (uint32_t)process->pid;
	_Atomic uint64_t *place = NULL;
	unsigned of_user = 0;

	for (size_t i = 0; i < HANGING_MAX; i++) {
		uint64_t its = places[i];

		if (its == mine)
			return NULL;
		if (!its)
			place = &places[i];
		else
			of_user += its >> 32 == process->uid;
	}
	if (!place || of_user >= hanging_max(process->uid))
		return NULL;
	return atomic_compare_exchange_strong(place, &none, mine) ? place : NULL;
}

/* Returns whether the command line, or those of the user, have hung of late. */
static bool has_hung(const struct process_reading *mine, const struct listed_process *process)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	return hung_set_until_ns(mine->hung, process->uid, process_key(process), now_ns) ||
	       hung_set_count(mine->hung, process->uid, now_ns) >= hanging_max(process->uid);
}

static void read_command(struct process_reading *mine, const struct listed_process *process)
{
	struct process_detail *detail = process->detail;

	if (process->stat.is_kernel || mine->readings + 1 == READINGS_MAX ||
	    has_hung(mine, process))
		return;
	_Atomic uint64_t *place = take_place(process);
	if (!place)
		return;
	mine->at_uid = process->uid;
	mine->at_process = process_key(process);
	detail->has_command = proc_command(process->pid, detail->command, sizeof(detail->command),
					   &detail->is_cut) == 0 &&
			      detail->command[0];
	mine->at_process = 0;
	*place = 0;
	if (detail->is_cut)
		trim_character(detail->command);
}

/* ---- the rest of what is shown ---- */

/* Reads what is shown of a process, unless another one has its pid by now. */
static void read_detail(struct process_reading *mine, struct listed_process *process,
			struct cgroups *cgroups)
{
	struct proc_stat now;

	process->detail = calloc(1, sizeof(*process->detail));
	if (!process->detail) {
		mine->error = -ENOMEM;
		return;
	}
	if (proc_uid(process->pid, &process->uid) == 0)
		name_user(mine, process);
	if (cgroups_read(process->pid, cgroups) == 0)
		process->detail->place = cgroups->place;
	read_command(mine, process);
	if (mine->question.order != PROCESSES_BY_WAIT)
		read_wait(mine, process);
	if (proc_stat(process->pid, &now) == 0 && now.start_ticks == process->stat.start_ticks)
		return;
	free(process->detail);
	process->detail = NULL;
}

/* ---- jobs ---- */

static bool is_read(const struct process_reading *mine)
{
	return mine->error || (mine->at == mine->pids_count && mine->detailed == mine->list.count);
}

static void run_reading(struct job *job)
{
	struct process_reading *mine = (struct process_reading *)job;
	_cleanup_free_ struct cgroups *cgroups = malloc(sizeof(*cgroups));

	if (!cgroups)
		mine->error = -ENOMEM;
	else if (!mine->pids)
		mine->error = begin_reading(mine);
	size_t threads = mine->threads_left;
	for (int i = 0; i < PIECE && threads - mine->threads_left < PIECE_THREADS &&
			!is_read(mine) && !mine->given_up;
	     i++) {
		if (mine->at == mine->pids_count) {
			read_detail(mine, &mine->list.all[mine->detailed++], cgroups);
			continue;
		}
		read_process(mine, mine->pids[mine->at++]);
		if (mine->at == mine->pids_count)
			choose_processes(mine);
	}
}

static void free_reading(struct job *job)
{
	struct process_reading *mine = (struct process_reading *)job;

	for (size_t i = 0; mine->list.all && i < mine->detailed; i++)
		free(mine->list.all[i].detail);
	free(mine->list.all);
	free(mine->pids);
	free(mine->hung);
	free(mine);
}

static void end_reading(struct job *job, bool finished);

static struct job reading_job(void)
{
	return (struct job){
		.run = run_reading, .done = end_reading, .free = free_reading, .whose = READERS};
}

/* Submits the rest as another job. */
static int go_on(struct process_reading *from)
{
	struct process_reading *rest = malloc(sizeof(*rest));

	if (!rest)
		return -ENOMEM;
	memcpy(rest, from, sizeof(*rest));
	rest->job = reading_job();
	from->pids = NULL;
	from->hung = NULL;
	from->list.all = NULL;
	worker_submit(rest->lister->worker, &rest->job);
	return 0;
}

static int begin_again(struct process_lister *lister, const struct process_question *question,
		       unsigned readings)
{
	struct process_reading *mine = calloc(1, sizeof(*mine));
	struct hung_set *hung = malloc(sizeof(*hung));

	if (!mine || !hung) {
		free(mine);
		free(hung);
		return -ENOMEM;
	}
	memcpy(hung, &lister->hung, sizeof(*hung));
	*mine = (struct process_reading){
		.job = reading_job(),
		.lister = lister,
		.question = *question,
		.readings = readings,
		.hung = hung,
	};
	worker_submit(lister->worker, &mine->job);
	return 0;
}

/* A job was given up, or refused. Returns 0: another reading has begun. */
static int leave_out_hung(struct process_reading *mine)
{
	uint64_t process = mine->at_process;

	mine->given_up = true;
	if (!process)
		return -ETIMEDOUT;
	hung_set_add(&mine->lister->hung, mine->at_uid, process,
		     clock_ns(CLOCK_MONOTONIC) + HUNG_NS);
	return begin_again(mine->lister, &mine->question, mine->readings + 1);
}

static void end_reading(struct job *job, bool finished)
{
	struct process_reading *mine = (struct process_reading *)job;
	const struct process_question *question = &mine->question;
	int error = finished ? mine->error : leave_out_hung(mine);

	if (!finished && error == 0)
		return;
	if (finished && error == 0 && !is_read(mine)) {
		error = go_on(mine);
		if (error == 0)
			return;
	}
	question->done(question->arg, error ? NULL : &mine->list, error);
}

int process_list_read(struct process_lister *lister, const struct process_question *question)
{
	return begin_again(lister, question, 0);
}
