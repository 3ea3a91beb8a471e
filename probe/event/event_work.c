// SPDX-License-Identifier: GPL-2.0-or-later
/* Jobs: attaching an event's points to one file, detaching them; measuring what hits cost. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include "base/cleanup.h"
#include "event/event_points.h"
#include "event/event_state.h"

/* the kernel visits each process of the host for each point */
#define ATTACH_LIMIT_NS (60 * NS_PER_S)

struct event_work {
	struct job job;
	struct event_file *of; /* for the loop; run() doesn't touch it */
	struct symbol_file *file;
	struct open_request opening;
	struct event_text event;
	struct call_programs programs;
	bool with_return;
	bool has_twin, twin_is_overlay;

	struct event_points points;
	struct uprobes *uprobes;
	bool is_overlay, is_same;
	int error;
	struct why why;
};

static bool is_over(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && status.f_type == OVERLAYFS_SUPER_MAGIC;
}

static int attach_points(struct event_work *work)
{
	_cleanup_close_ int own = -1;
	_cleanup_close_ int root_fd = open_request_open_root(&work->opening);
	int fd = open_request_open(&work->opening, root_fd, &own);
	int r = fd < 0 ? fd : open_request_check(&work->opening, fd);

	if (r < 0) {
		why_set(&work->why, "%s can't be opened: %s", work->event.path, strerror(-r));
		return r;
	}
	work->is_overlay = is_over(fd);
	work->is_same = work->has_twin && (work->is_overlay || work->twin_is_overlay);
	if (work->is_same)
		return 0;
	r = event_points_find(fd, &work->event, work->with_return, &work->points, NULL, &work->why);
	job_extend(&work->job, ATTACH_LIMIT_NS);
	return r < 0 ? r
		     : uprobes_open(&work->uprobes, fd, work->points.all, work->points.count,
				    &work->programs, &work->why);
}

static void run_attach(struct job *job)
{
	struct event_work *work = (struct event_work *)job;

	work->error = attach_points(work);
}

static void attach_done(struct job *job, bool finished)
{
	struct event_work *work = (struct event_work *)job;
	struct event_attached result = {.error = -ETIMEDOUT, .why = "attaching took too long"};

	if (finished) {
		symbol_file_hold(work->file, &work->opening);
		result.uprobes = TAKE_PTR(work->uprobes);
		result.is_overlay = work->is_overlay;
		result.is_same = work->is_same;
		result.stepped = work->points.stepped;
		result.error = work->error;
		result.why = work->why.text;
	}
	event_file_attached(work->of, &result);
}

static void run_detach(struct job *job)
{
	struct event_work *work = (struct event_work *)job;

	uprobes_close(TAKE_PTR(work->uprobes));
}

static void detach_done(struct job *job, bool finished)
{
	struct event_work *work = (struct event_work *)job;

	(void)finished; /* a job that never began is freed, and closes them then */
	event_file_detached(work->of);
}

/* Also of one that was given up, and attached after that. */
static void free_work(struct job *job)
{
	struct event_work *work = (struct event_work *)job;

	uprobes_close(work->uprobes);
	cleanup_close(&work->programs.fds[CALL_SIZE]);
	cleanup_close(&work->programs.return_fds[CALL_SIZE]);
	if (work->file)
		open_request_done(&work->opening);
	symbol_file_unref(work->file);
	free(work);
}

static struct event_work *work_new(struct event_file *file)
{
	struct event_work *work = calloc(1, sizeof(*work));

	if (!work)
		return NULL;
	work->job.free = free_work;
	work->of = file;
	work->programs.realloc_fd = -1;
	for (int i = 0; i < CALL_COUNT_OF; i++)
		work->programs.fds[i] = work->programs.return_fds[i] = -1;
	return work;
}

static int copy_fd(int *to, int fd)
{
	if (fd < 0)
		return 0;
	*to = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *to < 0 ? -errno : 0;
}

/* Fills in what the job needs. */
static int prepare_attach(struct event_work *work, const struct event_slot *slot)
{
	const struct event_file *twin = event_file_twin(work->of);
	int r = symbol_file_opening(work->of->file, &work->of->place, &work->opening);

	if (r < 0)
		return r;
	work->file = symbol_file_ref(work->of->file);
	work->event = slot->event;
	work->with_return = slot->with_return;
	work->programs.session = slot->programs.session;
	work->has_twin = twin;
	work->twin_is_overlay = twin && twin->is_overlay;
	r = copy_fd(&work->programs.fds[CALL_SIZE], slot->programs.fds[CALL_SIZE]);
	return r < 0 ? r
		     : copy_fd(&work->programs.return_fds[CALL_SIZE],
			       slot->programs.return_fds[CALL_SIZE]);
}

int event_work_attach(struct event_file *file, struct worker *worker, const struct event_slot *slot)
{
	struct event_work *work = work_new(file);
	int r = work ? prepare_attach(work, slot) : -ENOMEM;

	if (r < 0) {
		if (work)
			free_work(&work->job);
		return r;
	}
	work->job.whose = work->opening.whose;
	work->job.run = run_attach;
	work->job.done = attach_done;
	worker_submit(worker, &work->job);
	return 0;
}

int event_work_detach(struct event_file *file, struct worker *worker)
{
	struct event_work *work = work_new(file);

	if (!work)
		return -ENOMEM;
	work->uprobes = TAKE_PTR(file->uprobes);
	work->job.run = run_detach;
	work->job.done = detach_done;
	work->job.unlimited = true; /* it touches no file */
	worker_submit(worker, &work->job);
	return 0;
}

/* ---- costs ---- */

struct cost_work {
	struct job job;
	struct event_files *files; /* for the loop */
	bool session, returns;
	struct point_costs costs;
	int error;
};

static void run_measure(struct job *job)
{
	struct cost_work *work = (struct cost_work *)job;

	work->error = point_cost_measure(work->session, work->returns, &work->costs);
}

static void measure_done(struct job *job, bool finished)
{
	struct cost_work *work = (struct cost_work *)job;

	event_costs_measured(work->files, work->returns,
			     finished && work->error == 0 ? &work->costs : NULL);
}

static void free_measure(struct job *job)
{
	free(job);
}

int event_work_measure(struct event_files *files, struct worker *worker, bool session, bool returns)
{
	struct cost_work *work = calloc(1, sizeof(*work));

	if (!work)
		return -ENOMEM;
	*work = (struct cost_work){.job = {.run = run_measure,
					   .done = measure_done,
					   .free = free_measure,
					   .unlimited = true}, /* it touches no file of others */
				   .files = files,
				   .session = session,
				   .returns = returns,
				   .costs = files->costs};
	worker_submit(worker, &work->job);
	return 0;
}
