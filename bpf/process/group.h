/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroups of a process: their ids, and their names up to the hierarchy's root, which are sent
 * to the daemon once. Both are read together. So a process that is just being moved never gives one
 * cgroup the name of another, and a cgroup of a process that has ended since is known all the same.
 */
#pragma once

#include "bpf/core/shared_maps.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} life SEC(".maps");

/* Returns the pid of a process in its own pid namespace; 0: the process is ending and in no
 * namespace any more. */
static __always_inline uint32_t pid_of(struct task_struct *leader)
{
	struct pid *pid = BPF_CORE_READ(leader, thread_pid);
	uint64_t number = (uint64_t)pid + bpf_core_field_offset(pid->numbers);

	if (!pid)
		return 0;
	number += BPF_CORE_READ(pid, level) * (uint64_t)bpf_core_type_size(struct upid);
	return BPF_CORE_READ((struct upid *)number, nr);
}

/* Nodes of the cgroups of a process; NULL: none. */
struct group_nodes {
	struct kernfs_node *v2, *v1;
};

/* Returns the cgroup of a controller, by the controller's number on this kernel; NULL: there is
 * none. */
static __always_inline struct cgroup *controllers_cgroup(struct css_set *set, uint64_t number)
{
	struct cgroup_subsys_state *state = NULL;
	uint64_t at = (uint64_t)set + bpf_core_field_offset(set->subsys) + number * sizeof(state);

	bpf_probe_read_kernel(&state, sizeof(state), (void *)at);
	return state ? BPF_CORE_READ(state, cgroup) : NULL;
}

/* Returns the cgroup of one v1 controller, or NULL. Runtimes put a container in all hierarchies, so
 * one of v1 is enough. */
static __always_inline struct cgroup *v1_cgroup(struct css_set *set)
{
	if (!bpf_core_field_exists(set->subsys))
		return NULL;
	if (bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return controllers_cgroup(
			set, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	if (bpf_core_enum_value_exists(enum cgroup_subsys_id, pids_cgrp_id))
		return controllers_cgroup(set,
					  bpf_core_enum_value(enum cgroup_subsys_id, pids_cgrp_id));
	if (bpf_core_enum_value_exists(enum cgroup_subsys_id, cpu_cgrp_id))
		return controllers_cgroup(set,
					  bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id));
	return NULL;
}

/* Reads the ids and nodes of a task's cgroups; 0 and NULL: none. */
static __always_inline void group_of_task(struct task_struct *task, struct cgroup_key *key,
					  struct group_nodes *nodes)
{
	struct cgroup *v2, *v1;
	struct kernfs_node *node;
	struct css_set *set;

	key->v2 = key->v1 = 0;
	nodes->v2 = nodes->v1 = NULL;
	if (!bpf_core_field_exists(task->cgroups))
		return;
	set = BPF_CORE_READ(task, cgroups);
	v2 = BPF_CORE_READ(set, dfl_cgrp);
	v1 = v1_cgroup(set);
	nodes->v2 = node = BPF_CORE_READ(v2, kn);
	key->v2 = BPF_CORE_READ(node, id);
	if (!v1 || BPF_CORE_READ(v1, root) == BPF_CORE_READ(v2, root))
		return; /* the controller is in the v2 hierarchy */
	nodes->v1 = node = BPF_CORE_READ(v1, kn);
	key->v1 = BPF_CORE_READ(node, id);
}

static __always_inline uint64_t parent_offset(void)
{
	struct kernfs_node *node = NULL;
	struct kernfs_node___since *since = NULL;

	return bpf_core_field_exists(node->parent) ? bpf_core_field_offset(node->parent)
						   : bpf_core_field_offset(since->__parent);
}

/*
 * Adds the names of a node and of the nodes above it to the event; `v1_bytes` says where the names
 * end so far. Returns whether all names were added: there may be too many, or a name can't be read.
 * (The verifier tracks no value in the ring's memory. So each turn begins in the same state for the
 * verifier, and the turns of this loop don't multiply with those of the next.)
 */
static __noinline bool add_names(struct group_event *event, struct kernfs_node *node)
{
	uint64_t to_parent = parent_offset();

	if (!node)
		return true;
	for (int i = 0; i < GROUP_LEVELS; i++) {
		struct kernfs_node *parent;
		uint32_t at = *(volatile uint16_t *)&event->v1_bytes;
		long bytes;

		bpf_probe_read_kernel(&parent, sizeof(parent), (void *)node + to_parent);
		if (!parent)
			return true;
		if (at >= 2 * GROUP_NAMES_BYTES - GROUP_NAME_BYTES)
			return false;
		asm volatile("" : "+r"(at)); /* old verifiers see only the mask */
		bytes = bpf_probe_read_kernel_str(event->names + (at & (2 * GROUP_NAMES_BYTES - 1)),
						  GROUP_NAME_BYTES, BPF_CORE_READ(node, name));
		if (bytes <= 0)
			return false;
		*(volatile uint16_t *)&event->v1_bytes = at + bytes;
		node = parent;
	}
	return false;
}

/*
 * Sends the paths of two cgroups to the daemon, by their nodes and ids. Returns -1 if the ring is
 * full. A global function, so the verifier checks it once and by itself: in the context of each
 * caller, each length would be another state.
 */
__attribute__((noinline)) int group_send(uint64_t v2_node, uint64_t v1_node, uint64_t v2,
					 uint64_t v1, uint64_t flags)
{
	struct group_event *event = bpf_ringbuf_reserve(&life, sizeof(*event), 0);
	bool whole;

	if (!event)
		return -1;
	event->kind = LIFE_GROUP;
	event->key.v2 = v2;
	event->key.v1 = v1;
	event->v1_bytes = 0;
	whole = add_names(event, (struct kernfs_node *)v2_node);
	event->v2_bytes = event->v1_bytes;
	whole = whole && add_names(event, (struct kernfs_node *)v1_node);
	event->cut = !whole;
	event->v1_bytes = whole ? event->v1_bytes - event->v2_bytes : 0;
	if (!whole)
		event->v2_bytes = 0;
	bpf_ringbuf_submit(event, flags);
	return 0;
}
