/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which containers have processes that are sampled, for the journal: an event when the first
 * process of a container is, and one when none has been for a while (an exec, or one short program
 * after the other, is no end). The first one waits until the container's name is known, and for a
 * moment: a runtime's own processes are the first in a container. Where many come and go, most are
 * only counted, and the count is an event. Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/map.h"
#include "container/container.h"
#include "loop/loop.h"
#include "loop/rate.h"

/* Time with a process until a container's begin is told, and without one until its end is. */
#define CONTAINER_MOMENT_NS NS_PER_S
#define CONTAINER_GRACE_NS  (2 * NS_PER_S)

/* A container that has such processes, or had some until just now. */
struct sampled_container;

struct container_journal {
	struct loop *loop;
	struct loop_timer timer;
	struct rate rate;
	struct map *all;       /* place.id -> struct sampled_container *, owned */
	uint64_t begun, ended; /* without an event, and not yet in one that counts */
};

struct container_process {
	pid_t pid, ns_pid; /* ns_pid: in its own pid namespace; 0: not known */
	uint64_t start_ticks;
	const char *comm; /* proc/proc.h, PROC_COMM_BYTES */
};

/* Returns 0 or -ENOMEM. */
int container_journal_init(struct container_journal *journal, struct loop *loop);
void container_journal_done(struct container_journal *journal);

/*
 * Counts a process of a container that is sampled. `is_named`: the container's name is known, or
 * won't be soon. Returns what container_journal_leave() wants; NULL: no memory, it isn't counted.
 */
struct sampled_container *container_journal_enter(struct container_journal *journal,
						  const struct container *container, bool is_named,
						  const struct container_process *process);

/* Counts the process no longer. */
void container_journal_leave(struct container_journal *journal, struct sampled_container *from,
			     const struct container_process *process);

/* Tells how many had no event. */
void container_journal_rest(struct container_journal *journal);
