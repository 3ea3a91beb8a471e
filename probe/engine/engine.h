/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine under all subscribers: one tracer, one table of targets, one way from counts to named
 * profiles (window/drain). A subscriber is the configured feature, or one session on demand.
 *
 * Loop thread only.
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
#include "kind/kind.h"
#include "profile/profile.h"
#include "select/snooper.h"
#include "select/spec.h"
#include "target/target.h"
#include "hooks/tracer_costs.h"
#include "hooks/tracer_sched.h"
#include "hooks/tracer_times.h"

struct engine;
struct render_lines;
struct subscriber;

struct engine_setup {
	struct loop *loop;
	struct worker *urgent;	/* inspects processes */
	struct worker *foreign; /* reads processes' files */
	struct worker *bulk;	/* names and renders; never touches foreign files or memory */
	struct worker *lines;	/* reads source lines, for rendering */
	struct worker *names;	/* reads containers' names from runtimes */
	struct worker *loads;	/* loads BPF objects ahead; NULL: each is loaded by its start */
	struct tracer_sizes sizes;
};

/* Each feature has snoopers of its own, in effect while it has a subscriber that follows them. */
enum engine_feature {
	FEATURE_FLAMEGRAPH, /* stacks */
	FEATURE_SCHED,	    /* WANTED_SCHED */
	FEATURES
};

/* Creates an engine that samples nothing; the caller owns *ret. Returns 0 or -ENOMEM. */
int engine_new(struct engine **ret, const struct engine_setup *setup);
void engine_free(struct engine *engine);

/* Sets where the host's root is seen, for containers' names. Returns 0 or -ENOMEM. */
int engine_set_host_root(struct engine *engine, const char *root);

struct subscription {
	enum engine_feature feature; /* the feature whose snoopers it follows */
	/*
	 * 1 << enum probe: it gets a profile of each. WANTED_SCHED: the tracer runs and follows
	 * processes; the subscriber itself reads what is measured of them.
	 */
	uint32_t probes;
	/* true: it fails unless all of them can run; false: one is enough */
	bool all;
	struct stack_detail detail;
	/* processes; ids are copied. count 0: those that the snoopers choose */
	struct chosen chosen;
};

/*
 * Adds a subscriber and begins to collect for it; loads and attaches what is missing. Probes that
 * can't run are left out (engine_failure()). Returns 0 and *ret, valid until engine_unsubscribe();
 * or a negative errno and a sentence for people in `why`: -EBUSY if there are SUBSCRIBERS_MAX.
 */
int engine_subscribe(struct engine *engine, const struct subscription *subscription,
		     struct subscriber **ret, struct why *why);

/*
 * Loads what engine_subscribe() and subscriber_add_probes() would load for these probes
 * (WANTED_SCHED among them), so that they need not wait for the kernel's verifier; calls done(arg)
 * when that has ended (kernel/preload.h). `snoopers` say which processes will be chosen; NULL: not
 * known. Returns false, without a call of done(), if nothing is
 * missing. engine_forget() drops the waits with this `arg`.
 */
bool engine_prepare(struct engine *engine, uint32_t probes, const struct snoopers *snoopers,
		    void (*done)(void *arg), void *arg);

/*
 * Call done(arg) once all chosen processes are sampled (engine/arming.h), or after ARMING_NS, or
 * after `wait_ns`. Return false, without a call of done(), if they are already. engine_forget()
 * drops the waits with this `arg`.
 */
bool engine_when_armed(struct engine *engine, void (*done)(void *arg), void *arg);
bool engine_when_armed_within(struct engine *engine, uint64_t wait_ns, void (*done)(void *arg),
			      void *arg);
void engine_forget(struct engine *engine, const void *arg);

/*
 * Removes and frees a subscriber. It loses what isn't read yet: drain first. The last one's leaving
 * stops and unloads all.
 */
void engine_unsubscribe(struct engine *engine, struct subscriber *subscriber);

/*
 * Add and remove probes of a subscriber, without touching the others. What isn't read yet of
 * removed ones is lost: drain first. Adding returns 0 or -ENOMEM; probes that can't run are left
 * out.
 */
int subscriber_add_probes(struct subscriber *subscriber, uint32_t probes);
void subscriber_remove_probes(struct subscriber *subscriber, uint32_t probes);

/* Returns the probes that it collects. */
uint32_t subscriber_probes(const struct subscriber *subscriber);

