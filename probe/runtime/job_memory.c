// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/job_memory.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/cleanup.h"

#define PART 4 /* of all places one in so many is for memory that is kept */

static atomic_size_t kept_count;

static void open_it(struct job_memory *memory)
{
	memory->own = process_memory_open(&memory->id);
	if (memory->own < 0) {
		memory->error = memory->own;
		memory->own = -1;
		return;
	}
	if (atomic_load(&kept_count) >= fd_budget_max() / PART || !fd_budget_take())
		return;
	memory->held = held_fd_new(&memory->own, memory->worker, memory->whose);
	if (!memory->held)
		fd_budget_give();
}

static int read_it(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct job_memory *memory = arg;

	if (!memory->held && memory->own < 0 && !memory->error)
		open_it(memory);
	if (memory->error)
		return memory->error;
	return process_memory_read(memory->held ? memory->held->fd : memory->own, address, to,
				   bytes);
}

struct process_memory job_memory_reader(struct job_memory *memory)
{
	return (struct process_memory){.read = read_it, .arg = memory};
}

void job_memory_close(struct job_memory *memory)
{
	cleanup_close(&memory->own);
	memory->own = -1;
}

void job_memory_done(struct job_memory *memory)
{
	held_fd_unref(TAKE_PTR(memory->held));
	job_memory_close(memory);
}

struct held_fd *job_memory_keep(struct job_memory *memory)
{
	if (memory->held)
		atomic_fetch_add(&kept_count, 1);
	return TAKE_PTR(memory->held);
}

struct held_fd *job_memory_share(struct held_fd *kept)
{
	if (kept)
		atomic_fetch_add(&kept_count, 1);
	return held_fd_ref(kept);
}

void job_memory_forget(struct held_fd *kept)
{
	if (!kept)
		return;
	held_fd_unref(kept);
	atomic_fetch_sub(&kept_count, 1);
}
