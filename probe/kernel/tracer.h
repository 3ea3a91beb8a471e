/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracer: loads, attaches and reads the BPF programs. Only kernel/, hooks/
 * and probes/ use their skeletons.
 *
 * There is one BPF object for each family of hooks, loaded when it is first wanted. The object
 * `life` (which processes are targets) comes first and owns the maps that all share. Nothing is
 * loaded or attached while the tracer is stopped. Loop thread only, where nothing else is said.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/why.h"
#include "loop/loop.h"
#include "bpf/shared/sample.h"
#include "unwind/arena.h"

struct tracer;
struct code_copy;
struct known_file;
struct known_file_key;
struct ktypes;
struct told_maps;
struct group_event;
struct loadable;
struct mapped_event;
struct slice;
struct slow_event;

/* Sizes of BPF maps, from the conf file. */
struct tracer_sizes {
	uint32_t stacks;     /* distinct stacks in a window */
	uint32_t targets;    /* processes sampled at a time */
	uint32_t stack_ring; /* bytes, a power of two; the same for life_ring */
	uint32_t life_ring;
	/* limit of unwind tables and mappings, a multiple of a chunk's size */
	uint32_t tables_bytes;
	uint32_t allocations; /* allocations held at a time (bpf/shared/allocations.h) */
	uint32_t python;      /* 1: Python's frames are walked */
	uint32_t java;	      /* 1: Java's frames are walked */
};

/* Callbacks, on the loop's thread. Records are borrowed during the call. */
struct tracer_events {
	/* A stack that is new in its window, with stack->words_count words; or a notice
	 * (NOTICE_KIND). */
	void (*stack)(void *arg, const struct stack *stack, const uint64_t *words);
	/*
	 * A copy of a code object, before the first stack that has it; `bytes` is the record's
	 * size, at least CODE_COPY_LEAST. May be NULL.
	 */
	void (*code)(void *arg, const struct code_copy *copy, size_t bytes);
	/* Mappings that a walk went through, of a process that was never read; `bytes` is the
	 * record's size, at least TOLD_MAPS_LEAST. May be NULL. */
	void (*told)(void *arg, const struct told_maps *told, size_t bytes);
	/* a fork, exec, exit or new name */
	void (*life)(void *arg, const struct life_event *event);
	/*
	 * Paths of cgroups, before the first life event that names them; the record gives the
	 * names' lengths. May be NULL.
	 */
	void (*group)(void *arg, const struct group_event *event);
	/*
	 * A process got other cgroups, while it is a target or cgroups are followed. May be NULL.
	 */
	void (*moved)(void *arg, const struct life_event *event);
	/*
	 * A task waited long for its CPU (bpf/shared/scheduler.h); there are event->slices_count
	 * slices.
	 */
	void (*slow)(void *arg, const struct slow_event *event, const struct slice *slices);
	/*
	 * A target mapped a range, or unmapped one (bpf/shared/allocations.h). Events from before a
	 * life event come before it. May be NULL.
	 */
	void (*mapped)(void *arg, const struct mapped_event *event);
	/*
	 * A process became a target of off-CPU: threads of it may be blocked already. May be NULL.
	 */
	void (*waits)(void *arg);
	/* More walkers run (tracer_walk_runtimes()). May be NULL. */
	void (*walkers)(void *arg);
	void *arg;
};

/* Creates a stopped tracer; the caller owns *ret. Returns 0 or -ENOMEM. */
int tracer_new(struct tracer **ret, struct loop *loop, const struct tracer_sizes *sizes,
	       const struct tracer_events *events);
void tracer_free(struct tracer *tracer);

/*
 * What tracer_start() and tracer_sample() load (kernel/preload.h); NULL ends each list. All others
 * share the maps of the first.
 */
extern const struct loadable *const life_loads[], *const sample_loads[];

/*
 * Loads and attaches `life`. Returns 0; on failure a negative errno and a sentence for people in
 * `why`, and nothing is loaded.
 */
int tracer_start(struct tracer *tracer, struct why *why);

/* Detaches and unloads everything. */
void tracer_stop(struct tracer *tracer);

/*
 * Loads the sampling program without attaching it, so that its descriptors are open before any
 * target's files are. Errors as tracer_start().
 */
int tracer_load(struct tracer *tracer, struct why *why);

/*
 * Samples targets on every CPU, once each `period_ns` of the CPU's clock; called again, changes the
 * period. Errors as tracer_start().
 */
int tracer_sample(struct tracer *tracer, uint64_t period_ns, struct why *why);

/* Stops sampling and unloads the sampling program; nothing else is touched. */
void tracer_sample_stop(struct tracer *tracer);