/*
 * Returns why a probe couldn't be started when it was wanted last: a negative errno, and a
 * sentence, borrowed; 0: it could, or wasn't wanted.
 */
int engine_failure(const struct engine *engine, enum probe probe, const char **why);

/* Stops probes until their values are set, as other ones. */
void engine_hold(struct engine *engine, uint32_t probes);

/* Tells that probes or their settings change as soon as the window was read, or that they did:
 * until then the engine is arming. */
void engine_set_changing(struct engine *engine, bool changing);

/* Returns what a probe that runs doesn't see, a sentence, borrowed; "": nothing is missing. */
const char *engine_says(const struct engine *engine, enum probe probe);

/* Changes the detail of stacks at once; windows are not cut. */
void subscriber_set_detail(struct subscriber *subscriber, const struct stack_detail *detail);

/*
 * Sets a feature's snoopers, followed by all its subscribers that chose no process; NULL: none.
 * Takes a new reference. Returns 0, -ENOMEM or a negative errno of reading /proc.
 */
int engine_set_snoopers(struct engine *engine, enum engine_feature feature,
			struct snoopers *snoopers);

/* Sets the period of the sampling timer, now or for its start. Errors as engine_subscribe(). */
int engine_set_period(struct engine *engine, uint64_t period_ns, struct why *why);

/* Sets the values of a probe's own params, for all subscribers. Errors as engine_subscribe(). */
int engine_set_values(struct engine *engine, enum probe probe, const union probe_settings *values,
		      struct why *why);

/* Sets the probes (1 << enum probe) whose counts are kept by CPU. */
void engine_set_by_cpu(struct engine *engine, uint32_t probes);

/* Sets how much all probes together may use, in percent of one CPU; 0: no limit. */
void engine_set_max_overhead(struct engine *engine, unsigned percent);

/* The feature's wishes for Java VMs. */
struct java_wish {
	enum java_source source;
	/* multi_instance 1 and native_stack 0: a VM's own recording can be used */
	bool jfr_fits;
	uint64_t interval_ns; /* ns; a VM's agent is asked again at most this often */
};

/*
 * Sets the wishes from now on. `of` is the subscriber whose profiles get the stacks that VMs
 * record; NULL: none yet. Other subscribers get the stacks that the kernel's side takes.
 */
void engine_set_java(struct engine *engine, struct subscriber *of, const struct java_wish *wish);

void engine_agents_stats(const struct engine *engine, struct agents_stats *stats);

#define JAVA_REASON_BYTES 192
#define JAVA_AGENT_BYTES  224

/* How a target's Java stacks are taken. */
struct java_state {
	enum java_source way;		/* JAVA_NATIVE, JAVA_AGENT, JAVA_JFR */
	char reason[JAVA_REASON_BYTES]; /* reason for that, a few words */
	char agent[JAVA_AGENT_BYTES];	/* state of its agent (agents_state()) */
};
void engine_java_state(const struct engine *engine, const struct target *target,
		       struct java_state *state);

/* Statistics of VMs' recordings. */
struct jfr_stats {
	unsigned recording, starting, failed; /* VMs, now */
	/*
	 * Windows of a VM, since the start, that its recording gave; for which the kernel's stacks
	 * were used instead, as the recording didn't come.
	 */
	uint64_t windows, fell_back;
	uint64_t fell_back_by[JFR_CAUSES]; /* fell_back by cause (jfr_cause_name()) */
	uint64_t lost_samples;		   /* that VMs couldn't take */
	uint64_t lost_bytes;		   /* of events for which VMs had no room */
	uint64_t refused;		   /* events without room in what VMs recorded */
	uint64_t unasked; /* stacks of VMs that aren't asked, because too many are */
};
void engine_jfr_stats(const struct engine *engine, struct jfr_stats *stats);

/* Rows of struct jfr_stats (measure/measure.h). */
extern const struct measures jfr_measures;

/*
 * Reads the current window, and calls done(arg) when its stacks are in the profiles, even if
 * nothing runs: as drain_request().
 */
void engine_drain(struct engine *engine, void (*done)(void *arg), void *arg);

/* Has its profiles say that they begin now: all its processes are sampled from now on. */
void subscriber_begin(struct subscriber *subscriber);

/*
 * Returns the profile that a subscriber's stacks of a probe go to, borrowed; NULL: not collected.
 * Its tree is for jobs of the bulk worker only.
 */
struct profile *subscriber_profile(const struct subscriber *subscriber, enum probe probe);

