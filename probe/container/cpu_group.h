/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel gives CPUs to us as a group. Any thread, at the start. */
#pragma once

#include <stdbool.h>

/*
 * Returns whether a group that gets its share of the CPUs as a whole has no other program than
 * ours: a control group of cgroup v2 with a weight in which we are the only process, or the
 * autogroup (sched(7)) of a session that we lead. What the nice values of our threads are then
 * decides between these alone. False where that isn't known.
 */
bool cpu_group_is_ours(void);
