// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/target_memory.h"

#include "base/cleanup.h"
#include "target/target_table.h"

void target_memory_of(struct job_memory *memory, const struct target *target, struct worker *worker)
{
	*memory = (struct job_memory){
		.id = {target->pid, target->start_ticks, target->program},
		.worker = worker,
		.whose = target->whose,
		.held = held_fd_ref(target->memory),
		.own = -1,
	};
}

void target_memory_keep(struct target *target, struct job_memory *memory)
{
	if (target->memory || !target_is_alive(target) || target->program != memory->id.program)
		return;
	target->memory = job_memory_keep(memory);
}

void target_memory_drop(struct target *target)
{
	job_memory_forget(TAKE_PTR(target->memory));
}

void target_memory_share(struct target *target, const struct target *before)
{
	target->memory = job_memory_share(before->memory);
}