/*
 * Takes that profile out, owned by the caller, and begins a new one where it ends. NULL: no memory,
 * the old one goes on.
 */
struct profile *subscriber_take_profile(struct subscriber *subscriber, enum probe probe);

/* Returns the cgroups and containers that are known, borrowed. */
struct containers *engine_containers(const struct engine *engine);

/*
 * Returns the tracer, borrowed, to read what is measured of WANTED_SCHED. It is started while there
 * is a subscriber.
 */
struct tracer *engine_tracer(const struct engine *engine);

/* Sets who is told of slow waits (struct tracer_events.slow); NULL: nobody. */
void engine_on_slow(struct engine *engine,
		    void (*slow)(void *arg, const struct slow_event *event,
				 const struct slice *slices),
		    void *arg);

/* Reads the kernel's events of processes; call it before the functions below. */
void engine_refresh(struct engine *engine);

/*
 * Makes profiles of what the subscriber's processes hold (heap/live_heap.h), of
 * kind_of_heap().
 * Drain first: younger allocations with new stacks are left out. Of the request views, filter, from
 * (not before the probe's start), done and arg are used. Returns 0; -ENOENT if the subscriber or
 * the kernel doesn't collect it; other errors of live_heap_read().
 */
int engine_read_held(struct engine *engine, const struct subscriber *subscriber,
		     const struct live_heap_request *request);

/* Has what processes held when they ended be shown by engine_read_held(), for 10 s. Call it before
 * anything runs. */
void engine_keep_ended(struct engine *engine);

/* Returns where source lines are found, for profile/render.h; borrowed. */
const struct render_lines *engine_lines(const struct engine *engine);

struct engine_stats {
	uint64_t samples[PROBE_COUNT];
	uint32_t thinned[PROBE_COUNT];	/* now the stack of one event in this many is taken */
	uint64_t left_out[PROBE_COUNT]; /* events left out by the guard, since the start */
	uint64_t lost[LOSERS_COUNT][LOST_COUNT];
	union kind_stats own[PROBE_COUNT]; /* the probes' own numbers (struct kind.measures) */
	uint64_t unnamed_frames;
	int kernel_names_error; /* symbolizer_kernel_error() */
	uint64_t given_up;	/* jobs given up */
	uint64_t refused_jobs;	/* jobs refused, as too many of their user hang */
	uint64_t bpf_time_ns;
	unsigned cpus;
	bool arming; /* some processes are being inspected for the first time */
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
	struct loop_stalls loop;
};

/* Fills in the statistics. */
void engine_stats(const struct engine *engine, struct engine_stats *stats);

/* Rows of struct engine_stats (measure/measure.h). */
extern const struct measures engine_measures, job_measures;

/* Returns what a probe lost at a place, with what all probes lost there. */
uint64_t engine_stats_lost(const struct engine_stats *stats, enum probe probe, enum loss where);

/* Calls each() for the processes that match now. */
void engine_targets(const struct engine *engine,
		    void (*each)(void *arg, const struct target *target), void *arg);

/* Sets *sum to what was cut of processes that have ended, or aren't chosen any more. */
void engine_ended_cuts(const struct engine *engine, struct ended_cuts_part *sum);

/* Returns how a target is told to write a perf map (symbol/perfmap_flags.h); NULL: it has written
 * one, or nothing is known. Constant. */
const char *engine_map_flag(const struct engine *engine, const struct target *target);

/*
 * Returns the target that has the pid now, borrowed, to name it. If its container isn't known yet
 * it is looked up. NULL: it isn't followed.
 */
const struct target *engine_target(struct engine *engine, pid_t pid);

/* Returns the target that has the pid now and began then, borrowed; NULL: none. Nothing is looked
 * up. */
const struct target *engine_target_now(const struct engine *engine, pid_t pid,
				       uint64_t start_ticks);

/* Returns the present or past target with that pid and id; NULL: not known any more. */
const struct target *engine_target_once(const struct engine *engine, pid_t pid, uint64_t id);

/* Fills in what is known of a target's allocator, while mem_glibc runs. */
void engine_allocator(const struct engine *engine, const struct target *target,
		      struct allocator_view *view);

/*
 * Reads processes' CPU times, and calls each() for processes wanted for off-CPU or /sched and those
 * that ended not long ago.
 */
void engine_times(struct engine *engine,
		  void (*each)(void *arg, const struct process_times *process), void *arg);
