// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A target's jitdump. It is read on at the end of each window, for the names of the window's
 * stacks; and, if it tells unwind rows, when a stack comes with later code, so that the next ones
 * are whole.
 */
#include "jit/jitdump_record.h"
#include "runtime/made_dump.h"
#include "target/target_state.h"

static void dump_changed(void *arg, pid_t pid)
{
	struct targets *targets = arg;
	struct target *target = target_table_current(targets->table, pid);

	if (target && target->dump)
		target_publish(targets, target);
}

static const struct mapping *find_dump(const struct target *target, const struct maps *maps)
{
	pid_t pid = target->ns_pid ? target->ns_pid : target->pid;

	for (size_t i = 0; i < maps->count; i++) {
		const struct mapping *mapping = &maps->mappings[i];

		if (mapping->kind == MAPPING_FILE && jitdump_is_path(mapping->path, pid))
			return mapping;
	}
	return NULL;
}

void target_find_dump(struct targets *targets, struct target *target, const struct maps *maps)
{
	const struct mapping *mapping = find_dump(target, maps);
	struct made_dump *found;

	if (!mapping)
		return; /* a program may unmap its file when that is complete */
	const struct made_dump_place place = {
		.pid = target->pid,
		.start_ticks = target->start_ticks,
		.program = target->program,
		.ns_pid = target->ns_pid ? target->ns_pid : target->pid,
		.start = mapping->start,
		.end = mapping->end,
		.device = mapping->device,
		.inode = mapping->inode,
		.path = mapping->path,
	};
	if (made_dump_is_of(target->dump, &place) ||
	    made_dump_new(&found, &place, target->whose, targets->urgent, dump_changed, targets) <
		    0)
		return;
	made_dump_unref(target->dump);
	target->dump = found;
	made_dump_read(found);
}

/* Reads on for the stack that waits for it, now or when it may be read. */
static void read_on(struct targets *targets, struct target *target)
{
	struct loop_timer *timer = &targets->begun;
	uint64_t next_ns = made_dump_next_ns(target->dump, target->dump_ns);

	if (!next_ns || target_hangs(target))
		target->dump_ns = 0;
	else if (loop_now_ns() >= next_ns)
		made_dump_read(target->dump);
	else if (!timer->active || timer->at_ns > next_ns)
		loop_timer_set(targets->loop, timer, next_ns);
}

void target_meet_dump(struct targets *targets, struct target *target, const struct stack *stack,
		      const uint64_t *words)
{
	if (!target->dump || !made_dump_next_ns(target->dump, stack->time_ns) ||
	    !target_has_made(target, stack, words))
		return;
	if (stack->time_ns > target->dump_ns)
		target->dump_ns = stack->time_ns;
	read_on(targets, target);
}

void target_read_dump_late(struct targets *targets, struct target *target)
{
	if (target->dump && target->dump_ns)
		read_on(targets, target);
}

static void read_one(void *arg, struct target *target)
{
	(void)arg;
	if (target->dump && !target_hangs(target))
		made_dump_read(target->dump);
}

void targets_read_dumps(struct targets *targets)
{
	target_table_each_ever(targets->table, read_one, NULL);
}
