/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Table of targets: the present ones, and those of windows that aren't read yet. It decides
 * nothing. Loop thread only.
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
#include "runtime/runtime.h"
#include "mappings/address_space.h"
#include "target/ended_cuts.h"
#include "target/lifecycle.h"
#include "mappings/spans.h"
#include "symbol/perfmap.h"
#include "bpf/shared/sample.h"

struct process_code;
struct container;
struct known_cgroup;
struct sampled_container;
struct held_fd;
struct interpreter;
struct jvm;
struct jvmfile;
struct made_dump;

/* Kinds of code that code/ caches by target. */
#define TARGET_CODE_KINDS 2

/* What the snoopers want of a process, as sets of 1 << enum probe and WANTED_SCHED. */
struct target_match {
	uint32_t probes;  /* matched */
	uint32_t pending; /* wait for its command line or its container's names */
	uint32_t unnamed; /* subset of pending: wait for the container's names */
	/* while it is undecided: what an earlier selection wanted of it */
	uint32_t before;
	/* matched by its command line, with the snoopers of that serial */
	uint32_t judged_probes;
	uint64_t judged_by;
	/* of its parent when it was forked: the same command line, if its own can't be read */
	uint32_t parents_probes;
	uint64_t parents_by;
	uint32_t unread; /* perhaps wanted: its command line could not be read */
};

/* Which subscribers chose a process, as sets of their numbers. */
struct target_choice {
	uint32_t subscribers; /* chose it or an ancestor */
	uint32_t inherited;   /* subset: chose its parent or predecessor */
	uint32_t waiting;     /* subset: want it from its next exec on */
};

/* A runtime of a process: CPython, or a Java VM. */
struct target_runtime {
	struct runtime *known; /* a reference; NULL: none, or not known yet */
	struct retry retry;    /* of asking the process */
};

struct target {
	pid_t pid;
	uint64_t id;
	char comm[COMM_BYTES];
	uint64_t start_ticks;
	enum target_state state;
	bool ended_by_exec;
	struct target_match match;
	struct target_choice choice;
	uint32_t probes_said;		      /* probes that the log has reported */
	struct sampled_container *sampled_in; /* which the journal counts it in; NULL: none */

	/* of the program it runs (proc_program()), when inspected; 0: unknown */
	uint64_t program;
	uint64_t netns_id; /* inode of /proc/PID/ns/net when it was looked at; 0: unknown */
	struct container *container; /* a reference; NULL: none, or not known yet */
	struct known_cgroup *group;  /* its cgroups, a reference; NULL: not known */
	pid_t ns_pid;		     /* its pid in its own pid namespace; 0: not known */
	pid_t line_pid;		     /* struct identity */
	uint64_t line_start_ticks;
	uint64_t whose;		 /* its user, as job.whose; may change with the inspection */
	bool root_known;	 /* root_elsewhere is known */
	uint32_t root_elsewhere; /* identifies its root if that isn't ours; 0: it is ours */
	pid_t forked_from;	 /* parent, a target too; 0: none, or it has execed */
	uint64_t ended_ns;	 /* once it has ended, CLOCK_MONOTONIC */
	uint64_t awaited_ns;	 /* end of the last window in which events of it went on */

	enum target_inspection inspection;
	uint64_t retry_ns;	 /* its maps aren't read again before */
	uint64_t uncovered_ns;	 /* a stack of that time needs newer maps; 0: none */
	uint32_t read_for_pages; /* exec_pages that stacks told when its maps were read */
	struct address_space *space;
	struct spans *spans;  /* as the kernel's side has them; NULL: none yet */
	bool unpublished;     /* newer spans found no room */
	const char *map_flag; /* symbol/perfmap_flags.h; NULL: none is known. Constant */
	/* Not sampled before its spans have all tables, since that time; 0: sampled. */
	uint64_t arming_ns;

	struct held_fd *memory; /* target/target_memory.h; NULL: not held open */
	struct target_runtime runtimes[RUNTIMES];
	uint64_t made_ns; /* a stack of that time has made code, which wasn't looked at; 0: none */
	struct made_dump *dump; /* its jitdump, a reference; NULL: none is known */
	uint64_t dump_ns; /* a stack of that time waits until the dump may be read on; 0: none */
	struct jvmfile *jvmfile; /* of its agent, set by java/agents/agents.c; NULL: none */
	/* set by code/code_cache.c; NULL: nothing was asked */
	struct process_code *code_known[TARGET_CODE_KINDS];
	uint64_t truncated[TRUNCATED_COUNT]; /* weight of its truncated stacks, by cause */
	uint64_t from_code;	 /* weight of its stacks that were walked by rows made from code */
	uint64_t inline_unknown; /* … in which what is inlined into a Java frame isn't known */
};

