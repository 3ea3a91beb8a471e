/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel gives CPUs to us as a group. Any thread, at the start. */
#pragma once

#include <stdbool.h>

/*
 * Returns whether this process leads a group of processes which as a whole gets its share of the
 * CPUs: its session (autogroups, sched(7)), or a control group of cgroup v2 with a weight. What the
 * nice values of our threads are then decides between these alone, and takes nothing from them in
 * favour of other programs. Who was started by a shell doesn't lead: that group is the shell's.
 */
bool cpu_group_is_ours(void);
