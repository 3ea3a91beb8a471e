/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of targets: who there is, and who there was in the windows that aren't read yet. It
 * decides nothing.
 *
 * An incarnation is a pid between two execs or renames; each is a struct target of its own, with an
 * id that the kernel's stacks carry. One that ended stays until its last window was read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/retry.h"
#include "target/address_space.h"
#include "target/spans.h"
#include "symbol/perfmap.h"
#include "bpf/shared/sample.h"

struct process_code;
struct container;
struct group;
struct held_fd;
struct interpreter;
struct jvm;
struct jvmfile;

/* Kinds of code that code/ keeps a target's names of. */
#define TARGET_CODE_KINDS 2

struct target {
	pid_t pid;
	uint64_t id;
	char comm[COMM_BYTES];
	uint64_t start_ticks;
	uint64_t program;  /* that it runs (proc_program()), when it was looked at; 0: unknown */
	uint64_t netns_id; /* inode of /proc/PID/ns/net when it was looked at; 0: unknown */
	struct container *container; /* a reference; NULL: it is in none, or that isn't known yet */
	struct group *group;	     /* its cgroups, a reference; NULL: not known */
	pid_t ns_pid;		     /* its pid in its own pid namespace; 0: not known */
	pid_t line_pid;		     /* struct identity */
	uint64_t line_start_ticks;
	bool alive; /* still runs, under this id */
	bool ended_by_exec;
	bool undecided; /* its command line or its container's names have to be looked at */
	bool rejected;	/* does not match after all: its stacks are dropped */
	bool examining;
	bool hangs;		 /* looking at it took too long: it isn't looked at again */
	uint64_t whose;		 /* its user, as a job's; it may change until it is looked at */
	bool root_known;	 /* it was looked at */
	uint32_t root_elsewhere; /* tells its root, where that is another than ours; 0: it isn't */
	uint32_t probes;	 /* wanted by the snoopers */
	uint32_t maybe;		 /* while undecided: those that this decides on */
	uint32_t unnamed;	 /* of these: that its container's names decide on */
	uint32_t probes_said;	 /* it is sampled for these, the log said */
	uint32_t subscribers;	 /* that chose this process, or one it descends from */
	uint32_t inherited;	 /* of these: because they chose its parent or predecessor */
	uint32_t waiting;	 /* of these: they want it from its next exec on */
	uint32_t probes_before;	 /* while undecided: what it was wanted for until now */
	/* What its command line was found to match, and the serial of the snoopers. */
	uint32_t judged_probes;
	uint64_t judged_by;
	uint64_t ended_ns;	 /* once it isn't alive */
	uint64_t retry_ns;	 /* its maps aren't read again before */
	uint64_t uncovered_ns;	 /* a stack of that time needs newer maps; 0: none does */
	uint32_t read_for_pages; /* its maps were read when stacks told this many exec_pages */
	struct address_space *space;
	struct spans *spans;		 /* of it, as the kernel has them; NULL: none yet */
	struct held_fd *memory;		 /* target/target_memory.h; NULL: it isn't held open */
	struct interpreter *interpreter; /* CPython; NULL: none, or not known yet */
	struct retry interpreter_retry;
	struct jvm *jvm; /* a Java VM; NULL: none, or not known yet */
	struct retry jvm_retry;
	struct jvmfile *jvmfile; /* of the agent in it; java/agents/agents.h's; NULL: none */
	pid_t forked_from;	 /* a target as well; 0: none, or it has execed */
	struct process_code
		*code_known[TARGET_CODE_KINDS]; /* code/code_cache.h's; NULL: nothing was asked */
	bool unpublished;			/* they found no room */
	bool arming;				/* not sampled before it has them with all tables */
	uint64_t arming_ns;			/* since then */
	uint64_t truncated[TRUNCATED_COUNT];	/* of its stacks, by their weight */
};

/* Who it is for symbol/perfmap.h. */
static inline struct perfmap_process target_perfmap(const struct target *target)
{
	return (struct perfmap_process){target->pid, target->start_ticks, target->id,
					target->whose};
}

struct target_table;

/* `max` bounds those that live; as many again may have ended. -ENOMEM */
int target_table_new(struct target_table **ret, size_t max);
void target_table_free(struct target_table *table);

/* How code/ shares and frees struct target.code_known. */
struct process_code_ops {
	void (*fork)(struct process_code *books[TARGET_CODE_KINDS],
		     struct process_code *const of[TARGET_CODE_KINDS]);
	void (*free)(struct process_code *const books[TARGET_CODE_KINDS]);
};

/* From now on targets may have code_known. `ops` is borrowed for good. */
void target_table_keep_code(struct target_table *table, const struct process_code_ops *ops);

/* Gives a forked process what is known of its parent's code. */
void target_table_fork_code(const struct target_table *table, struct target *fresh,
			    const struct target *before);

/* An incarnation, alive or ended; NULL: unknown. Valid until target_table_sweep(). */
struct target *target_table_find(const struct target_table *table, uint32_t pid, uint64_t id);

/* Who has the pid now. */
struct target *target_table_current(const struct target_table *table, pid_t pid);

/* Copies `like`, with its space (NULL: an empty one), as the one who has its pid from now on; who
 * had it before has ended. NULL: the table is full, or no memory; what it refers to is freed. */
struct target *target_table_add(struct target_table *table, struct target *like);

/* It has ended at that time, or is no longer of interest. */
void target_table_end(struct target_table *table, struct target *target, uint64_t ns);

/* Programs that did not match: only their ids are kept. */
void target_table_reject(struct target_table *table, pid_t pid, uint64_t id, uint64_t ns);
bool target_table_was_rejected(const struct target_table *table, uint32_t pid, uint64_t id);

/* Ended ones fill the table: a window should be read soon, after which they can go. */
bool target_table_is_crowded(const struct target_table *table);

/* Forgets who ended before `ns`, and what was unmapped before. */
void target_table_sweep(struct target_table *table, uint64_t ns);

/* Calls each for those that live. It may end the one it is called with. */
void target_table_each(const struct target_table *table, void (*each)(void *arg, struct target *),
		       void *arg);

/* The same for those that have ended, too. */
void target_table_each_ever(const struct target_table *table,
			    void (*each)(void *arg, struct target *), void *arg);

/* Calls ended(arg) for each that ends from now on, before it does. */
void target_table_on_end(struct target_table *table, void (*ended)(void *arg, struct target *),
			 void *arg);

struct target_table_stats {
	uint64_t ended;	  /* since the start */
	uint64_t refused; /* found no room, since the start */
};
void target_table_stats(const struct target_table *table, struct target_table_stats *stats);
