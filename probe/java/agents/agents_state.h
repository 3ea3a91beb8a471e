/* SPDX-License-Identifier: GPL-2.0-only */
/* What java/agents/agents.c (whom, and what is known) and agent_requests.c (the asking) share.
 * Nobody else includes it. */
#pragma once

#include "java/agents/agents.h"
#include "java/agents/attach_queue.h"
#include "java/files/jvmfile.h"

enum agent_step {
	AGENT_ATTACHING, /* its turn comes, or it is asked */
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

	struct attach_request question;
	struct attach_answer answer; /* AGENT_FAILED: why */

	int folder_fd, tmp_fd;
	bool held; /* these, and those of `file`, have their places (elf/fd_budget.h) */
	uint64_t folder_device, folder_inode; /* `file`'s */
	struct jvmfile *file;
};

struct agents {
	struct worker *foreign;
	const struct target_table *table;
	bool on;
	uint64_t interval_ns;
	struct agent *all;
	unsigned count;	  /* of them */
	uint64_t unasked; /* struct agents_stats */
	struct attach_queue *asking;
};

/* ---- java/agents/agent_requests.c ---- */

#define AGENT_FDS 4 /* the folder, as the file has it, too; where it lies; the file */

/* Asks to load it. It becomes AGENT_ATTACHING; AGENT_FAILED where there are no descriptors left. */
void agent_start(struct agent *agent);

/* Forgets its file, and tells it to stop; it goes when that is done, at once where there is none.
 * Not while it is asked. */
void agent_stop(struct agent *agent);

/* The daemon ends while it is asked for something else: it is told to stop all the same. */
void agent_tell_stop(struct agent *agent);

/* ---- java/agents/agents.c ---- */

/* Its asking has ended. */
void agent_answered(struct agent *agent, const struct attach_answer *answer);
void agent_failed(struct agent *agent, const struct attach_answer *answer);
void agent_remove(struct agent *agent);
