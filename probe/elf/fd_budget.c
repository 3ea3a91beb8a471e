// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/fd_budget.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "loop/close_job.h"

/* OWN: the daemon's own descriptors, for BPF objects, a timer for each CPU, 64 connections, and
 * what jobs open. AT_ALL, MAX: the least and the most places. */
#define OWN    128
#define AT_ALL 6
#define MAX    1024

static atomic_size_t taken;

size_t fd_budget_max(void)
{
	static atomic_size_t max;
	struct rlimit limit;
	size_t known = atomic_load(&max);

	if (known)
		return known;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < OWN)
		known = AT_ALL;
	else
		known = (limit.rlim_cur - OWN) / 2 < MAX ? (limit.rlim_cur - OWN) / 2 : MAX;
	if (known < AT_ALL)
		known = AT_ALL;
	atomic_store(&max, known);
	return known;
}

bool fd_budget_take_many(unsigned count)
{
	if (atomic_fetch_add(&taken, count) + count <= fd_budget_max())
		return true;
	atomic_fetch_sub(&taken, count);
	return false;
}

void fd_budget_give_many(unsigned count)
{
	atomic_fetch_sub(&taken, count);
}

bool fd_budget_take(void)
{
	return fd_budget_take_many(1);
}

void fd_budget_give(void)
{
	fd_budget_give_many(1);
}

bool fd_budget_is_scarce(void)
{
	return atomic_load(&taken) >= fd_budget_max() / 4 * 3;
}

struct held_fd *held_fd_new(int *fd, struct worker *worker, uint64_t whose)
{
	struct held_fd *held = calloc(1, sizeof(*held));

	if (!held)
		return NULL;
	held->refs = 1;
	held->fd = TAKE_FD(*fd);
	held->worker = worker_ref(worker);
	held->whose = whose;
	return held;
}

struct held_fd *held_fd_ref(struct held_fd *held)
{
	if (held)
		atomic_fetch_add(&held->refs, 1);
	return held;
}

void held_fd_unref(struct held_fd *held)
{
	if (!held || atomic_fetch_sub(&held->refs, 1) > 1)
		return;
	/* The place stays taken until the file is closed: so the files whose close() hangs are
	 * bounded. */
	close_later(held->worker, held->whose, &held->fd, 1, fd_budget_give);
	worker_free(held->worker);
	free(held);
}
