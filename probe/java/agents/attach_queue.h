/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queue of requests to Java VMs (java/attach/attach.h). A process of ours asks each VM, so many at
 * once; other requests wait for their turn. A VM that doesn't answer costs its own time limit.
 *
 * Loop thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "java/attach/attach.h"

#define ASKING_AT_ONCE_MAX 32
#define ASKING_VMS_MAX	   1024 /* of one owner: each takes memory and descriptors */

struct attach_queue;

enum attach_step {
	QUESTION_NONE,	  /* no request */
	QUESTION_WAITING, /* waiting for its turn */
	QUESTION_ASKED,	  /* the process is looked at, or the VM is asked */
};

/* A request to one VM. Its owner keeps it while it waits or is asked. */
struct attach_request {
	/*
	 * Set by the owner before attach_queue_ask(). The descriptors in `order` stay the owner's,
	 * and open as long; a job has copies.
	 */
	pid_t pid;
	uint64_t start_ticks;
	uint64_t whose; /* user of the process, as job.whose */
	struct attach_order order;
	/*
	 * true: a job looks at the process first, and fills in `process`. False: `process` is set
	 * (pids and user, no descriptors).
	 */
	bool look;
	struct attach_process process;
	/* Called with the answer. The request may be submitted again, or freed, within. */
	void (*answered)(struct attach_request *question, const struct attach_answer *answer);

	/* private to the queue */
	enum attach_step step;
	struct attach_queue *queue;
	struct attach_request *next;
	struct attach attach;
	struct loop_watch watch;
	struct loop_timer limit;
};

/* Creates a queue; the caller owns *ret. `foreign` looks at processes. Returns 0 or -ENOMEM. */
int attach_queue_new(struct attach_queue **ret, struct loop *loop, struct worker *foreign);

/* Sets how many are asked at once; ASKING_AT_ONCE_MAX before. */
void attach_queue_limit(struct attach_queue *queue, unsigned at_once);

/*
 * Frees the queue, when the loop has ended. Waiting requests that need no look (so that VMs stop)
 * are sent all at once; answers are ignored.
 */
void attach_queue_free(struct attach_queue *queue);

/*
 * Sends a request that needs no look and ignores the answer; may be used after attach_queue_free().
 */
void attach_queue_tell(const struct attach_request *question);

/* Submits a request; nothing is called inside. */
void attach_queue_ask(struct attach_queue *queue, struct attach_request *question);

/* Takes a request back. False: the VM is asked already, and answered() will be called. */
bool attach_queue_drop(struct attach_request *question);
