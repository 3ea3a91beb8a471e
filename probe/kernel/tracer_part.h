/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tracer from inside: for kernel/'s own files, and for its parts, which load BPF objects of
 * their own (probes/tracer_*.c). Nobody else includes this header.
 */
#pragma once

#include "capability/ktypes.h"
#include "kernel/tracer.h"

struct bpf_object;
struct bpf_link;
struct bpf_object_open_opts;
struct sched_settings;

/* A part of the tracer, while it has objects loaded. Static. */
struct tracer_part {
	/* Detaches and unloads its objects, and takes the part out of the tracer. */
	void (*stop)(struct tracer *tracer);
	/* Returns the run time of its programs; 0 while the kernel's BPF statistics are off. */
	uint64_t (*time_ns)(const struct tracer *tracer);
};
#define TRACER_PARTS_MAX 8

/* A ring buffer that is read on the loop's thread. */
struct tracer_ring {
	struct ring_buffer *ring; /* NULL: it isn't watched */
	struct loop_watch watch;
};

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
	uint32_t by_cpu;				   /* 1 << enum probe */
	const struct tracer_part *parts[TRACER_PARTS_MAX]; /* those that are loaded … */
	size_t parts_count;				   /* … in that order */
	struct tracer_ring life_ring, stack_ring, slow_ring;
	struct tracer_ring mapped_ring; /* is read before each life event */
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

/* Adds a part that is loaded (again: nothing happens); takes it out. */
void tracer_part_add(struct tracer *tracer, const struct tracer_part *part);
void tracer_part_remove(struct tracer *tracer, const struct tracer_part *part);

/*
 * Calls ready(tracer) whenever something lies in the ring, which reads it by tracer_ring_read();
 * that calls each(tracer, record, bytes). Negative errno of libbpf or epoll.
 */
int tracer_ring_watch(struct tracer *tracer, struct tracer_ring *ring, int map_fd,
		      int (*each)(void *tracer, void *record, size_t bytes),
		      void (*ready)(void *tracer));
/* Nothing happens if it isn't watched. Reading returns how many records there were. */
void tracer_ring_unwatch(struct tracer *tracer, struct tracer_ring *ring);
unsigned tracer_ring_read(const struct tracer_ring *ring);

/* What is urgent but came too soon after a wake-up to cause another lies there by then
 * (bpf/stack/wakeup.h, bpf/sched/slow.h: WAKE_EVERY_NS, and a bit). */
#define TRACER_LATE_NS (21 * NS_PER_MS)

/* The rings of the object `life`. */
int tracer_watch_life(struct tracer *tracer, int map_fd);
int tracer_watch_stacks(struct tracer *tracer, int map_fd);
void tracer_unwatch_life(struct tracer *tracer);
void tracer_unwatch_stacks(struct tracer *tracer);

/* No more is told of who gets other cgroups. */
void tracer_unfollow_moves(struct tracer *tracer);

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
