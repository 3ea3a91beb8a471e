/* SPDX-License-Identifier: GPL-2.0-only */
/* What profile/agents.c (whom, and what is known) and agents_ask.c (the asking) share. Nobody else
 * includes it. */
#pragma once

#include "proc/attach.h"
#include "profile/agents.h"
#include "symbol/jvmfile.h"

#define AGENTS_AT_ONCE 32

enum agent_step {
	AGENT_WAITING,	 /* others are asked; to stop, too */
	AGENT_ATTACHING, /* it is looked at, or asked */
	AGENT_ATTACHED,
	AGENT_FAILED,
};

/* The agent of one VM. */
struct agent {
	struct agents *agents;
	struct agent *next, **link;
	enum agent_step step;
	pid_t pid;
	uint64_t id; /* the target's */
	uint64_t start_ticks;
	uint64_t asked_ns;
	bool stopping; /* no target has it any more; it goes when its child has ended */
	bool unwanted; /* it is let go when it has answered */

	/* The process that asks. */
	struct attach_process process; /* of it: pids, user; no descriptors */
	struct attach attach;
	struct loop_watch watch;
	struct loop_timer limit;
	struct attach_answer answer; /* AGENT_FAILED: why */

	int folder_fd, tmp_fd;
	uint64_t folder_device, folder_inode; /* `file`'s */
	struct jvmfile *file;
};

struct agents {
	struct loop *loop;
	struct worker *foreign;
	const struct target_table *table;
	bool on;
	uint64_t interval_ns;
	struct agent *all;
	unsigned asking;
	/* Children that have answered or were killed, and haven't ended yet. */
	pid_t unburied[AGENTS_AT_ONCE];
	struct loop_timer burial;
};

/* ---- profile/agents_ask.c ---- */

/* Begins to ask: to load (a job looks at the process first). It becomes AGENT_ATTACHING, or
 * AGENT_FAILED. */
void agent_start(struct agent *agent);

/* Forgets its file; it is told to stop when its turn comes, or is removed. */
void agent_stop(struct agent *agent);
/* Tells it; the agent goes when that is done. */
void agent_tell(struct agent *agent);

/* Buries children that have ended (`arg`: the agents); again later, where some haven't. */
void agents_bury(void *arg);

/* ---- profile/agents.c ---- */

/* Its asking has ended: others' turn. */
void agent_answered(struct agent *agent, const struct attach_answer *answer);
void agent_remove(struct agent *agent);
