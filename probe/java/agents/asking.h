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

struct asking;

enum question_step {
	QUESTION_NONE,	  /* nothing is asked */
	QUESTION_WAITING, /* for its turn */
	QUESTION_ASKED,	  /* the process is looked at, or the VM is asked */
};

/* What one VM is asked. Its owner's, who keeps it while it waits or is asked. */
struct question {
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
	void (*answered)(struct question *question, const struct attach_answer *answer);

	/* asking's own */
	enum question_step step;
	struct asking *asking;
	struct question *next;
	struct attach attach;
	struct loop_watch watch;
	struct loop_timer limit;
};

/* `foreign` looks at processes. -ENOMEM */
int asking_new(struct asking **ret, struct loop *loop, struct worker *foreign);

/* Fewer at once than ASKING_AT_ONCE_MAX. */
void asking_limit(struct asking *asking, unsigned at_once);

/* When the loop has ended. What waits and needs no look (so that VMs stop) is asked all at once;
 * no answer is taken any more. */
void asking_free(struct asking *asking);

/* After asking_free(): asks what needs no look, and takes no answer. */
void asking_tell(const struct question *question);

/* Soon: nothing is called inside. */
void asking_ask(struct asking *asking, struct question *question);

/* Takes it back; false: it is asked already, and will be answered. */
bool asking_drop(struct question *question);