/* Return its CPython, or Java VM; NULL: none, or not known yet. */
static inline struct interpreter *target_interpreter(const struct target *target)
{
	return (struct interpreter *)target->runtimes[RUNTIME_PYTHON].known;
}

static inline struct jvm *target_jvm(const struct target *target)
{
	return (struct jvm *)target->runtimes[RUNTIME_JAVA].known;
}

/* Returns whether it runs under this id, and is wanted or may be. */
static inline bool target_is_alive(const struct target *target)
{
	return target->state == TARGET_UNDECIDED || target->state == TARGET_WANTED;
}

/* Returns whether it isn't known yet if somebody wants it. */
static inline bool target_is_undecided(const struct target *target)
{
	return target->state == TARGET_UNDECIDED || target->state == TARGET_LEFT;
}

static inline bool target_is_inspected(const struct target *target)
{
	return target->inspection == INSPECTION_RUNNING || target->inspection == INSPECTION_LAST;
}

/* Returns whether reading the process hangs, so that nothing more is read of it. */
static inline bool target_hangs(const struct target *target)
{
	return target->inspection == INSPECTION_LAST || target->inspection == INSPECTION_HUNG;
}

/* Notes that a job that read the process was given up. */
static inline void target_set_hung(struct target *target)
{
	target->inspection = target_inspection_barred(target->inspection);
}

/* Returns its identity for symbol/perfmap.h. */
static inline struct perfmap_process target_perfmap(const struct target *target)
{
	return (struct perfmap_process){target->pid, target->start_ticks, target->id,
					target->whose};
}

struct made_code;

/* Returns what is known of the code that it makes and tells debuggers of; NULL: nothing. */
static inline struct made_code *target_made_code(const struct target *target)
{
	return (struct made_code *)target->runtimes[RUNTIME_MADE].known;
}

struct target_table;

/*
 * Creates a table; the caller owns *ret. `max` limits living targets; as many again may have ended.
 * Returns 0 or -ENOMEM.
 */
int target_table_new(struct target_table **ret, size_t max);
void target_table_free(struct target_table *table);

/* Operations of code/ that share and free struct target.code_known. */
struct process_code_ops {
	void (*fork)(struct process_code *code[TARGET_CODE_KINDS],
		     struct process_code *const of[TARGET_CODE_KINDS]);
	void (*free)(struct process_code *const code[TARGET_CODE_KINDS]);
};

/* Lets targets have code_known from now on. `ops` is borrowed for good. */
void target_table_keep_code(struct target_table *table, const struct process_code_ops *ops);

/* Gives a forked process the known code of its parent. */
void target_table_fork_code(const struct target_table *table, struct target *fresh,
			    const struct target *before);

/* Returns an incarnation, alive or ended, valid until target_table_sweep(); NULL: unknown. */
struct target *target_table_find(const struct target_table *table, uint32_t pid, uint64_t id);

/* Returns the incarnation that has the pid now, or NULL. */
struct target *target_table_current(const struct target_table *table, pid_t pid);

/*
 * Adds a copy of *like, with its space (NULL: an empty one), as the owner of its pid from now on;
 * the one before has ended. Takes over what *like refers to. Returns NULL if the table is full or
 * there is no memory.
 */
struct target *target_table_add(struct target_table *table, struct target *like);

/* Marks a target as ended at that time, or no longer of interest. */
void target_table_end(struct target_table *table, struct target *target, uint64_t ns);

/* Note, and look up, programs that did not match: only their ids are kept. */
void target_table_reject(struct target_table *table, pid_t pid, uint64_t id, uint64_t ns);
bool target_table_was_rejected(const struct target_table *table, uint32_t pid, uint64_t id);

/*
 * Returns whether ended targets fill the table: a window should be read soon, so that they can go.
 */
bool target_table_is_crowded(const struct target_table *table);

/* Forgets targets that ended before `ns`, and mappings that were gone before. While there is room,
 * those whose events went on then are kept. */
void target_table_sweep(struct target_table *table, uint64_t ns);

/* Calls each() for living targets. It may end the target it is called with. */
void target_table_each(const struct target_table *table, void (*each)(void *arg, struct target *),
		       void *arg);

/* Like target_table_each(), for ended targets, too. */
void target_table_each_ever(const struct target_table *table,
			    void (*each)(void *arg, struct target *), void *arg);

/* Sets a function that is called for each target that ends from now on, before it does. */
void target_table_on_end(struct target_table *table, void (*ended)(void *arg, struct target *),
			 void *arg);

struct target_table_stats {
	uint64_t ended;	  /* targets that ended, since the start */
	uint64_t refused; /* targets that found no room, since the start */
};
void target_table_stats(const struct target_table *table, struct target_table_stats *stats);

/* Sets *sum to what was cut of forgotten targets (target/ended_cuts.h). */
void target_table_ended_cuts(const struct target_table *table, uint64_t now_ns,
			     struct ended_cuts_part *sum);
