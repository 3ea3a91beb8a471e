/* SPDX-License-Identifier: GPL-2.0-only */
/* A cgroup's number -> its container. */
#pragma once

#include <stdint.h>

#include "container/container.h"

/* The place of the cgroup (v2) with this id, found by open_by_handle_at(2) below /sys/fs/cgroup.
 * Negative errno: it can't be told. Touches kernfs alone, so it doesn't hang. */
int cgroup_id_place(uint64_t id, struct container_place *ret);
