/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Targets: which processes are sampled now, for whom, and what each has mapped. Follows fork, exec,
 * rename and exit by the kernel's events, and decides on new programs.
 *
 * An incarnation is a pid between two execs or renames; each is a struct target of its own, with an
 * id that the kernel's stacks carry. One that ended stays until its last window was read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/worker.h"
#include "profile/snooper.h"
#include "profile/space.h"
#include "profile/tracer.h"

/* Subscribers are told apart by a bit. */
#define SUBSCRIBERS_MAX 16

struct target {
	pid_t pid;
	uint64_t id;
	char comm[COMM_BYTES];
	uint64_t start_ticks;
	pid_t line_pid; /* struct identity */
	uint64_t line_start_ticks;
	bool alive; /* still runs, under this id */
	bool ended_by_exec;
	bool undecided; /* its command line has to be looked at */
	bool rejected;	/* does not match after all: its stacks are dropped */
	bool examining;
	bool hangs;		/* looking at it took too long: it isn't looked at again */
	uint32_t probes;	/* wanted by the snoopers */
	uint32_t subscribers;	/* that want just this process */
	uint32_t probes_before; /* while undecided: what it was wanted for until now */
	/* What its command line was found to match, and the serial of the snoopers. */
	uint32_t judged_probes;
	uint64_t judged_by;
	uint64_t ended_ns;	 /* once it isn't alive */
	uint64_t retry_ns;	 /* its maps aren't read again before */
	uint32_t read_for_pages; /* its maps were read when stacks told this many exec_pages */
	struct space *space;
};

/* What is wanted now. */
struct selection {
	struct snoopers *snoopers; /* borrowed by targets_select(), which takes a reference */
	uint32_t followers;	   /* subscribers that want what the snoopers choose */
	struct {
		pid_t pid; /* 0: none */
		uint64_t start_ticks;
	} single[SUBSCRIBERS_MAX]; /* subscribers that want one process */
};

struct targets;

/* -ENOMEM. `urgent` looks at processes. */
int targets_new(struct targets **ret, struct tracer *tracer, struct symbol_files *files,
		struct worker *urgent, size_t max);
void targets_free(struct targets *targets);

/* Makes the selection true: looks at all processes of the host, tells the kernel whom to sample.
 * -ENOMEM, errno of reading /proc. */
int targets_select(struct targets *targets, const struct selection *selection);

/* The tracer's events. A stack with addresses that aren't known makes its process be looked at: at
 * once, or (unless `urgent`) when that wasn't done just before. */
void targets_on_life(struct targets *targets, const struct life_event *event);
void targets_on_stack(struct targets *targets, const struct stack *stack, const uint64_t *words,
		      bool urgent);

/* NULL: unknown. Valid until targets_sweep() or targets_select(). */
struct target *targets_find(const struct targets *targets, uint32_t tgid, uint64_t id);

/* Whether an unknown id is one that was found not to match. */
bool targets_was_rejected(const struct targets *targets, uint32_t tgid, uint64_t id);

/* Ended ones fill the tables: a window should be read soon, after which they go. */
bool targets_crowded(const struct targets *targets);

/* The subscribers that want this target's stacks of a probe. */
uint32_t targets_subscribers(const struct targets *targets, const struct target *target,
			     uint32_t probe);

/* After a window was read: forgets who ended before `ns`, finds those whose end was not told. */
void targets_sweep(struct targets *targets, uint64_t ns);

/* Calls each for the targets that live and match. */
void targets_each(const struct targets *targets, void (*each)(void *arg, const struct target *),
		  void *arg);

struct targets_stats {
	uint64_t alive;	     /* and matching */
	uint64_t unread;     /* of these: not yet looked at */
	uint64_t ended;	     /* since the start */
	uint64_t unreadable; /* looking at them took too long, since the start */
	uint64_t refused;    /* found no room in a table, since the start */
};
void targets_stats(const struct targets *targets, struct targets_stats *stats);
