/* SPDX-License-Identifier: GPL-2.0-only */
/* What target/target.c (events, who matches), target_inspect.c (looking at a process),
 * target_scan.c (all processes of the host), target_maps.c (what they have mapped) and
 * target_unwind.c (their tables) share. Nobody else includes it. */
#pragma once

#include "base/map.h"
#include "base/rate.h"
#include "loop/shares.h"
#include "select/containers.h"
#include "target/inspect.h"
#include "runtime/interpreter.h"
#include "target/target.h"
#include "target/target_log.h"

#define COMMON_MAX 16
#define MOVED_MAX  1024

struct process_key {
	uint64_t pid;
	uint64_t start_ticks;
};

/* A process that may be wanted when its container's names are there. */
struct awaiting {
	pid_t pid;
	uint64_t start_ticks;
	struct group *group; /* a reference */
};

/* Where all processes are (target_cgroup_scan.c). */
struct where {
	bool running, again;	/* a census of all; another one after it */
	bool added;		/* somebody became a target since the last one was begun */
	unsigned rounds;	/* in a row that were begun for that */
	struct loop_timer late; /* for another one, after one that failed */
	unsigned doubled;	/* how often the time until then was */
	bool moving;		/* a census of those that were moved */
	pid_t moved[MOVED_MAX];
	size_t moved_count;
	struct loop_timer moved_timer;
	struct awaiting *awaiting;
	size_t awaiting_count;
	bool overflowed; /* it had no room for some */
};

struct targets {
	struct tracer *tracer;
	struct symbol_files *files;
	struct worker *urgent;
	struct selection selection;
	struct target_table *table;
	struct map *hung;    /* struct process_key -> nothing: looking at them took too long */
	struct shares *room; /* bytes of what each user's have mapped */
	struct rate eager;
	struct target_log log;
	struct containers *containers;
	bool by_group; /* containers or cgroups are selected */
	struct where where;
	bool scanning;		/* the selection has changed, and not all were looked at yet */
	unsigned armed;		/* processes that wait for their tables, in this scan */
	struct loop_timer late; /* those that waited too long are sampled as they are */
	bool repairing;		/* events were lost */
	uint64_t events_lost;	/* until the last repair */
	uint64_t checked_ns;	/* when it was looked for targets that are gone */
	struct targets_stats stats;
	struct tables *tables;
	struct table *common[COMMON_MAX]; /* kept, whoever is a target (target_preload.c) */
	size_t common_count;
	struct loop *loop;
	struct loop_timer retry;     /* for those whose maps may not be read again yet */
	struct loop_timer begun;     /* for Java VMs that had not begun yet */
	struct loop_call publishing; /* posted when tables have come or gone */
	bool publishing_posted;
	bool without_python;	      /* bpf.python is false */
	bool without_java;	      /* bpf.java is false */
	bool all_change;	      /* during targets_publish(): tables of any may be others */
	uint64_t changed_before;      /* such tables, until the last one */
	void (*maps_read)(void *arg); /* NULL: nobody is told */
	void *maps_arg;
};

/* All that is wanted of any process. */
uint32_t selection_wanted(const struct selection *selection);

/* Whether anybody wants its stacks: else it needs neither mappings nor tables. */
bool target_is_walked(const struct targets *targets, const struct target *target);

/* Fills in who wants a process that goes by this identity; false: nobody does. */
bool target_evaluate(const struct targets *targets, struct target *target);

/* What a process is sampled for that may be wanted for this: what can be dropped when it isn't
 * after all. Stacks can, and what the kernel counts of each process; sums of many processes can't.
 */
uint32_t target_wanted_early(uint32_t wanted);

/* What the kernel has to know of a target: nothing if nobody wants it. An entry that is newer than
 * the target stays: its event is on its way. */
void target_tell_kernel(struct targets *targets, struct target *target);

/* The same for what the kernel told of itself: if it isn't there any more, it has ended or found no
 * room. */
void target_correct_kernel(struct targets *targets, struct target *target);

void target_forget_in_kernel(struct targets *targets, pid_t pid, uint64_t id);

/* Tells the kernel what the target has mapped now, where that is known. */
void target_publish(struct targets *targets, struct target *target);

