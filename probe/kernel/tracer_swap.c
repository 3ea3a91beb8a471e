// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ends a window. Waiting until no program runs that began before may take tens of milliseconds, and
 * so may going through all threads, so jobs do that:
 *
 *	new window -> wait -> show waits that go on -> wait -> its counts are complete
 *
 * The last two only while off-CPU is on.
 */
#include "kernel/tracer_part.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/tracer_waits.h"
#include "life.skel.h"

/* What all steps know. */
struct swap {
	struct tracer *tracer;
	struct worker *worker;
	struct window_counts *counts;
	uint64_t ended;
	bool shown; /* waits that go on are shown, or there are none to be shown */
	void (*done)(void *arg);
	void *arg;
};

/* A step, with descriptors of its own; -1: none. */
struct swap_job {
	struct job job;
	struct swap swap;
	int waits_fd;		    /* an iterator; -1: it waits */
	int barrier_fd, control_fd; /* of tracer_wait_for_programs() */
	int error;		    /* of the iterator */
};

static void wait_by(int barrier_fd, int control_fd)
{
	uint32_t zero = 0;

	bpf_map_update_elem(barrier_fd, &zero, &control_fd, BPF_ANY);
}

void tracer_wait_for_programs(const struct tracer *tracer)
{
	wait_by(tracer->barrier_fd, bpf_map__fd(tracer->life->maps.control));
}

static void run_step(struct job *job)
{
	struct swap_job *step = (struct swap_job *)job;

	if (step->waits_fd >= 0)
		step->error = tracer_iterate(step->waits_fd);
	else
		wait_by(step->barrier_fd, step->control_fd);
}

static void close_fds(const struct swap_job *step)
{
	const int fds[] = {step->waits_fd, step->barrier_fd, step->control_fd};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}

static void free_step(struct job *job)
{
	close_fds((struct swap_job *)job);
	free(job);
}

static void programs_ended(const struct swap *swap);
static void waits_shown(const struct swap *swap, int error);

static void end_step(struct job *job, bool finished)
{
	struct swap_job *step = (struct swap_job *)job;

	if (!finished) /* no thread could be started */
		run_step(job);
	if (step->waits_fd >= 0)
		waits_shown(&step->swap, step->error);
	else
		programs_ended(&step->swap);
}

static void submit_step(const struct swap_job *like)
{
	struct swap_job *step = malloc(sizeof(*step));

	if (!step) {
		struct swap_job now = *like;

		run_step(&now.job);
		end_step(&now.job, true);
		close_fds(&now);
		return;
	}
	*step = *like;
	step->job = (struct job){
		.run = run_step, .done = end_step, .free = free_step, .unlimited = true};
	worker_submit(step->swap.worker, &step->job);
}

/* Calls programs_ended() when no program runs that began before; at once if it can't wait. */
static void wait_for_programs(const struct swap *swap)
{
	const struct tracer *tracer = swap->tracer;
	struct swap_job step = {.swap = *swap, .waits_fd = -1};

	if (!tracer->control) {
		programs_ended(swap);
		return;
	}
	step.barrier_fd = fcntl(tracer->barrier_fd, F_DUPFD_CLOEXEC, 0);
	step.control_fd = fcntl(bpf_map__fd(tracer->life->maps.control), F_DUPFD_CLOEXEC, 0);
	if (step.barrier_fd >= 0 && step.control_fd >= 0) {
		submit_step(&step);
		return;
	}
	close_fds(&step); /* without a descriptor to spare */
	tracer_wait_for_programs(tracer);
	programs_ended(swap);
}

static void waits_shown(const struct swap *swap, int error)
{
	struct swap shown = *swap;

	shown.shown = true;
	tracer_waits_shown(swap->tracer, error);
	wait_for_programs(&shown);
}

/* The window's counts are complete. */
static void end_swap(const struct swap *swap)
{
	struct tracer *tracer = swap->tracer;

	if (tracer->control) {
		const struct life_bpf *life = tracer->life;
		bool odd = swap->ended & 1;

		tracer_window_ended(tracer);
		window_counts_open(
			swap->counts,
			bpf_map__fd(odd ? life->maps.counts_odd : life->maps.counts_even),
			bpf_map__fd(odd ? life->maps.sent_odd : life->maps.sent_even));
	}
	swap->done(swap->arg);
}

static void programs_ended(const struct swap *swap)
{
	struct swap_job step = {.swap = *swap, .barrier_fd = -1, .control_fd = -1};

	step.waits_fd = swap->shown ? -ENOENT : tracer_waits_show(swap->tracer);
	if (step.waits_fd >= 0)
		submit_step(&step);
	else if (step.waits_fd == -ENOENT)
		end_swap(swap);
	else
		waits_shown(swap, step.waits_fd);
}

void tracer_swap(struct tracer *tracer, struct worker *worker, struct window_counts *counts,
		 void (*done)(void *arg), void *arg)
{
	struct swap swap = {tracer, worker, counts, tracer_window(tracer), false, done, arg};

	window_counts_clear(counts);
	if (!tracer->control) {
		done(arg);
		return;
	}
	tracer_waits_close(tracer, swap.ended);
	__atomic_store_n(&tracer->control->window, swap.ended + 1, __ATOMIC_SEQ_CST);
	wait_for_programs(&swap);
}
