/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine under all subscribers: one tracer, one table of targets, one way from counts to named
 * profiles (window/drain). A subscriber is the configured feature, or one on-demand session.
 *
 * Everything here is called on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "loop/worker.h"
#include "java/agents/agents.h"
#include "alloc/allocator_view.h"
#include "engine/arming.h"
#include "code/code_cache.h"
#include "select/containers.h"
#include "profile/stack_detail.h"
#include "window/drain.h"
#include "heap/live_heap.h"
#include "java/agents/jfr.h"
#include "profile/profile.h"
#include "select/snooper.h"
#include "select/spec.h"
#include "target/target.h"
#include "probes/tracer_sched.h"
#include "probes/tracer_times.h"

struct engine;
struct render_lines;
struct memory_settings; /* probes/tracer_memory.h */
struct subscriber;

struct engine_setup {
	struct loop *loop;
	struct worker *urgent;	/* looks at processes */
	struct worker *foreign; /* reads their files */
	struct worker *bulk;	/* names and renders; never touches what isn't ours */
	struct worker *lines;	/* reads source lines for what is rendered */
	struct worker *names;	/* asks runtimes for containers' names */
	struct tracer_sizes sizes;
};

/* Each has snoopers of its own, which count while it has a subscriber that follows them. */
enum engine_feature {
	FEATURE_FLAMEGRAPH, /* stacks */
	FEATURE_SCHED,	    /* WANTED_SCHED */
	FEATURES
};

/* -ENOMEM */
int engine_new(struct engine **ret, const struct engine_setup *setup);
void engine_free(struct engine *engine);

/* Where the host's root is seen, for containers' names. -ENOMEM */
int engine_set_host_root(struct engine *engine, const char *root);

struct subscription {
	enum engine_feature feature; /* whose snoopers it follows */
	/* 1 << enum probe: it gets a profile of each. WANTED_SCHED: the tracer runs and follows
	 * processes, what is measured of them is the subscriber's matter. */
	uint32_t probes;
	bool all; /* all of these can run, or it fails; else one is enough */
	struct stack_detail detail;
	struct chosen chosen; /* ids are copied; count 0: what the snoopers choose */
};

/*
 * Begins to collect for one more subscriber; loads and attaches what is missing. Probes that can't
 * run are left out (engine_failure()). Negative errno, and `why` has a sentence for people; -EBUSY:
 * SUBSCRIBERS_MAX are there.
 */
int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, char *why, size_t why_bytes);

/* Calls done(arg) once all processes that were chosen are sampled (engine/arming.h): false, they
 * are already, and it isn't called. */
bool engine_when_armed(struct engine *engine, void (*done)(void *arg), void *arg);
void engine_forget(struct engine *engine, const void *arg);

/* What isn't read yet is lost to it: drain first. The last one out stops and unloads all. */
void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber);

/* One more or less, without touching the others. What isn't read yet of those that go is lost:
 * drain first. Adding: -ENOMEM, or 0; those that can't run are left out. */
int subscriber_add_probes(struct subscriber *subscriber, uint32_t probes);
void subscriber_remove_probes(struct subscriber *subscriber, uint32_t probes);

/* Those that it collects. */
uint32_t subscriber_probes(const struct subscriber *subscriber);

/* Why a probe could not be started when it was wanted last: the negative errno; 0: it could, or
 * wasn't wanted. The sentence is borrowed. */
int engine_failure(const struct engine *engine, enum probe probe, const char **why);

/* Changes that take effect at once; windows are not cut. */
void subscriber_set_detail(struct subscriber *subscriber, const struct stack_detail *detail);

/* The snoopers that all subscribers of a feature who chose no process follow; NULL: none. -errno of
 * reading /proc, -ENOMEM. */
int engine_set_snoopers(struct engine *engine, enum engine_feature feature,
			struct snoopers *snoopers);

/* The period of the sampling timer, now or when it starts. Errors as engine_subscribe(). */
int engine_set_period(struct engine *engine, uint64_t period_ns, char *why, size_t why_bytes);

/* What off-CPU shows, of all subscribers. Errors as engine_subscribe(). */
int engine_set_offcpu(struct engine *engine, const struct offcpu_settings *settings, char *why,
		      size_t why_bytes);

/* How page faults and allocations are drawn. Errors as engine_subscribe(). */
int engine_set_memory(struct engine *engine, const struct memory_settings *settings, char *why,
		      size_t why_bytes);

/* Whose counts are apart for each CPU: 1 << enum probe. */
void engine_set_by_cpu(struct engine *engine, uint32_t probes);

/* What all probes together may use, percent of one CPU; 0: no guard. */
void engine_set_max_overhead(struct engine *engine, unsigned percent);

/* What the feature wants of Java VMs. */
struct java_wish {
	enum java_source source;
	bool jfr_fits; /* multi_instance 1, native_stack 0: a VM's own recording may be had */
	uint64_t interval_ns; /* a VM is asked again, at most so often */
};

/* From now on. `of`: whose profiles the stacks go to that VMs have recorded; NULL: there is none
 * yet. Other subscribers have the stacks that the kernel takes. */
void engine_set_java(struct engine *engine, struct subscriber *of, const struct java_wish *wish);

void engine_agents_stats(const struct engine *engine, struct agents_stats *stats);

