// SPDX-License-Identifier: GPL-2.0-or-later
#include "loop/turn.h"

#include <linux/sched.h> /* not <sched.h>: before glibc 2.41 both have a struct of one name */
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

#define SHORTEST_SLICE_NS (NS_PER_MS / 10) /* the kernel's own bound */
#define KERNELS_SLICE	  0

static void set_turn(int nice, unsigned long long slice_ns)
{
	setpriority(PRIO_PROCESS, 0, nice);
	struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = SCHED_NORMAL,
		.sched_nice = getpriority(PRIO_PROCESS, 0), /* what was allowed */
		.sched_runtime = slice_ns,
	};

	syscall(SYS_sched_setattr, 0, &attr,
		0); /* glibc has a function of that name from 2.41 on */
}

void turn_set_nice(int nice)
{
	set_turn(nice, KERNELS_SLICE);
}

void turn_be_prompt(int nice)
{
	set_turn(nice, SHORTEST_SLICE_NS);
}
