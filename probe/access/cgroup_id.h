/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the container of a cgroup by the cgroup's id (v2). Any thread. */
#pragma once

#include <stdint.h>

#include "container/container.h"

/* Finds the container of the cgroup with this id, by open_by_handle_at(2) below /sys/fs/cgroup.
 * Returns 0, or a negative errno: -ESTALE if the cgroup was removed; another one if this can't be
 * found out. Touches only kernfs, so this doesn't hang. */
int cgroup_id_place(uint64_t id, struct container_place *ret);

/* Which cgroups can be found by their ids. */
enum cgroup_sight {
	CGROUPS_UNSEEN, /* none for sure: there is no cgroup v2, or it isn't mounted */
	CGROUPS_BELOW,	/* those below our own: we aren't in the host's cgroup namespace */
	CGROUPS_ALL,
};

/* Finds out which, with the id of our own cgroup (0: not known). */
enum cgroup_sight cgroup_id_try(uint64_t own);
