/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles of processes in containers. */
#pragma once

#include "unit/output/tree_figures.h"
#include "unit/output/tree_text.h"

#include "container/container.h"
#include "profile/by_container.h"

#define ID_ONE "1111111111111111111111111111111111111111111111111111111111111111"
#define ID_TWO "2222222222222222222222222222222222222222222222222222222222222222"

static inline struct container *new_container(const char *id, const char *pod_uid, const char *name,
					      const char *pod)
{
	struct container_place place = {.runtime = CONTAINER_PODMAN};
	struct container *container;

	snprintf(place.id, sizeof(place.id), "%s", id);
	snprintf(place.pod_uid, sizeof(place.pod_uid), "%s", pod_uid);
	assert_int_equal(container_new(&container, &place, name, pod, NULL, NULL), 0);
	return container;
}

static inline struct record_who who_in(int pid, const char *comm, uint64_t start,
				       struct container *container, int ns_pid)
{
	struct record_who who = {
		.pid = pid, .start_ticks = start, .container = container, .ns_pid = ns_pid};

	snprintf(who.process, sizeof(who.process), "%s", comm);
	snprintf(who.thread, sizeof(who.thread), "worker");
	return who;
}

/* A stack of one function, with its record. */
static inline void add_stack(struct profile *profile, const struct record_who *who,
			     const char *name, uint64_t weight)
{
	int64_t node = profile_thread(profile, who, false);

	node = tree_child(profile->tree, (uint32_t)node, FRAME_TYPE_NATIVE, name, strlen(name));
	assert_true(node > 0);
	tree_add(profile->tree, (uint32_t)node, weight);
	struct record record = {
		{.node = (uint32_t)node, .tid = 1, .cpu = 4095}, weight, 5, who, {0}};
	assert_int_equal(records_add(profile->records, &record), 0);
	profile->weight += weight;
}

static inline struct profile *new_profile(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(&profile, PROBE_OFFCPU, 100, 0), 0);
	return profile;
}

static inline struct profile *sort_profile(const struct profile *profile)
{
	struct profile *sorted;

	assert_true(tree_has_owners(profile->tree));
	assert_int_equal(profile_by_container(&sorted, profile, true), 0);
	return sorted;
}

static inline char *write_profile(const struct profile *profile, const char *extension)
{
	struct profile_meta meta;

	profile_describe(profile, TREE_ROOT, "host", &meta);
	return write_with(extension, profile->tree, TREE_ROOT, &meta);
}
