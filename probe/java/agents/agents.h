/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agents in Java VMs (jvm_agent/): whom to ask for one (java_source: agent), what became of it, and
 * telling it to stop. Asking is a process of ours for each (java/attach/attach.h), some at a time;
 * a VM that doesn't answer costs its own time limit.
 *
 * On the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/worker.h"
#include "target/target_table.h"

struct agents;

/* `foreign` looks at processes and closes their files. -ENOMEM */
int agents_new(struct agents **ret, struct loop *loop, struct worker *foreign,
	       const struct target_table *table);
/* Stops those that are there; in time, when the loop has ended. */
void agents_free(struct agents *agents);

/* Whether VMs are asked at all, and how often one of them at most. Turned off, all stop. */
void agents_set(struct agents *agents, bool on, uint64_t interval_ns);

/* A stack of a target that has Java's frames: it is asked, if it wasn't just before. */
void agents_meet(struct agents *agents, struct target *target);

/* All stop: nobody is sampled any more. */
void agents_stop(struct agents *agents);

/* After a window was joined: those whose process has ended, or isn't wanted, stop; one whose agent
 * has ended is asked again. `wanted` tells of one that lives. */
void agents_sweep(struct agents *agents, bool (*wanted)(void *arg, const struct target *target),
		  void *arg);

struct agents_stats {
	unsigned attached, attaching, failed; /* VMs */
	uint64_t codes;			      /* that their agents told of, known now */
	uint64_t given;	  /* pieces of code that were read out of what these wrote */
	uint64_t lost;	  /* codes that the agents had no room for */
	uint64_t unasked; /* stacks of VMs that aren't asked, for so many are; since the start */
};
void agents_stats(const struct agents *agents, struct agents_stats *stats);

/* Whether something of ours is in a target's VM, or may be; one that stops is until it has. */
bool agents_has(const struct agents *agents, const struct target *target);

/* What is with a target's: "none", "waiting", "attaching", "attached", "failed: …". */
void agents_state(const struct agents *agents, const struct target *target, char *to, size_t bytes);
