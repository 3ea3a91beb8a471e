/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel/tracer.c (loads, starts, stops), tracer_rings.c (what the programs send),
 * tracer_counts.c (what they count) and tracer_sched.c (the scheduler's programs) share, with what
 * belongs to these. Nobody else includes it. */
#pragma once

#include "capability/ktypes.h"
#include "kernel/tracer.h"

struct bpf_object;
struct bpf_link;
struct bpf_object_open_opts;
struct sched_settings;

struct tracer {
	struct loop *loop;
	struct tracer_sizes sizes;
	struct tracer_events events;

	struct life_bpf *life;
	struct bpf_link *moves; /* NULL: it isn't told who gets other cgroups */
	int sample_fd;		/* the sampling program; -1: none */
	struct sched_bpf *sched;
	struct malloc_bpf *calls; /* of allocators; NULL: they aren't loaded */
	struct mmap_bpf *maps;	  /* of mmap() and its kin, the same */
	struct times_bpf *times;
	char times_why[160];		 /* why it could not be loaded */
	struct sched_settings *settings; /* of `sched`, mapped; NULL: it isn't loaded */
	uint64_t session;		 /* the last struct sched_settings.session */
	struct tracer_waits *waits;	 /* NULL: off-CPU wasn't on yet */
	int groups_fd;			 /* struct hist of each struct hist_key; -1: none */
	struct runqlen_bpf *runqlen;
	struct tracer_faults *faults; /* NULL: mem isn't on */
	struct timer *timer, *length_timer;
	struct control *control; /* shared with the programs */
	uint64_t budget_ppm;
	uint32_t by_cpu; /* 1 << enum probe */
	struct ring_buffer *life_ring, *stack_ring, *slow_ring, *mapped_ring;
	struct loop_watch life_watch, stack_watch, slow_watch, mapped_watch;
	/* For what came too soon after a wake-up to cause another; stacks that wake nobody, too. */
	struct loop_timer late, slow_late;
	struct tracer_looks looks;
	int barrier_fd; /* an array of maps: see tracer_wait_for_programs() */
	int types_fd;	/* capability/ktypes.h */
	struct ktypes types;
	char types_path[32];
	struct counters before; /* of objects that are unloaded */
	uint64_t next_window;	/* numbers are never used again */
	uint64_t selection;	/* struct control.selection, neither */
	struct arena_map *arena_map;
	struct arena *arena;
	struct count_key *keys; /* room to read one window */
	struct stack_count *counts;
};

/* Stacks are counted apart for each thread. */
static inline uint32_t tracer_counts_max(const struct tracer *tracer)
{
	return tracer->sizes.stacks * 2;
}

/* Run time of an object's programs; 0 while the kernel's BPF statistics are off. */
uint64_t tracer_object_time_ns(const struct bpf_object *object);

/* Returns when no program runs any more that began before. */
void tracer_wait_for_programs(const struct tracer *tracer);

/* Reads the rings whenever something comes. Negative errno of libbpf or epoll. */
int tracer_watch_life(struct tracer *tracer, int map_fd);
int tracer_watch_stacks(struct tracer *tracer, int map_fd);
int tracer_watch_slow(struct tracer *tracer, int map_fd); /* 0 if it is watched already */
int tracer_watch_mapped(struct tracer *tracer, int map_fd);

/* Nothing happens if they aren't watched. */
void tracer_unwatch_life(struct tracer *tracer);
void tracer_unfollow_moves(struct tracer *tracer);
void tracer_unwatch_stacks(struct tracer *tracer);
void tracer_unwatch_slow(struct tracer *tracer);
void tracer_unwatch_mapped(struct tracer *tracer);

/* The expiry of tracer->late. */
void tracer_read_late(void *arg);

/* ---- for those who load objects (tracer_object.c) ---- */

/* Maps of the same name are one map. */
int tracer_share_maps(const struct bpf_object *from, struct bpf_object *to);

/* Tells libbpf where it finds the kernel's types. */
int tracer_set_types(struct tracer *tracer, struct bpf_object_open_opts *options);

/* What the programs that take stacks are told before loading. */
bool tracer_has_task_pt_regs(void);
uint32_t tracer_kernel_frames_max(void); /* of its own, that the kernel's walk gives at most */

/* A sentence for people: what failed, the error, a remedy. */
void tracer_explain(char *why, size_t bytes, int error, const char *what);

/* ---- the scheduler's programs (tracer_sched.c) ---- */

/* Loads them and attaches to switches, unless that is done; then tracer->settings are theirs, with
 * nothing on and a session of their own. Errors as tracer_start(). */
int tracer_sched_load(struct tracer *tracer, char *why, size_t why_bytes);

/* Attaches to wake-ups, or detaches, as the settings need them. To be called after each change of
 * these. Negative errno. */
int tracer_sched_wakeups(struct tracer *tracer);

/* Unloads them if the settings have nothing on. */
void tracer_sched_release(struct tracer *tracer);

void tracer_sched_unload(struct tracer *tracer);

/* Whether records are in the tasks' own storage. They are loaded. */
bool tracer_has_task_storage(const struct tracer *tracer);

/* What belongs to histograms alone; their program is about to go, or they are off. */
void tracer_hists_unload(struct tracer *tracer);

/* Run-queue lengths (tracer_lengths.c): from zero, if they aren't on. Errors as tracer_start(). */
int tracer_lengths(struct tracer *tracer, char *why, size_t why_bytes);
void tracer_lengths_stop(struct tracer *tracer);

/* ---- the programs for mmap() and its kin (tracer_mmap.c), with those for allocators ---- */

struct call_programs;

/* Negative errno; what there is by then is for tracer_mmap_unload(). */
int tracer_mmap_load(struct tracer *tracer);
void tracer_mmap_unload(struct tracer *tracer);

/* Adds new descriptors of theirs, `programs->session` is set. -EMFILE …: some may have been added.
 */
int tracer_mmap_programs(const struct tracer *tracer, struct call_programs *programs);

/* ---- what processes had of their CPUs (tracer_times.c) ---- */

/* Needs the scheduler's programs. Errors as tracer_start(). */
int tracer_times_load(struct tracer *tracer, char *why, size_t why_bytes);
void tracer_times_unload(struct tracer *tracer);

/* ---- page faults (tracer_faults.c) ---- */

/* Run time of their programs; 0 while the kernel's BPF statistics are off. */
uint64_t tracer_faults_time_ns(const struct tracer *tracer);
