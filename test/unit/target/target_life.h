/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's side does at a fork, exec, rename or exit (bpf/life.bpf.c), in tests: it
 * changes its map of targets and sends an event, which targets get by scene_read(); and stacks that
 * it takes.
 */
#pragma once

#include "unit/target/target_scene.h"

static uint64_t life_last_id;

/* Delivers what happened. */
static inline void scene_read(void)
{
	tracer_read_life(scripted);
}

/* Returns a new incarnation's id, a time. */
static inline uint64_t life_next_id(void)
{
	uint64_t now_ns = loop_now_ns();

	life_last_id = now_ns > life_last_id ? now_ns : life_last_id + 1;
	return life_last_id;
}

static inline struct life_event life_event_of(enum life_kind kind, const struct process *process)
{
	uint64_t id = life_next_id();

	return (struct life_event){
		.kind = (uint16_t)kind,
		.tgid = (uint32_t)process->pid,
		.id = id,
		.time_ns = id,
		.start_ns = process->start_ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK)),
	};
}

/* Returns the last verdict on these cgroups; 0: none. */
static inline int life_verdict_on_group(const struct cgroup_key *group)
{
	int word = 0;

	for (size_t i = 0; i < scripted->verdicts_count; i++) {
		const struct verdict_key *on = &scripted->verdicts[i].on;

		if (on->on == VERDICT_ON_GROUP && on->group.v2 == group->v2)
			word = (int)scripted->verdicts[i].word;
	}
	return word;
}

/* Returns the verdict on a new program; 0: none. */
static inline int life_verdict(const char *comm, const struct cgroup_key *group)
{
	int by_name = scripted_verdict_on(comm);
	int by_group = scripted->by_group && group ? life_verdict_on_group(group) : by_name;

	if (by_name == VERDICT_MATCHES || by_group == VERDICT_MATCHES)
		return VERDICT_MATCHES;
	return by_name == by_group ? by_name : 0;
}

/* A new program or name; returns its id, or 0: the kernel's side passes it over. */
static inline uint64_t life_renew(enum life_kind kind, const struct process *process,
				  const char *comm, const struct cgroup_key *group)
{
	struct target_value old, value = {0};
	bool is_there = tracer_target_get(scripted, process->pid, &old) == 0;
	int word = kind == LIFE_EXEC ? life_verdict(comm, group) : 0;

	if (!is_there && (!scripted->follow || word == VERDICT_DOES_NOT))
		return 0;
	struct life_event event = life_event_of(kind, process);
	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	event.verdict = (uint16_t)word;
	event.old_id = is_there ? old.id : 0;
	if (group)
		event.group = *group;
	value.id = event.id;
	value.probes = scripted->pending_probes;
	value.unread = word != VERDICT_DOES_NOT;
	scripted_target(process->pid, &value);
	scripted_life(&event);
	return event.id;
}

static inline uint64_t life_exec(const struct process *process, const char *comm)
{
	return life_renew(LIFE_EXEC, process, comm, NULL);
}

static inline uint64_t life_rename(const struct process *process, const char *comm)
{
	return life_renew(LIFE_RENAME, process, comm, NULL);
}

/* Returns the child's id; 0: the parent is no target. */
static inline uint64_t life_fork(const struct process *parent, const struct process *child,
				 const char *comm)
{
	struct life_event event = life_event_of(LIFE_FORK, child);
	struct target_value value;

	if (tracer_target_get(scripted, parent->pid, &value) < 0)
		return 0;
	event.parent = (uint32_t)parent->pid;
	event.old_id = value.id;
	event.probes = value.probes;
	snprintf(event.comm, sizeof(event.comm), "%s", comm);
	value.id = event.id;
	scripted_target(child->pid, &value);
	scripted_life(&event);
	return event.id;
}

static inline void life_exit(const struct process *process)
{
	struct life_event event = life_event_of(LIFE_EXIT, process);
	struct target_value old;

	if (tracer_target_get(scripted, process->pid, &old) < 0)
		return;
	event.id = old.id;
	scripted_life(&event);
	tracer_target_del(scripted, process->pid);
}

/* A stack of a process's present incarnation. */
static inline struct stack life_stack_of(const struct process *process, uint64_t time_ns,
					 uint32_t exec_pages)
{
	return (struct stack){
		.key = {.hash = 1, .tgid = (uint32_t)process->pid, .probe = PROBE_ONCPU},
		.target_id = scene_id(process->pid),
		.time_ns = time_ns,
		.words_count = 1,
		.exec_pages = exec_pages,
	};
}

/* Takes a stack of one address, and delivers it. */
static inline void life_stack(const struct process *process, uint64_t address, uint64_t time_ns,
			      uint32_t exec_pages)
{
	uint64_t word = (uint64_t)FRAME_NATIVE << FRAME_KIND_SHIFT | address;
	struct stack stack = life_stack_of(process, time_ns, exec_pages);

	scripted_stack(&stack, &word);
	tracer_read_stacks(scripted);
}