/* It is not sampled before it has its tables, but for no longer than that may take. */
void targets_begin_arming(struct targets *targets);

/* It won't have mappings or tables in time: it is sampled as it is. */
void target_give_up_arming(struct targets *targets, struct target *target);

/* The same for all that wait for tables. */
void targets_publish(struct targets *targets);

/* It is no longer wanted; what was sampled of it until now was. */
void target_deselect(struct targets *targets, struct target *target);

/* The file of mapping number `i`, `files` those of the mappings before it (NULL: of none); a
 * reference, or NULL. What is still mapped as `space` has it stays the same one; NULL: nothing was
 * known. */
struct symbol_file *target_file_of(struct targets *targets, struct inspection *e, size_t i,
				   struct symbol_root *root, struct symbol_file **files,
				   const struct address_space *space);

/* What it has mapped is as the examination says, as far as there is room. */
void target_take_maps(struct targets *targets, struct target *target, struct inspection *e);

/* Its space like that of `before`, unless there is no room or memory for it. */
void target_copy_space(struct targets *targets, struct target *fresh, const struct target *before);

/* Those that ended have made room. */
void targets_count_room(struct targets *targets);

void targets_keep_common(struct targets *targets);
void targets_drop_common(struct targets *targets);

/* Has its command line and its maps read. */
void target_look_at(struct targets *targets, struct target *target);

/* The same for one that is new, unless that can wait: most never have a stack that needs maps. */
void target_meet(struct targets *targets, struct target *target);

/* Asks about a CPython that was found in what it has mapped, unless that is known. */
void target_interpret(struct targets *targets, struct target *target,
		      const struct spans_python *python);

/* A stack came: asks again, where the process could not be read when it had just begun, or was
 * forked before its parent's was known. */
void target_ask_interpreter(struct targets *targets, struct target *target);

/* Whether it has an interpreter of which that may not be all, yet. */
bool target_awaits_python(const struct targets *targets, const struct target *target);

/* What the kernel's side has to know of it; NULL: nothing (yet). */
const struct cpython *target_walk(const struct target *target);

/* The same four for a Java VM. */
void target_meet_java(struct targets *targets, struct target *target,
		      const struct spans_hotspot *hotspot);
void target_ask_java(struct targets *targets, struct target *target);
bool target_awaits_java(const struct targets *targets, const struct target *target);
const struct hotspot *target_hotspot(const struct target *target);
/* The expiry of targets->begun. */
void targets_ask_begun(void *arg);

/* ---- target_container.c ---- */

/* It is in these cgroups, a reference to which is taken; of a target or of one that may become one.
 */
void target_set_group(struct target *target, struct group *group);

/* What they decide on. */
void target_match_group(const struct targets *targets, const struct target *target,
			struct match *match);

/* Tells the kernel's side. */
void target_judge_group(struct targets *targets, const struct cgroup_key *key,
			const struct target *target);

/* What decides on it has changed (target_scan.c). */
void target_reconsider(struct targets *targets, struct target *target);

/* Names came after all that decide: who is wanted is to be looked for anew. */
void targets_rejudge(struct targets *targets);

/* A container's names came: struct containers_events. */
void targets_on_named(void *arg, const struct container *before, struct container *now, bool late);
void targets_on_evicted(void *arg, const struct cgroup_key *key);

/* It was decided on: it is sampled, or what was sampled of it is nobody's. */
void target_settle(struct targets *targets, struct target *target);

/* ---- target_cgroup_scan.c ---- */

/* Looks for processes that are wanted for their cgroups. */
void targets_count_residents(struct targets *targets);

/* A container's names are known: those who waited for that are looked at. */
void targets_end_awaiting(struct targets *targets, const struct container *container);

/* Forgets all that it has noted; for the end. */
void targets_where_done(struct targets *targets);

/* The expiry of targets->where.late. */
void targets_count_late(void *arg);

/* The expiry of targets->where.moved_timer. */
void targets_look_at_moved(void *arg);

/* Looks at a process of which only its cgroups are known to be of interest (target_scan.c). Whether
 * it became a target by that: what it forked before is told by no event. */
bool targets_scan_resident(struct targets *targets, pid_t pid, uint64_t start_ticks,
			   struct group *group);

/* The expiry of targets->retry. */
void target_retry(void *arg);
