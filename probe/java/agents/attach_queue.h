/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking Java VMs (java/attach/attach.h): by a process of ours for each, so many at once, the
 * others wait for their turn. One that doesn't answer costs its own time limit.
 *
 * On the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "java/attach/attach.h"

#define ASKING_AT_ONCE_MAX 32
#define ASKING_VMS_MAX	   1024 /* that their owner has: each takes memory and descriptors */

struct attach_queue;

enum attach_step {
	QUESTION_NONE,	  /* nothing is asked */
	QUESTION_WAITING, /* for its turn */
	QUESTION_ASKED,	  /* the process is looked at, or the VM is asked */
};

/* What one VM is asked. Its owner's, who keeps it while it waits or is asked. */
struct attach_request {
	/* Set before it is asked. The order's descriptors stay the owner's, as long;
	 * a look has copies. */
	pid_t pid;
	uint64_t start_ticks;
	uint64_t whose; /* the process is, as a job's */
	struct attach_order order;
	/* The process is looked at first, in a job; else `process` is who is asked (its pids and
	 * user, no descriptors), and so it is afterwards. */
	bool look;
	struct attach_process process;
	/* It may be asked anew, or be gone when this returns. */
	void (*answered)(struct attach_request *question, const struct attach_answer *answer);

	/* asking's own */
	enum attach_step step;
	struct attach_queue *asking;
	struct attach_request *next;
	struct attach attach;
	struct loop_watch watch;
	struct loop_timer limit;
};

/* `foreign` looks at processes. -ENOMEM */
int attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign);

/* Fewer at once than ASKING_AT_ONCE_MAX. */
void attach_queue_limit(struct attach_queue *asking, unsigned at_once);

/* When the loop has ended. What waits and needs no look (so that VMs stop) is asked all at once;
 * no answer is taken any more. */
void attach_queue_free(struct attach_queue *asking);

/* After attach_queue_free(): asks what needs no look, and takes no answer. */
void attach_queue_tell(const struct attach_request *question);

/* Soon: nothing is called inside. */
void attach_queue_ask(struct attach_queue *asking, struct attach_request *question);

/* Takes it back; false: it is asked already, and will be answered. */
bool attach_queue_drop(struct attach_request *question);
