/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Agents in Java VMs (jvm_agent/): decides which VMs are asked to load one (java_source: agent),
 * keeps what became of that, and tells agents to stop. A process of ours asks each VM
 * (java/attach/attach.h), some at a time; a VM that doesn't answer costs its own time limit.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/worker.h"
#include "target/target_table.h"

struct agents;

/*
 * Creates it, turned off; the caller owns *ret. `foreign` looks at processes and closes their
 * files. Returns 0 or -ENOMEM.
 */
int agents_new(struct agents **ret, struct loop *loop, struct worker *foreign,
	       const struct target_table *table);
/* Stops all agents and frees it, when the loop has ended. */
void agents_free(struct agents *agents);

/* Sets whether VMs are asked at all, and how often one VM at most. Turning it off stops all. */
void agents_set(struct agents *agents, bool on, uint64_t interval_ns);

/* Takes a stack with Java frames: its target is asked, unless it was just before. */
void agents_meet(struct agents *agents, struct target *target);

/* Stops all agents, as nobody is sampled any more. */
void agents_stop(struct agents *agents);

/*
 * Call it when a window was joined. Stops agents whose process has ended or isn't wanted(), which
 * is called for living ones; a VM whose agent has ended is asked again.
 */
void agents_sweep(struct agents *agents, bool (*wanted)(void *arg, const struct target *target),
		  void *arg);

struct agents_stats {
	unsigned attached, attaching, failed; /* VMs, now */
	uint64_t codes;			      /* pieces of code known from agents, now */
	uint64_t given;			      /* pieces of code read from agents' files */
	uint64_t lost;			      /* pieces of code that agents had no room for */
	/* stacks of VMs that aren't asked, because too many are; since the start */
	uint64_t unasked;
};
void agents_stats(const struct agents *agents, struct agents_stats *stats);

/* Rows of struct agents_stats (measure/measure.h). */
extern const struct measures agent_measures;

/* Returns whether a target's VM has something of ours, or may have; also while it is stopping. */
bool agents_has(const struct agents *agents, const struct target *target);

/* Writes the state of a target's agent: "none", "waiting", "attaching", "attached", "failed: …". */
void agents_state(const struct agents *agents, const struct target *target, char *to, size_t bytes);
