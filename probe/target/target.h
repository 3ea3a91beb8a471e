/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets: the processes that are sampled now, for which subscribers, and what each has mapped.
 * Follows fork, exec, rename and exit by the kernel's events, and decides on new programs. Loop
 * thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "proc/permission.h"
#include "select/snooper.h"
#include "target/target_table.h"
#include "kernel/tracer.h"

/* Subscribers have numbers below this; sets of them are bit masks. */
#define SUBSCRIBERS_MAX 16

/* What a process may be wanted for, as bits: stacks of each probe, and WANTED_SCHED. */
#define WANTED_COUNT  (PROBE_COUNT + 1)
#define WANTED_STACKS ((1u << PROBE_COUNT) - 1)

/* Identifies a process, also from a later one with its pid. */
struct process_id {
	pid_t pid;
	uint64_t start_ticks;
};

/* Processes that one subscriber names, and their later children. */
struct chosen {
	const struct process_id *ids;
	size_t count;
	bool across_exec; /* their children are wanted for good; false: until they exec */
	bool from_exec;	  /* they themselves are wanted from their next exec on */
	/* the stacks of these threads alone are wanted; 0: of all. Borrowed while it is chosen */
	const pid_t *tids;
	size_t tids_count;
	/* each is wanted only while the user may look into it (proc/permission.h) */
	bool of_user;
	struct viewer user;
};

/* What is wanted now, by all subscribers. */
struct selection {
	struct snoopers *snoopers;	/* borrowed; targets_select() takes a reference */
	uint32_t followers;		/* subscribers of the processes that the snoopers choose */
	uint32_t wanting[WANTED_COUNT]; /* subscribers of each WANTED_ bit */
	/* ids are borrowed until the next targets_select() */
	struct chosen chosen[SUBSCRIBERS_MAX];
};

struct containers;
struct targets;

/*
 * Creates it, without targets; the caller owns *ret. `urgent` inspects processes; `max` limits
 * living targets. Receives the events of `containers`. Returns 0 or -ENOMEM.
 */
int targets_new(struct targets **ret, struct loop *loop, struct tracer *tracer,
		struct symbol_files *files, struct containers *containers, struct worker *urgent,
		size_t max);
void targets_free(struct targets *targets);

/*
 * Treats CPython as any other program, without Python frames. Call it before the first process is
 * inspected.
 */
void targets_leave_python(struct targets *targets);

/* Treats Java VMs as any other program; likewise. */
void targets_leave_java(struct targets *targets);

/*
 * Applies a selection: looks at all processes of the host, and tells the kernel's side which to
 * sample. Returns 0, -ENOMEM or an errno of reading /proc.
 */
int targets_select(struct targets *targets, const struct selection *selection);

/*
 * Take the tracer's events. A stack with unknown addresses has its process inspected: at once if
 * `urgent`, else unless that was done just before.
 */
void targets_on_life(struct targets *targets, const struct life_event *event);
void targets_on_group(struct targets *targets, const struct group_event *event);
void targets_on_moved(struct targets *targets, const struct life_event *event);
void targets_on_stack(struct targets *targets, const struct stack *stack, const uint64_t *words,
		      bool urgent);

/* Takes mappings of a process that the daemon hasn't read: `bytes` is the record's size, at least
 * TOLD_MAPS_LEAST. */
void targets_on_told_maps(struct targets *targets, const struct told_maps *told, size_t bytes);

/* Returns whether a stack of the target was walked by rows that were made from code. */
bool target_is_from_code(const struct target *target, const struct stack *stack,
			 const uint64_t *words);

/*
 * Tell that the kernel's side was loaded; that it is about to be unloaded, so that all it knows of
 * mappings is void.
 */
void targets_kernel_there(struct targets *targets);
void targets_kernel_gone(struct targets *targets);

/* Like target_table_keep_code(). */
void targets_keep_code(struct targets *targets, const struct process_code_ops *ops);

/* Returns the table of present and past targets, for look-ups. */
const struct target_table *targets_table(const struct targets *targets);

/*
 * Returns the subscribers that want the target for this bit: its stacks of a probe, or
 * WANTED_SCHED.
 */
uint32_t targets_subscribers(const struct targets *targets, const struct target *target,
			     uint32_t bit);

/* Returns those of the subscribers that want stacks of this thread, too. */
uint32_t targets_of_thread(const struct targets *targets, uint32_t subscribers, pid_t tid);

/*
 * Returns whether some subscriber wants the target's stacks of a probe, now or from its next exec
 * on.
 */
bool targets_will_want(const struct targets *targets, const struct target *target, uint32_t probe);

/*
 * Returns whether some subscriber wants the target, which may have ended, for one of TIMES_WANTED.
 */
bool targets_want_times(const struct targets *targets, const struct target *target);

/* Sets a function: read(arg) is called whenever a target's mappings were read. */
void targets_on_maps(struct targets *targets, void (*read)(void *arg), void *arg);

/* Has a target's mappings read (again). */
void targets_look_at(struct targets *targets, const struct target *target);

/*
 * Call it when a window was read: forgets targets that ended before `ns`, and finds targets whose
 * end wasn't reported.
 */
void targets_sweep(struct targets *targets, uint64_t ns);

/* Calls each() for the targets that live and match. */
void targets_each(const struct targets *targets, void (*each)(void *arg, const struct target *),
		  void *arg);

/* Returns whether more than one user has such targets. */
bool targets_have_users(const struct targets *targets);

/* Returns whether some chosen processes aren't sampled yet, because their tables aren't there. */
bool targets_are_arming(const struct targets *targets);

/*
 * Guesses which runtimes (WALKS_ bits) the processes have that would be chosen for these probes.
 * Looks at all processes.
 */
uint32_t targets_foresee(const struct targets *targets, const struct snoopers *snoopers,
			 uint32_t probes);

/* Reads the jitdumps of all targets on, also of those that have ended: in jobs of the worker
 * `urgent`, for the names of a window's stacks. */
void targets_read_dumps(struct targets *targets);

/* More walkers of runtimes run: who waited for them is sampled. */
void targets_meet_walkers(struct targets *targets);

struct targets_stats {
	uint64_t alive;	     /* targets that live and match */
	uint64_t unread;     /* those not inspected yet, or without all tables */
	uint64_t unreadable; /* inspections that took too long, since the start */
	uint64_t refused;    /* targets without room in the kernel's map, since the start */
	/* mappings left out, since the start: too many, or their paths too long */
	uint64_t mappings_left_out;
	/* searches for containers' processes that failed, since the start; they are repeated */
	uint64_t searches_failed;
	struct target_table_stats table;
	struct tables_stats tables;
};
void targets_stats(const struct targets *targets, struct targets_stats *stats);

/* Rows of struct targets_stats (measure/measure.h). */
extern const struct measures target_measures, target_container_measures;
