/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel side: loads, attaches and reads the BPF programs. The only user of their skeletons.
 *
 * One object for each family of hooks, loaded when it is first wanted; `life` (who is a target)
 * comes first and owns the maps that all share. Nothing is loaded or attached while stopped.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/loop.h"
#include "bpf/shared/sample.h"
#include "unwind/arena.h"

struct tracer;
struct code_copy;
struct group_event;
struct mapped_event;
struct slice;
struct slow_event;

/* Sizes of BPF maps, from the conf file. */
struct tracer_sizes {
	uint32_t stacks;     /* distinct stacks in a window */
	uint32_t targets;    /* processes sampled at a time */
	uint32_t stack_ring; /* bytes, a power of two */
	uint32_t life_ring;
	uint32_t tables_bytes; /* of unwind tables and mappings at most, a multiple of a chunk's */
	uint32_t allocations;  /* held at a time (bpf/shared/allocations.h) */
	uint32_t python;       /* 1: Python's frames are walked */
	uint32_t java;	       /* 1: Java's */
};

/* Called on the loop's thread. */
struct tracer_events {
	/* A stack that is new in its window; `words` are stack->words_count. */
	void (*stack)(void *arg, const struct stack *stack, const uint64_t *words);
	/* A copy of a code object, before the first stack that has it; a record of so many bytes,
	 * CODE_COPY_LEAST at least. May be NULL. */
	void (*code)(void *arg, const struct code_copy *copy, size_t bytes);
	void (*life)(void *arg, const struct life_event *event);
	/* Where cgroups lie, before the first life event that has them; the names are as long as
	 * it says. May be NULL. */
	void (*group)(void *arg, const struct group_event *event);
	/* A process has other cgroups now; it is a target, or groups are followed. May be NULL. */
	void (*moved)(void *arg, const struct life_event *event);
	/* A task waited long for its CPU (bpf/shared/scheduler.h); `slices` are
	 * event->slices_count. */
	void (*slow)(void *arg, const struct slow_event *event, const struct slice *slices);
	/* A target's program mapped a range, or gave one back (bpf/shared/allocations.h). Those
	 * from before a life event come before it. May be NULL. */
	void (*mapped)(void *arg, const struct mapped_event *event);
	/* A process is a target of off-CPU: threads of it may wait already. May be NULL. */
	void (*waits)(void *arg);
	void *arg;
};

/* -ENOMEM */
int tracer_new(struct tracer **ret, struct loop *loop, const struct tracer_sizes *sizes,
	       const struct tracer_events *events);
void tracer_free(struct tracer *tracer);

/*
 * Loads and attaches what follows targets. On failure `why` has a sentence for people and nothing
 * is loaded. Negative errno.
 */
int tracer_start(struct tracer *tracer, char *why, size_t why_bytes);

/* Detaches and unloads everything. */
void tracer_stop(struct tracer *tracer);

/* Loads what samples, and attaches nothing: what it opens is open before any target's files are.
 * Errors as tracer_start(). */
int tracer_load(struct tracer *tracer, char *why, size_t why_bytes);

/* Samples targets on every CPU, each `period_ns` of its clock. Again with another period: changes
 * it. Errors as tracer_start(). */
int tracer_sample(struct tracer *tracer, uint64_t period_ns, char *why, size_t why_bytes);

/* Stops that, and unloads what samples; nothing else is touched. */
void tracer_sample_stop(struct tracer *tracer);

/* Whether programs and names that are new may match, and what they are sampled for until that is
 * decided. All verdicts are void from then on. */
void tracer_follow_new(struct tracer *tracer, bool follow, uint32_t probes);

/* What all programs together may use, percent of one CPU (bpf/core/guard.h); 0: as much as they
 * need. Holds for every start from now on. */
void tracer_set_budget(struct tracer *tracer, unsigned percent);

/* Whose counts are apart for each CPU: 1 << enum probe. Holds for every start from now on. */
void tracer_set_by_cpu(struct tracer *tracer, uint32_t probes);

/* The stack of one event in how many is taken now; 1: of each. */
uint32_t tracer_thinned(const struct tracer *tracer, enum probe probe);

/* Cgroups decide, too: before tracer_follow_new(). */
void tracer_by_group(struct tracer *tracer, bool by_group);

/* What is known of all programs in these cgroups, until tracer_follow_new() is called again. */
void tracer_judge_group(struct tracer *tracer, const struct cgroup_key *key,
			enum verdict_word word);

/* The daemon knows no more where they lie: it is told again. */
void tracer_forget_group(struct tracer *tracer, const struct cgroup_key *key);

/* What is known of all programs of that name, until tracer_follow_new() is called again. The kernel
 * may forget it. */
void tracer_judge(struct tracer *tracer, const char comm[COMM_BYTES], enum verdict_word word);

/* -ENOSPC: the map of targets is full. `fresh`: only if there is none (-EEXIST), else only if there
 * is one (-ENOENT): the kernel's side adds and removes them too. */
int tracer_target_set(struct tracer *tracer, pid_t tgid, const struct target_value *value,
		      bool fresh);
int tracer_target_get(struct tracer *tracer, pid_t tgid, struct target_value *value);
void tracer_target_del(struct tracer *tracer, pid_t tgid);

/* Hands on all events that have arrived: fork, exec and exit first, then stacks. */
void tracer_read_life(struct tracer *tracer);
void tracer_read_stacks(struct tracer *tracer);

/* How often stacks were read since tracer_new(), without tracer_read_stacks(). */
struct tracer_looks {
	uint64_t woken;	  /* by the kernel's side: something was urgent, or the first for a while */
	uint64_t in_turn; /* some time after the look before */
};
void tracer_looks(const struct tracer *tracer, struct tracer_looks *looks);

/* Where unwind tables lie, from tracer_start() to tracer_stop(); else NULL. */
struct arena *tracer_arena(const struct tracer *tracer);

uint64_t tracer_window(const struct tracer *tracer);

/*
 * Begins a new window and calls `each` for every stack counted in the one that ends. All its
 * stacks have been handed on before. Negative errno of reading: what was not read is counted as
 * lost by the caller.
 */
int tracer_swap(struct tracer *tracer,
		void (*each)(void *arg, const struct count_key *key,
			     const struct stack_count *count),
		void *arg);

/* Sums over all CPUs since tracer_new(). */
void tracer_counters(const struct tracer *tracer, struct counters *sum);

/* Run time of all programs in ns since they were loaded; 0 while the kernel's BPF statistics
 * (kernel.bpf_stats_enabled) are off. */
uint64_t tracer_bpf_time_ns(const struct tracer *tracer);

/* CPUs that are sampled now. */
unsigned tracer_cpus(const struct tracer *tracer);
