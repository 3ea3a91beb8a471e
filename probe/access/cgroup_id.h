/* SPDX-License-Identifier: GPL-2.0-only */
/* A cgroup's number -> its container. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "container/container.h"

/* The place of the cgroup (v2) with this id, found by open_by_handle_at(2) below /sys/fs/cgroup.
 * Negative errno: it can't be told, or the cgroup was removed (-ESTALE). Touches kernfs alone, so
 * it doesn't hang. */
int cgroup_id_place(uint64_t id, struct container_place *ret);

/* Whether our own cgroup's id leads to our own cgroup: then that of any cgroup that is there leads
 * to it. 0 does not. */
bool cgroup_id_works(uint64_t own);
