/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Life of what we have in Java VMs, be it an agent (agents.c) or a recording (jfr.c): both are
 * started and stopped by requests (attach_queue.h). A VM is in exactly one state:
 *
 *	STARTING  asked to start, or waiting for its turn
 *	RUNNING   started; the VM may be asked for more
 *	FAILED    asked for nothing
 *	CLEARING  failed; what it was asked before, or that it stops, is still to be answered
 *	STOPPING  told to stop
 *
 *	(met)     -> STARTING
 *	          -> FAILED    no descriptors left
 *	STARTING  -> RUNNING   done
 *	          -> FAILED    not done
 *	          -> STOPPING  let go (nothing of ours is in the VM: gone)
 *	RUNNING   -> STARTING  asked once more, or for something else
 *	          -> FAILED    refuses, is silent, or its files hang
 *	          -> CLEARING  its files hang while it is asked
 *	          -> STOPPING  let go
 *	FAILED    -> STARTING  met again after a while
 *	          -> CLEARING  ops->clears, and something of ours is in the VM
 *	          -> STOPPING  let go (nothing of ours is in the VM: gone)
 *	CLEARING  -> FAILED    answered
 *	          -> STOPPING  let go
 *	STOPPING  -> gone      answered
 *	          -> STARTING  answered, and met again meanwhile
 *
 * A VM is let go when no request is under way; until then it keeps its state and isn't `wanted`.
 *
 * Loop thread only.
 */
#pragma once

#include "java/agents/attach_queue.h"
#include "target/target_table.h"

enum attached_state {
	ATTACHED_STARTING,
	ATTACHED_RUNNING,
	ATTACHED_FAILED,
	ATTACHED_CLEARING,
	ATTACHED_STOPPING
};
#define ATTACHED_ANY ~0U

struct attached_vm {
	struct attached_vms *vms;
	struct attached_vm *next, **link; /* in vms->all */
	pid_t pid;
	uint64_t start_ticks; /* of the process, as struct target has it */
	uint64_t id;	      /* of the target, when seen last */
	enum attached_state state;
	/* false: it is let go when it has answered; STOPPING: whether it is started anew then */
	bool wanted;
	bool execed;	   /* the VM is gone: its process runs another program */
	uint64_t asked_ns; /* loop_now_ns() when it was last asked to start */
	struct attach_request question;
	struct attach_answer answer; /* to its last start; FAILED, CLEARING: why */
	int folder_fd, tmp_fd;	     /* from its last start; -1: nothing of ours is in the VM */
	bool held;		     /* its descriptors have their places (elf/fd_budget.h) */
};

/* What differs between agents and recordings. */
struct attached_ops {
	size_t bytes;		/* of the struct that begins with a struct attached_vm */
	unsigned fds;		/* descriptors of each */
	bool clears;		/* a VM that failed is told to stop at once */
	bool refusal_is_told;	/* a refusal's text says all */
	const char *failure;	/* for the log: what its VM can't, or doesn't */
	enum attach_task stop;	/* has it stop */
	uint32_t stop_limit_ms; /* for that */
	/* Returns what has it start. */
	struct attach_order (*order)(struct attached_vm *vm);
	/* Takes the answer to that: it is RUNNING or FAILED now. */
	void (*started)(struct attached_vm *vm);
	/* Drops what it told so far, as it is let go. */
	void (*forget)(struct attached_vm *vm);
	/* Returns its living target; NULL: it isn't wanted any more. */
	const struct target *(*current)(struct attached_vm *vm);
	/* Asks it again, if there is a reason. */
	void (*look_after)(struct attached_vm *vm);
};

struct attached_vms {
	const struct attached_ops *ops;
	struct worker *foreign;
	const struct target_table *table;
	struct attach_queue *starting; /* requests to start and to stop */
	uint64_t interval_ns;	       /* ns; one VM is asked to start at most this often */
	struct attached_vm *all;
	unsigned count;	  /* number of VMs */
	uint64_t unasked; /* stacks of VMs that weren't added, because too many are here */
};

/* Begins an empty table, in memory that is 0. Returns 0 or -ENOMEM. */
int attached_init(struct attached_vms *vms, const struct attached_ops *ops, struct loop *loop,
		  struct worker *foreign, const struct target_table *table);
/* Tells all to stop that weren't told yet, and removes them, after attached_stop(). */
void attached_done(struct attached_vms *vms);

/* Returns a process's VM in one of these states (bits 1U << ATTACHED_…), or NULL. */
struct attached_vm *attached_find(const struct attached_vms *vms, pid_t pid, uint64_t start_ticks,
				  unsigned states);
/* Returns whether a target's VM has something of ours, or may have; also while it is stopping. */
bool attached_has(const struct attached_vms *vms, const struct target *target);
/* Returns its present or past target; NULL: that is forgotten. */
struct target *attached_target(const struct attached_vm *vm);

/* Adds a target's VM and asks it to start; NULL: too many, counted. */
struct attached_vm *attached_add(struct attached_vms *vms, const struct target *target);
/* Takes a stack of it: it is wanted; asks it again if it failed, unless it was just before. */
void attached_meet(struct attached_vm *vm);
/* Asks it to start. No request is under way. */
void attached_start(struct attached_vm *vm);
/* Returns whether it was last asked long enough ago. */
bool attached_may_ask_again(const struct attached_vm *vm);

/* Takes the answer with which it fails. */
void attached_fail(struct attached_vm *vm, const struct attach_answer *answer);
/* Does what has waited for an answer, unless a request is under way. The VM may be gone then. */
void attached_settle(struct attached_vm *vm);
/* Writes why it failed. */
void attached_why(const struct attached_vm *vm, char *why, size_t bytes);

/* Lets all go, as nobody wants them. */
void attached_stop(struct attached_vms *vms);
/* Lets go those whose target isn't wanted(), and looks after the others. */
void attached_sweep(struct attached_vms *vms,
		    bool (*wanted)(void *arg, const struct target *target), void *arg);