/*
 * Sets whether processes with new programs and names may become targets, and for which probes they
 * are sampled until that is decided. Voids all verdicts.
 */
void tracer_follow_new(struct tracer *tracer, bool follow, uint32_t probes);

/*
 * Sets how much all programs together may use, in percent of one CPU (bpf/core/guard.h); 0: no
 * limit. Also holds for programs loaded later.
 */
void tracer_set_budget(struct tracer *tracer, unsigned percent);

/*
 * Sets the probes (1 << enum probe) whose counts are kept by CPU. Also holds for programs loaded
 * later.
 */
void tracer_set_by_cpu(struct tracer *tracer, uint32_t probes);

/* Returns n if the stack of one event in n is taken now; 1: of each. */
uint32_t tracer_thinned(const struct tracer *tracer, enum probe probe);

/*
 * Sets whether cgroups decide too which processes are targets. Call it before tracer_follow_new().
 */
void tracer_by_group(struct tracer *tracer, bool by_group);

/* Tells the verdict on all programs in these cgroups, until the next tracer_follow_new(). */
void tracer_judge_group(struct tracer *tracer, const struct cgroup_key *key,
			enum verdict_word word);

/* Tells that the daemon has forgotten the cgroups' paths, so that they are reported again. */
void tracer_forget_group(struct tracer *tracer, const struct cgroup_key *key);

/*
 * Tells the verdict on all programs of that name, until the next tracer_follow_new(). The kernel's
 * side may drop it before.
 */
void tracer_judge(struct tracer *tracer, const char comm[COMM_BYTES], enum verdict_word word);

/*
 * Adds a target (`fresh`: -EEXIST if there is one already) or changes it (-ENOENT if there is
 * none). The kernel's side adds and removes targets, too. -ENOSPC: the map of targets is full;
 * -ENOENT: not started.
 */
int tracer_target_set(struct tracer *tracer, pid_t tgid, const struct target_value *value,
		      bool fresh);
int tracer_target_get(struct tracer *tracer, pid_t tgid, struct target_value *value);
void tracer_target_del(struct tracer *tracer, pid_t tgid);

/* Reads all events of processes' lives that have arrived. */
void tracer_read_life(struct tracer *tracer);

/*
 * Reads these events, and then a part of the stacks that have arrived. Returns whether stacks of a
 * window that has ended may be left.
 */
bool tracer_read_stacks(struct tracer *tracer);

/* How often stacks were read since tracer_new(), apart from tracer_read_stacks(). */
struct tracer_looks {
	/* woken by the kernel's side: an urgent event, or the first for a while */
	uint64_t woken;
	uint64_t in_turn; /* by a timer after the last reading */
};
void tracer_looks(const struct tracer *tracer, struct tracer_looks *looks);

/*
 * Tells that targets have these runtimes (WALKS_ bits): their walkers are loaded, if they aren't
 * there, and stay until tracer_stop(). Until then stacks say that they lack
 * (TRUNCATED_RUNTIME_PENDING, PYTHON_PENDING).
 */
void tracer_walk_runtimes(struct tracer *tracer, uint32_t runtimes);

/* Tells which runtimes the next targets may have: objects are loaded with their walkers, so that
 * they need not be loaded again. */
void tracer_foresee_runtimes(struct tracer *tracer, uint32_t runtimes);

/* Returns whether walkers are on their way. */
bool tracer_awaits_walkers(const struct tracer *tracer);

/* Returns the arena of unwind tables, valid from tracer_start() to tracer_stop(), else NULL. */
struct arena *tracer_arena(const struct tracer *tracer);

/* Tell the kernel's side that a file has a table, or has none any more (bpf/shared/known_files.h).
 * Return 0 or a negative errno: -ENOENT: not started. */
int tracer_known_file_put(struct tracer *tracer, const struct known_file_key *key,
			  const struct known_file *file);
void tracer_known_file_drop(struct tracer *tracer, const struct known_file_key *key);

/* Returns the number of the current window (kernel/window_counts.h); 0 while stopped. */
uint64_t tracer_window(const struct tracer *tracer);

/* Returns what is known of the kernel's types; NULL: they were not looked for yet. */
const struct ktypes *tracer_ktypes(const struct tracer *tracer);

/* Sums up the counters of all CPUs since tracer_new(). */
void tracer_counters(const struct tracer *tracer, struct counters *sum);

/*
 * Returns the run time of all loaded programs, ns; 0 while the kernel's BPF statistics
 * (kernel.bpf_stats_enabled) are off.
 */
uint64_t tracer_bpf_time_ns(const struct tracer *tracer);

/* Returns the number of CPUs that are sampled now. */
unsigned tracer_cpus(const struct tracer *tracer);