#define JAVA_REASON_BYTES 192
#define JAVA_AGENT_BYTES  224

/* How a target's Java stacks are had. */
struct java_state {
	enum java_source way;		/* JAVA_NATIVE, JAVA_AGENT, JAVA_JFR */
	char reason[JAVA_REASON_BYTES]; /* why so, a few words */
	char agent[JAVA_AGENT_BYTES];	/* what is with its agent (agents_state()) */
};
void engine_java_state(const struct engine *engine, const struct target *target,
		       struct java_state *state);

/* Recordings of VMs. */
struct jfr_stats {
	unsigned recording, starting, failed; /* VMs, now */
	/* Windows of a VM since the start: whose stacks are what it recorded; for which the
	 * kernel's stacks were taken, for the recording didn't come. */
	uint64_t windows, fell_back;
	uint64_t fell_back_by[JFR_CAUSES]; /* the same, by cause (jfr_cause_name()) */
	uint64_t lost_samples;		   /* that VMs could not take */
	uint64_t lost_bytes;		   /* of events for which VMs had no room */
	uint64_t refused;		   /* events that found no room in what VMs told */
	uint64_t unasked;		   /* stacks of VMs that aren't asked, for so many are */
};
void engine_jfr_stats(const struct engine *engine, struct jfr_stats *stats);

/* Reads the window that runs now and calls done(arg) when its stacks are in the profiles. done is
 * called later, never inside, and even when there is no memory or nothing runs. */
void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg);

/* The profile that a subscriber's stacks of a probe go to, borrowed; NULL: it doesn't collect it.
 * Its tree is for jobs on the bulk worker only. */
struct profile *subscriber_profile(const struct subscriber *subscriber, enum probe probe);

/* Hands over that profile and begins a new one, which starts where the old one ends. NULL: no
 * memory, the old one goes on. */
struct profile *subscriber_take_profile(struct subscriber *subscriber, enum probe probe);

/* For what is measured of WANTED_SCHED; borrowed. It has started while there is a subscriber. */
struct tracer *engine_tracer(const struct engine *engine);

/* Who is told of long waits for a CPU (struct tracer_events.slow); NULL: nobody. */
void engine_on_slow(struct engine *engine,
		    void (*slow)(void *arg, const struct slow_event *event,
				 const struct slice *slices),
		    void *arg);

/* Reads what the kernel has told of processes meanwhile; to be called before what is below. */
void engine_refresh(struct engine *engine);

/*
 * Profiles of what the subscriber's processes hold (heap/live_heap.h), of PROBE_MEM_GLIBC; drain
 * first: what came after that, of stacks that weren't seen before, is left out. Of the request
 * count views, filter, from (not earlier than the probe's start), done and arg. -ENOENT: the
 * subscriber or the kernel doesn't collect it; errors as live_heap_read().
 */
int engine_read_held(struct engine *engine, const struct subscriber *subscriber,
		     const struct live_heap_request *request);

/* For render.h. */
const struct render_lines *engine_lines(const struct engine *engine);

struct engine_stats {
	uint64_t samples[PROBE_COUNT];
	uint32_t thinned[PROBE_COUNT];	/* now, the stack of one event in so many is taken */
	uint64_t left_out[PROBE_COUNT]; /* events by the guard, since the start */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT];
	uint64_t waits_over_maxblock; /* off-CPU left them out */
	uint64_t unseen_waits; /* threads that waited at the last window's end, without a stack */
	uint64_t unnamed_frames;
	int kernel_names_error; /* symbolizer_kernel_error() */
	uint64_t given_up;	/* jobs */
	uint64_t refused_jobs;	/* too many of their user's hang */
	uint64_t bpf_time_ns;
	unsigned cpus;
	bool arming; /* processes are still being looked at for the first time */
	struct tracer_looks looks;
	struct drain_stats drain;
	struct targets_stats targets;
	struct containers_stats containers;
	struct symbol_files_stats files;
	struct code_cache_stats codes[CODES_KINDS];
	struct times_stats times;
	struct live_heap_stats live_heap;
	struct allocators_stats allocators;
	struct times_state times_state;
};
void engine_stats(const struct engine *engine, struct engine_stats *stats);

/* What a probe lost at a place, with what all probes lost there. */
uint64_t engine_stats_lost(const struct engine_stats *stats, enum probe probe, enum loss where);

/* Calls each for the processes that match now. */
void engine_targets(const struct engine *engine,
		    void (*each)(void *arg, const struct target *target), void *arg);

/* Who has the pid now, for who tells of it; where that isn't known yet it is looked at for the
 * container that it is in. NULL: it isn't followed. */
const struct target *engine_target(struct engine *engine, pid_t pid);

/* Who had it as the target of that id; NULL: it isn't known any more. */
const struct target *engine_target_once(const struct engine *engine, pid_t pid, uint64_t id);

/* What is known of a target's allocator; mem_glibc samples. */
void engine_allocator(const struct engine *engine, const struct target *target,
		      struct allocator_view *view);

/* Reads what processes have had of their CPUs, and calls each for those that are wanted for off-CPU
 * or /sched, and those that have ended not long ago. */
void engine_times(struct engine *engine,
		  void (*each)(void *arg, const struct process_times *process), void *arg);
