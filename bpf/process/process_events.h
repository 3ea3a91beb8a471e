/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages to the daemon about processes: the ring of events, the daemon's verdicts on names and
 * cgroups, and the paths of cgroups.
 */
#pragma once

#include "bpf/process/group.h"

#define VERDICTS_MAX 8192

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, VERDICTS_MAX);
	__type(key, struct verdict_key);
	__type(value, struct verdict);
} verdicts SEC(".maps");

static __always_inline void send_life(const struct life_event *event, uint64_t flags)
{
	if (bpf_ringbuf_output(&life, (void *)event, sizeof(*event), flags))
		count_loss(LOST_LIFE_FULL, LOSERS_ALL, 1);
}

/* Returns the flag of an event that can wait until the daemon reads the stacks: no wake-up, unless
 * the ring fills up. */
static __always_inline uint64_t lazy_flag(void)
{
	if (bpf_ringbuf_query(&life, BPF_RB_AVAIL_DATA) >
	    bpf_ringbuf_query(&life, BPF_RB_RING_SIZE) / 4)
		return BPF_RB_FORCE_WAKEUP;
	return BPF_RB_NO_WAKEUP;
}

static __always_inline uint64_t verdict_of(const struct verdict_key *key, uint64_t selection)
{
	struct verdict *verdict = bpf_map_lookup_elem(&verdicts, key);

	return verdict && verdict->selection == selection ? verdict->word : 0;
}

/* Returns the verdict on a name; 0: the daemon has not judged the name for the current
 * selection. */
static __always_inline uint64_t verdict_on_name(const char *comm, uint64_t selection)
{
	struct verdict_key key = {.on = VERDICT_ON_NAME};

	__builtin_memcpy(key.comm, comm, sizeof(key.comm));
	return verdict_of(&key, selection);
}

/* Returns the verdict on the cgroups of a process; 0: there is none. */
static __always_inline uint64_t verdict_on_group(const struct cgroup_key *group, uint64_t selection)
{
	struct verdict_key key = {.on = VERDICT_ON_GROUP, .group = *group};

	return verdict_of(&key, selection);
}

/* Reads the cgroups of a process into *group, and sends their paths to the daemon unless they were
 * sent before. If the ring is full, the paths are sent with the next event. */
static __noinline int tell_group(struct task_struct *task, struct cgroup_key *group)
{
	struct verdict_key key = {.on = VERDICT_ON_GROUP};
	struct verdict unjudged = {};
	struct group_nodes nodes;

	group_of_task(task, group, &nodes);
	key.group = *group;
	if ((!group->v2 && !group->v1) || bpf_map_lookup_elem(&verdicts, &key))
		return 0;
	if (group_send((uint64_t)nodes.v2, (uint64_t)nodes.v1, group->v2, group->v1, lazy_flag()))
		count_loss(LOST_LIFE_FULL, LOSERS_ALL, 1);
	else
		bpf_map_update_elem(&verdicts, &key, &unjudged, BPF_NOEXIST);
	return 0;
}
