/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to java/agents/agents.c (which VMs, and what is known) and agent_requests.c (the
 * requests).
 */
#pragma once

#include "java/agents/agents.h"
#include "java/agents/attach_queue.h"
#include "java/files/jvmfile.h"

enum agent_step {
	AGENT_ATTACHING, /* waiting for its turn, or asked */
	AGENT_ATTACHED,
	AGENT_FAILED,
};

/* The agent of one VM. */
struct agent {
	struct agents *agents;
	struct agent *next, **link;
	enum agent_step step;
	pid_t pid;
	uint64_t id; /* of the target */
	uint64_t start_ticks;
	uint64_t asked_ns;
	bool stopping; /* no target has it any more; removed when its request has ended */
	bool unwanted; /* to be stopped when the VM has answered */

	struct attach_request question;
	struct attach_answer answer; /* AGENT_FAILED: the reason */

	int folder_fd, tmp_fd;
	bool held; /* these and those of `file` have their places (elf/fd_budget.h) */
	uint64_t folder_device, folder_inode; /* of `file` */
	struct jvmfile *file;
};

struct agents {
	struct worker *foreign;
	const struct target_table *table;
	bool on;
	uint64_t interval_ns;
	struct agent *all;
	unsigned count;	  /* number of agents */
	uint64_t unasked; /* as in struct agents_stats */
	struct attach_queue *asking;
};

/* ---- java/agents/agent_requests.c ---- */

#define AGENT_FDS 4 /* the folder, also of the file; the folder's parent; the file */

/*
 * Asks the VM to load the agent. Sets AGENT_ATTACHING, or AGENT_FAILED if there are no descriptors
 * left.
 */
void agent_start(struct agent *agent);

/*
 * Drops the agent's file and tells the agent to stop. It is removed when that is done, at once if
 * there is nothing to stop. Not while a request is under way.
 */
void agent_stop(struct agent *agent);

/* Tells the agent to stop when the daemon ends while the VM is asked for something else. */
void agent_tell_stop(struct agent *agent);

/* ---- java/agents/agents.c ---- */

/* Take the answer of a request; the failure of a request. */
void agent_answered(struct agent *agent, const struct attach_answer *answer);
void agent_failed(struct agent *agent, const struct attach_answer *answer);

/* Removes and frees an agent. */
void agent_remove(struct agent *agent);
