// SPDX-License-Identifier: GPL-2.0-only
#include "target/target_memory.h"

#include <errno.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "target/target_table.h"

/* Of all places: files, which can't be opened again once their process has ended, need them more.
 */
#define PART 4

static atomic_size_t kept; /* by targets */

void target_memory_of(struct target_memory *memory, const struct target *target,
		      struct worker *worker)
{
	*memory = (struct target_memory){
		.id = {target->pid, target->start_ticks, target->program},
		.worker = worker,
		.whose = target->whose,
		.held = held_ref(target->memory),
		.own = -1,
	};
}

static void open_it(struct target_memory *memory)
{
	memory->own = memory_open(&memory->id);
	if (memory->own < 0) {
		memory->error = memory->own;
		memory->own = -1;
		return;
	}
	if (atomic_load(&kept) >= held_max() / PART || !held_take())
		return;
	memory->held = held_new(&memory->own, memory->worker, memory->whose);
	if (!memory->held)
		held_give();
}

static int read_it(void *arg, uint64_t address, void *to, size_t bytes)
{
	struct target_memory *memory = arg;

	if (!memory->held && memory->own < 0 && !memory->error)
		open_it(memory);
	if (memory->error)
		return memory->error;
	return memory_read(memory->held ? memory->held->fd : memory->own, address, to, bytes);
}

struct process_memory target_memory_reader(struct target_memory *memory)
{
	return (struct process_memory){.read = read_it, .arg = memory};
}

void target_memory_close(struct target_memory *memory)
{
	cleanup_close(&memory->own);
	memory->own = -1;
}

void target_memory_keep(struct target *target, struct target_memory *memory)
{
	if (target->memory || !memory->held || !target->alive ||
	    target->program != memory->id.program)
		return;
	target->memory = TAKE_PTR(memory->held);
	atomic_fetch_add(&kept, 1);
}

void target_memory_done(struct target_memory *memory)
{
	held_unref(TAKE_PTR(memory->held));
	target_memory_close(memory);
}

void target_memory_drop(struct target *target)
{
	if (!target->memory)
		return;
	held_unref(TAKE_PTR(target->memory));
	atomic_fetch_sub(&kept, 1);
}

void target_memory_share(struct target *target, const struct target *before)
{
	target->memory = held_ref(before->memory);
	if (target->memory)
		atomic_fetch_add(&kept, 1);
}
