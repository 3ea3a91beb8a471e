/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to target/target.c (events), target_decide.c (which processes match), target_kernel.c
 * (the kernel's side), target_inspect.c (results of inspections), target_scan.c (all processes of
 * the host), target_cgroup_scan.c (processes by cgroup), target_container.c (containers),
 * target_maps.c (mappings), target_told.c (mappings that the kernel's side tells of),
 * target_unwind.c (tables), target_preload.c (tables kept in advance), target_runtime.c (CPython
 * and Java VMs).
 */
#pragma once

#include "loop/hung_set.h"
#include "loop/rate.h"
#include "loop/shares.h"
#include "select/containers.h"
#include "target/inspect.h"
#include "runtime/interpreter.h"
#include "target/target.h"
#include "target/target_log.h"

#define COMMON_MAX 16
#define MOVED_MAX  1024

/* A process that may be wanted once its container's names are known. */
struct awaiting {
	pid_t pid;
	uint64_t start_ticks;
	struct known_cgroup *group; /* owns a reference */
};

/* Scans of processes' cgroups (target_cgroup_scan.c). */
struct where {
	bool running, again;	/* a scan of all processes; one more after it */
	bool added;		/* some process became a target since the last scan was begun */
	unsigned rounds;	/* scans in a row that were begun because of `added` */
	struct loop_timer late; /* for the next scan, after one that failed */
	unsigned failures;	/* scans in a row that failed */
	bool moving;		/* a scan of the processes in moved[] */
	pid_t moved[MOVED_MAX];
	size_t moved_count;
	struct loop_timer moved_timer;
	struct awaiting *awaiting;
	size_t awaiting_count;
	bool overflowed; /* there was no room for some processes */
};

struct targets {
	struct tracer *tracer;
	struct symbol_files *files;
	struct worker *urgent;
	struct selection selection;
	struct target_table *table;
	struct hung_set hung; /* pid, start_ticks: processes whose inspection took too long */
	struct shares *room;  /* bytes of mappings, by user */
	struct rate eager;
	struct target_log log;
	struct containers *containers;
	bool by_group; /* the snoopers select containers or cgroups */
	struct where where;
	/* the selection changed, and not all processes were looked at yet */
	bool scanning;
	unsigned armed;		/* processes that wait for tables, in this scan */
	struct loop_timer late; /* for processes that waited too long: sampled without tables */
	bool repairing;		/* a repair after lost events is under way */
	uint64_t events_lost;	/* lost events, until the last repair */
	uint64_t checked_ns;	/* last search for targets whose end wasn't reported */
	struct targets_stats stats;
	struct tables *tables;
	struct table *common[COMMON_MAX]; /* kept in any case (target_preload.c) */
	size_t common_count;
	struct loop *loop;
	struct loop_timer retry;     /* for targets whose maps may not be read again yet */
	struct loop_timer begun;     /* for runtimes that hadn't begun yet, and for made code */
	struct loop_timer making;    /* for rows that are made from code */
	struct loop_call publishing; /* posted when tables have come or gone */
	bool publishing_posted;
	bool left_out[RUNTIMES]; /* bpf.python, bpf.java are false */
	/* during targets_publish(): any target's tables may have changed */
	bool all_change;
	uint64_t changed_before;      /* number of such changes, at the last targets_publish() */
	void (*maps_read)(void *arg); /* NULL: nobody is told */
	void *maps_arg;
};

/* ---- target_decide.c: who wants a process ---- */

/* Returns all bits wanted of any process. */
uint32_t selection_wanted(const struct selection *selection);

/* Returns whether some subscriber wants its stacks; else it needs neither mappings nor tables. */
bool target_is_walked(const struct targets *targets, const struct target *target);

/* Fills in which subscribers want a process of this identity; false: none. */
bool target_evaluate(const struct targets *targets, struct target *target);

/* Decides on an undecided target by its inspection; without an answer if it isn't `finished`. */
void target_decide(struct targets *targets, struct target *target, const struct inspection *e,
		   bool finished);

/*
 * Applies the final decision on a target: keeps it (updates the kernel's side), or rejects it and
 * drops its samples.
 */
void target_settle(struct targets *targets, struct target *target);

/* Ends a target that is no longer wanted; what was sampled until now was. */
void target_deselect(struct targets *targets, struct target *target);

/*
 * Returns what a process is sampled for while it may be wanted for `wanted`: only what can be
 * dropped if it isn't after all. Stacks can be, and the kernel's counts by process; sums of many
 * processes can't.
 */
uint32_t target_wanted_early(uint32_t wanted);

/* Tells a verdict on the name alone, which spares later programs of that name their event. */
void target_judge(struct targets *targets, const struct life_event *event,
		  const struct target *fresh);

/* ---- target_kernel.c: the kernel's side ---- */

/*
 * Tells the kernel's side about a target; removes the entry if nobody wants it. An entry newer than
 * the target stays: its event is on its way.
 */
void target_tell_kernel(struct targets *targets, struct target *target);

/*
 * Like target_tell_kernel(), but only changes an existing entry, which the kernel's side made: a
 * missing one means that the process exited or the map was full.
 */
void target_correct_kernel(struct targets *targets, struct target *target);

/* Removes the target's entry in the kernel's map, unless it is another incarnation's. */
void target_forget_in_kernel(struct targets *targets, pid_t pid, uint64_t id);

/* ---- target_unwind.c, target_maps.c, target_preload.c: mappings and tables ---- */

/* Tells the kernel's side what the target has mapped now, if that is known. */
void target_publish(struct targets *targets, struct target *target);

/* Starts the time limit for new targets to have their tables; they aren't sampled before. */
void targets_begin_arming(struct targets *targets);

/* Samples a target as it is: it won't have its mappings or tables in time. */
void target_give_up_arming(struct targets *targets, struct target *target);

/* Like target_publish(), for all targets that wait for tables, or whose tables have changed. */
void targets_publish(struct targets *targets);

/*
 * Returns the file of mapping number `i`, a reference or NULL. `files` are those of the mappings
 * before it (NULL: none). A file that `space` has at that mapping is reused; NULL: nothing was
 * known.
 */
struct symbol_file *target_file_of(struct targets *targets, struct inspection *e, size_t i,
				   struct symbol_root *root, struct symbol_file **files,
				   const struct address_space *space);

/* Takes the target's mappings from an inspection, as far as its user has room. */
void target_take_maps(struct targets *targets, struct target *target, struct inspection *e);

/* Copies the space of `before`, unless there is no room or memory for that. */
void target_copy_space(struct targets *targets, struct target *fresh, const struct target *before);

/* Counts anew what each user's mappings take: targets that ended have made room. */
void targets_count_room(struct targets *targets);

/* Keep, and drop, the tables that nearly every program wants. */
void targets_keep_common(struct targets *targets);
void targets_drop_common(struct targets *targets);

/* ---- target_inspect.c ---- */

/* Submits an inspection: its command line and its maps. */
void target_look_at(struct targets *targets, struct target *target);

/*
 * Like target_look_at() for a new target, unless that can wait: most never have a stack that needs
 * maps.
 */
void target_meet(struct targets *targets, struct target *target);

/* ---- target_runtime.c ---- */

/* Asks about the runtimes that were found among its mappings, unless all is known. */
void target_meet_runtimes(struct targets *targets, struct target *target,
			  const struct runtime_place found[RUNTIMES]);

/*
 * Asks again when a stack comes: the process couldn't be read when it had just begun, or was forked
 * before its parent's runtime was known.
 */
void target_ask_runtimes(struct targets *targets, struct target *target);

/* Looks again, now or soon, at the code that the process makes, for a stack of that time; the same
 * if that stack has such code. */
void target_look_at_made(struct targets *targets, struct target *target, uint64_t ns);
void target_meet_made(struct targets *targets, struct target *target, const struct stack *stack,
		      const uint64_t *words);

/* Returns whether more may yet be learned of its runtimes; whether a job asks one now. */
bool target_awaits_runtimes(const struct targets *targets, const struct target *target);
bool target_is_asked(const struct target *target);

/* Expiry function of targets->begun. */
void targets_ask_late(void *arg);

/* Returns whether a stack has code that was made at run time. */
bool target_has_made(const struct target *target, const struct stack *stack, const uint64_t *words);

/* ---- target_dump.c ---- */

/* Looks for the target's jitdump among its mappings. */
void target_find_dump(struct targets *targets, struct target *target, const struct maps *maps);

/* Reads the target's jitdump on, now or soon, if the stack needs its rows; likewise for a stack
 * that waited. */
void target_meet_dump(struct targets *targets, struct target *target, const struct stack *stack,
		      const uint64_t *words);
void target_read_dump_late(struct targets *targets, struct target *target);

/* ---- target_container.c ---- */

/* Sets the cgroups of a target, or of a process that may become one; takes a new reference. */
void target_set_group(struct target *target, struct known_cgroup *group);

/* Fills in what the cgroups decide for the target. */
void target_match_group(const struct targets *targets, const struct target *target,
			struct match *match);

/* Tells the kernel's side the verdict on these cgroups. */
void target_judge_group(struct targets *targets, const struct cgroup_key *key,
			const struct target *target);

/* Decides anew on a target: what decides on it has changed. (target_scan.c) */
void target_reconsider(struct targets *targets, struct target *target);

/* Decides anew on all cgroups: names came after the verdicts. */
void targets_rejudge(struct targets *targets);

/* Take the events of struct containers_events. */
void targets_on_named(void *arg, const struct container *before, struct container *now, bool late);
void targets_on_evicted(void *arg, const struct cgroup_key *key);

/* ---- target_cgroup_scan.c ---- */

/* Starts a scan for processes that are wanted for their cgroups. */
void targets_count_residents(struct targets *targets);

/* Looks at the processes that waited for this container's names. */
void targets_end_awaiting(struct targets *targets, const struct container *container);

/* Forgets all that the scans have noted, at the end. */
void targets_where_done(struct targets *targets);

/* Expiry function of targets->where.late. */
void targets_count_late(void *arg);

/* Expiry function of targets->where.moved_timer. */
void targets_look_at_moved(void *arg);

/*
 * Looks at a process of which only the cgroups are known to be of interest (target_scan.c). Returns
 * whether it became a target: then no event reports the children it forked before.
 */
bool targets_scan_resident(struct targets *targets, pid_t pid, uint64_t start_ticks,
			   struct known_cgroup *group);

/* Expiry function of targets->retry. */
void target_retry(void *arg);
/* … of targets->making. */
void target_make_rows(void *arg);
