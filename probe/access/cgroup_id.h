/* SPDX-License-Identifier: GPL-2.0-only */
/* A cgroup's number -> its container. */
#pragma once

#include <stdint.h>

#include "container/container.h"

/* The place of the cgroup (v2) with this id, found by open_by_handle_at(2) below /sys/fs/cgroup.
 * Negative errno: it can't be told, or the cgroup was removed (-ESTALE). Touches kernfs alone, so
 * it doesn't hang. */
int cgroup_id_place(uint64_t id, struct container_place *ret);

/* Which cgroups their ids lead to. */
enum cgroup_sight {
	CGROUPS_UNSEEN, /* none for sure: there is no cgroup v2, or it isn't mounted */
	CGROUPS_BELOW,	/* those below our own: we are in a cgroup namespace of our own */
	CGROUPS_ALL,
};

/* Tries it with our own cgroup's id; 0: it isn't known. */
enum cgroup_sight cgroup_id_try(uint64_t own);
