/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Targets: which processes are sampled now, for whom, and what each has mapped. Follows fork, exec,
 * rename and exit by the kernel's events, and decides on new programs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "proc/permission.h"
#include "select/snooper.h"
#include "target/target_table.h"
#include "kernel/tracer.h"

/* Subscribers are told apart by a bit. */
#define SUBSCRIBERS_MAX 16

/* What a process may be wanted for: stacks of each probe, and WANTED_SCHED; as bits. */
#define WANTED_COUNT  (PROBE_COUNT + 1)
#define WANTED_STACKS ((1u << PROBE_COUNT) - 1)

/* A process, told from another that gets its pid later. */
struct process_id {
	pid_t pid;
	uint64_t start_ticks;
};

/* Processes that one subscriber names, and what they fork from now on. */
struct chosen {
	const struct process_id *ids;
	size_t count;
	bool across_exec; /* what they fork is wanted for good; else until it execs */
	bool from_exec;	  /* they themselves are wanted as the program that they become next */
	bool of_user;	  /* each only while the user may look into it (proc/permission.h) */
	struct viewer user;
};

/* What is wanted now. */
struct selection {
	struct snoopers *snoopers;	/* borrowed by targets_select(), which takes a reference */
	uint32_t followers;		/* subscribers that want what the snoopers choose */
	uint32_t wanting[WANTED_COUNT]; /* subscribers, by the bit that they want */
	struct chosen chosen[SUBSCRIBERS_MAX]; /* ids borrowed until the next targets_select() */
};

struct containers;
struct targets;

/* -ENOMEM. `urgent` looks at processes. The targets are told of what containers are called. */
int targets_new(struct targets **ret, struct loop *loop, struct tracer *tracer,
		struct symbol_files *files, struct containers *containers, struct worker *urgent,
		size_t max);
void targets_free(struct targets *targets);

/* Without Python's frames: its processes are as any others. Before the first one is looked at. */
void targets_leave_python(struct targets *targets);

/* Without Java's, in the same way. */
void targets_leave_java(struct targets *targets);

/* Makes the selection true: looks at all processes of the host, tells the kernel whom to sample.
 * -ENOMEM, errno of reading /proc. */
int targets_select(struct targets *targets, const struct selection *selection);

/* The tracer's events. A stack with addresses that aren't known makes its process be looked at: at
 * once, or (unless `urgent`) when that wasn't done just before. */
void targets_on_life(struct targets *targets, const struct life_event *event);
void targets_on_group(struct targets *targets, const struct group_event *event);
void targets_on_moved(struct targets *targets, const struct life_event *event);
void targets_on_stack(struct targets *targets, const struct stack *stack, const uint64_t *words,
		      bool urgent);

/* The kernel's side has been loaded; or is about to be unloaded: what it was told of mappings is
 * void. */
void targets_kernel_there(struct targets *targets);
void targets_kernel_gone(struct targets *targets);

/* As target_table_keep_code(). */
void targets_keep_code(struct targets *targets, const struct process_code_ops *ops);

/* Who there is and was: for look-ups. */
const struct target_table *targets_table(const struct targets *targets);

/* The subscribers that want this target's stacks of a probe, or it for WANTED_SCHED. */
uint32_t targets_subscribers(const struct targets *targets, const struct target *target,
			     uint32_t bit);

/* Whether somebody wants its stacks of a probe, now or from its next exec on. */
bool targets_will_want(const struct targets *targets, const struct target *target, uint32_t probe);

/* Whether somebody wants it for one of TIMES_WANTED; of one that ended, too. */
bool targets_want_times(const struct targets *targets, const struct target *target);

/* Calls read(arg) whenever a target's mappings were read. */
void targets_on_maps(struct targets *targets, void (*read)(void *arg), void *arg);

/* Has a target's mappings read (again). */
void targets_look_at(struct targets *targets, const struct target *target);

/* After a window was read: forgets who ended before `ns`, finds those whose end was not told. */
void targets_sweep(struct targets *targets, uint64_t ns);

/* Calls each for the targets that live and match. */
void targets_each(const struct targets *targets, void (*each)(void *arg, const struct target *),
		  void *arg);

/* Whether more than one user has processes that live and match. */
bool targets_have_users(const struct targets *targets);

/* Whether some that were chosen aren't sampled yet, for their tables are on their way. */
bool targets_are_arming(const struct targets *targets);

struct targets_stats {
	uint64_t alive;		    /* and matching */
	uint64_t unread;	    /* of these: not yet looked at, or not all tables are there */
	uint64_t unreadable;	    /* looking at them took too long, since the start */
	uint64_t refused;	    /* found no room in the kernel's map, since the start */
	uint64_t mappings_left_out; /* that were too many, or their paths too long, since the start
				     */
	uint64_t searches_failed;   /* for processes of containers, since the start; done again */
	struct target_table_stats table;
	struct tables_stats tables;
};
void targets_stats(const struct targets *targets, struct targets_stats *stats);
