/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to kernel/ and to those who load BPF objects (hooks/, probes/): the tracer's state, and
 * help for loading objects.
 */
#pragma once

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "bpf/shared/process_cost.h"
#include "bpf/shared/scheduler.h"
#include "capability/ktypes.h"
#include "kernel/halves.h"
#include "kernel/preload.h"
#include "kernel/tracer.h"
#include "kernel/walkers.h"
#include "kernel/window_counts.h"
#include "loop/worker.h"

struct sched_settings;

/* An object that is loaded beside `life`. The tracer counts its run time, and stops its owner. */
struct loaded {
	const struct bpf_object *object; /* NULL: only a program is kept */
	int program_fd;			 /* of that program; else -1 */
	/*
	 * Called by tracer_stop(): detaches and unloads the owner's objects, and takes them out of
	 * the list. NULL: another object's owner does that.
	 */
	void (*stop)(void *arg);
	void *arg;
	const struct loadable *which; /* NULL: not known */
};
#define LOADED_MAX 48

/* The kernel's types that the programs need, found at the first load. */
struct tracer_types {
	pthread_mutex_t lock;
	int fd; /* capability/ktypes.h; -1: not found yet */
	struct ktypes known;
	char path[32];
	struct bpf_object_open_opts options; /* names the path */
};

/* A program of ours that counts for /proc (hooks/tracer_cost_counters.h). */
struct counter_object {
	void *bpf; /* its skeleton; NULL: it isn't started */
	const struct bpf_object *object;
	void (*destroy)(void *bpf);
	int by_process, beside; /* descriptors of its maps; -1: it has no such map */
	const uint64_t *lost;	/* events that found no room */
	uint64_t known;		/* what it counts here: 1 << enum cost */
};

/* A ring buffer that is read on the loop's thread. */
struct tracer_ring {
	struct ring_buffer *ring; /* NULL: not watched */
	struct loop_watch watch;
};

struct tracer {
	struct loop *loop;
	struct tracer_sizes sizes;
	struct tracer_events events;
	struct tracer_types types;
	struct preload *preload; /* NULL: nothing is loaded ahead */
	struct walkers walkers;

	struct life_bpf *life;
	const struct bpf_object *life_object; /* its object; NULL: not loaded */
	struct bpf_link *moves;		      /* reports changes of cgroups; NULL: not attached */
	int sample_fd;			      /* the sampling program; -1: none */
	int sample_slot_fd;		      /* its slot; -1: it hands over to none */
	struct sched_bpf *sched;
	const struct bpf_object *sched_object; /* its object; NULL: not loaded */
	struct malloc_bpf *calls;	       /* allocators, mmap(); NULL: not loaded */
	struct times_bpf *times;
	struct why times_why;		 /* why `times` couldn't be loaded */
	struct sched_settings *settings; /* settings of `sched`, mapped; NULL: not loaded */
	uint64_t session;		 /* the last struct sched_settings.session */
	struct tracer_waits *waits;	 /* NULL: off-CPU wasn't on yet */
	int groups_fd;			 /* struct hist of each struct hist_key; -1: none */
	int scaled_fds[SCALED_MAX];	 /* struct cell of each struct cell_key; -1: none */
	uint64_t scaled_numbers[SCALED_MAX], scaled_count;
	struct runqlen_bpf *runqlen;
	struct tracer_faults *faults;		       /* NULL: mem isn't on */
	struct tracer_costs *costs;		       /* NULL: /proc isn't on */
	struct counter_object counters[COST_COUNTERS]; /* what programs of ours count for /proc */
	struct why counters_absent[COST_COUNTERS];     /* what the last start of each couldn't */
	struct timer *timer, *length_timer;
	struct control *control; /* shared with the programs */
	uint64_t budget_ppm;
	uint32_t by_cpu; /* 1 << enum probe */
	/* what is loaded, in that order */
	struct loaded loaded[LOADED_MAX];
	size_t loaded_count;
	struct tracer_ring life_ring, stack_ring, slow_ring;
	struct tracer_ring mapped_ring; /* read before each life event */
	/*
	 * Timers for events that came too soon after a wake-up to cause another, and for stacks
	 * that wake nobody.
	 */
	struct loop_timer late, slow_late;
	struct tracer_looks looks;
	size_t room_bytes;	/* of records of stacks that this reading may still take */
	size_t ended_bytes;	/* of records that may be there of a window that has ended */
	unsigned found;		/* stacks that this reading found */
	int barrier_fd;		/* an array of maps: see tracer_wait_for_programs() */
	struct counters before; /* counters of objects that were unloaded */
	uint64_t next_window;	/* numbers of windows are never used again */
	uint64_t selection;	/* struct control.selection; never used again either */
	struct arena_map *arena_map;
	struct arena *arena;
};

/* Returns the limit of counts in a window: stacks are counted apart for each thread. */
static inline uint32_t tracer_counts_max(const struct tracer *tracer)
{
	return tracer->sizes.stacks * 2;
}

/* Waits until no program runs that began before the call. */
void tracer_wait_for_programs(const struct tracer *tracer);

/* Adds an object to what is loaded, or takes it out; an object that is there stays once. */
void loaded_add(struct tracer *tracer, const struct loaded *loaded);
void loaded_remove(struct tracer *tracer, const struct bpf_object *object, int program_fd);

/* Returns whether a probe has loaded this object of its own. */
bool loaded_is(const struct tracer *tracer, const struct loadable *which);

/* Has the owners of all that is loaded stop it, the last one first. */
void loaded_stop(struct tracer *tracer);

/*
 * Calls ready(tracer) whenever the ring has records. That reads them by tracer_ring_read(), which
 * calls each(tracer, record, bytes) and returns the number of records. Returns 0 or a negative
 * errno of libbpf or epoll.
 */
int tracer_ring_watch(struct tracer *tracer, struct tracer_ring *ring, int map_fd,
		      int (*each)(void *tracer, void *record, size_t bytes),
		      void (*ready)(void *tracer));
/* Stops watching; nothing happens if the ring isn't watched. */
void tracer_ring_unwatch(struct tracer *tracer, struct tracer_ring *ring);
unsigned tracer_ring_read(const struct tracer_ring *ring);

/*
 * Delay after which events have arrived that were urgent but came too soon after a wake-up to cause
 * another (bpf/stack/wakeup.h, bpf/sched/slow.h: WAKE_EVERY_NS, and a bit).
 */
#define TRACER_LATE_NS (21 * NS_PER_MS)

/* Watch and unwatch the rings of the object `life`. */
int tracer_watch_life(struct tracer *tracer, int map_fd);
int tracer_watch_stacks(struct tracer *tracer, int map_fd);
void tracer_unwatch_life(struct tracer *tracer);
void tracer_unwatch_stacks(struct tracer *tracer);

/* Tells that stacks which are in the ring now may be of a window that has ended. */
void tracer_window_ended(struct tracer *tracer);

/*
 * Tells where the counts of a window that has ended are, and which of its stacks were sent: two
 * maps, borrowed.
 */
void window_counts_open(struct window_counts *counts, int counts_fd, int sent_fd);

/* Stops following processes that get other cgroups. */
void tracer_unfollow_moves(struct tracer *tracer);

/* Expiry function of tracer->late. */
void tracer_read_late(void *arg);

/* ---- for those who load objects (tracer_object.c) ---- */

/* Makes maps of the same name one map. Returns 0 or a negative errno. */
int tracer_share_maps(const struct bpf_object *from, struct bpf_object *to);

/*
 * Has only this program of an object loaded, with the maps and the variables of another object of
 * the same file: of what it has, constants and arrays of programs are its own. Returns 0 or a
 * negative errno.
 */
int tracer_share_all(const struct bpf_object *from, struct bpf_object *to,
		     const struct bpf_program *program);

/* Returns what tells libbpf where the kernel's types are; NULL: errno says why. Any thread. */
const struct bpf_object_open_opts *tracer_options(struct tracer *tracer);

/*
 * Has an opened object's hash maps take all their memory at once where programs at tracepoints may
 * not use maps that grow: before 6.1 such a kernel warns, which may stop it (panic_on_warn). Such
 * maps have MAP_ALL_AT_ONCE entries at most.
 */
#define MAP_ALL_AT_ONCE 16384u
void tracer_choose_memory(const struct tracer *tracer, struct bpf_object *object);

/* Opens a skeleton, name_bpf of name.skel.h, which the caller owns. NULL: errno says why. */
#define tracer_open(tracer, name)                                                                  \
	(tracer_options(tracer) ? name##_bpf__open_opts(tracer_options(tracer)) : NULL)

/* Settings that programs which take stacks need before loading, in an opened skeleton. */
#define tracer_set_stacks(bpf)                                                                     \
	((bpf)->rodata->kernel_frames_max = tracer_kernel_frames_max(),                            \
	 (bpf)->rodata->has_task_pt_regs = tracer_has_task_pt_regs())
bool tracer_has_task_pt_regs(void);

/* Leaves out the maps of threads' records (bpf/core/record.h), in an object that only includes
 * them. */
#define tracer_drop_records(bpf)                                                                   \
	(bpf_map__set_autocreate((bpf)->maps.records, false),                                      \
	 bpf_map__set_autocreate((bpf)->maps.records_by_tid, false))

/*
 * Defines open_walking_NAME(from), which opens a skeleton as tracer_open() does, with the walkers
 * that are needed: with none, the file is NAME_native.bpf.o, which has the same maps and variables.
 */
#define WALKING_OBJECT(name)                                                                       \
	static struct name##_bpf *open_walking_##name(const struct load_from *from)                \
	{                                                                                          \
		const struct bpf_object_open_opts *options = tracer_options(from->tracer);         \
		struct name##_bpf *bpf = options ? calloc(1, sizeof(*bpf)) : NULL;                 \
                                                                                                   \
		if (!bpf)                                                                          \
			return NULL;                                                               \
		int r = name##_bpf__create_skeleton(bpf);                                          \
		if (r == 0 && !walkers_needed(from))                                               \
			bpf->skeleton->data =                                                      \
				(void *)name##_native_bpf__elf_bytes(&bpf->skeleton->data_sz);     \
		if (r == 0)                                                                        \
			r = bpf_object__open_skeleton(bpf->skeleton, options);                     \
		if (r < 0) {                                                                       \
			name##_bpf__destroy(bpf);                                                  \
			errno = -r;                                                                \
			return NULL;                                                               \
		}                                                                                  \
		bpf->rodata->runtimes_walked = walkers_needed(from);                               \
		return bpf;                                                                        \
	}

/* Sets whether an object may hand its events over through this slot; `first` false: it is the
 * object that takes over. */
#define tracer_set_slot(bpf, slot, is_first)                                                       \
	((bpf)->rodata->hands_over = (is_first) && (bpf)->rodata->runtimes_walked != WALKS_ALL,    \
	 bpf_map__set_autocreate((bpf)->maps.slot, (bpf)->rodata->hands_over))
uint32_t tracer_kernel_frames_max(void); /* most frames of the kernel's own walk */

/*
 * What an object is loaded from (struct loadable), on any thread: of the tracer only the sizes and
 * the types may be used.
 */
struct load_from {
	struct tracer *tracer;
	/* Objects that are loaded; NULL: not yet. */
	const struct bpf_object *life;	/* whose maps all share */
	const struct bpf_object *sched; /* which has the threads' records */
	const struct bpf_object *first; /* that this one takes over from (kernel/walkers.h) */
	uint32_t runtimes;		/* WALKS_ bits: runtimes of targets */
};

/* An object that can be loaded on any thread, and attached on the loop's; or what belongs to one.
 */
struct loadable {
	/* Opens and loads it. Returns its skeleton; NULL: errno says why. */
	void *(*load)(const struct load_from *from);
	void (*destroy)(void *bpf);
	void (*detach)(void *bpf); /* and object(): for objects whose maps others share */
	const struct bpf_object *(*object)(const void *bpf);
	/* Where others find it in struct load_from: offsetof(); 0: nobody shares its maps. */
	size_t shared_at;
	bool (*is_loaded)(const struct tracer *tracer);
	/* The object whose maps and events this one takes over; NULL: none. */
	const struct loadable *takes_over_from;
	bool is_taken_over; /* there may be such an object for this one */
};

/* Defines the functions of a skeleton name_bpf, and the fields that hold them. */
#define LOADABLE_FUNCTIONS(name)                                                                   \
	static void destroy_##name(void *bpf)                                                      \
	{                                                                                          \
		name##_bpf__destroy(bpf);                                                          \
	}                                                                                          \
	static void detach_##name(void *bpf)                                                       \
	{                                                                                          \
		name##_bpf__detach(bpf);                                                           \
	}                                                                                          \
	static const struct bpf_object *object_of_##name(const void *bpf)                          \
	{                                                                                          \
		return ((const struct name##_bpf *)bpf)->obj;                                      \
	}
#define LOADABLE_FIELDS(name)                                                                      \
	.destroy = destroy_##name, .detach = detach_##name, .object = object_of_##name

/*
 * Defines loadable_ID_again, the object whose `program` takes over from that of loadable_NAME
 * (kernel/walkers.h), and take_over_ID(). open(from, false) opens its skeleton; the program goes
 * into the `slot` of the skeleton `first`, an expression with `tracer`.
 */
#define LOADABLE_AGAIN(id, name, open, program, slot, the_first)                                   \
	static const struct loadable loadable_##id##_again;                                        \
	static void *load_##id##_again(const struct load_from *from)                               \
	{                                                                                          \
		struct name##_bpf *bpf = open(from, false);                                        \
		int r = bpf ? tracer_share_all(from->first, bpf->obj, bpf->progs.program) : 0;     \
                                                                                                   \
		if (bpf && r == 0)                                                                 \
			r = name##_bpf__load(bpf);                                                 \
		return bpf ? tracer_loaded(&loadable_##id##_again, bpf, r) : NULL;                 \
	}                                                                                          \
	static bool has_##id##_again(const struct tracer *tracer)                                  \
	{                                                                                          \
		return walkers_suffice(tracer, &loadable_##id##_again);                            \
	}                                                                                          \
	static const struct loadable loadable_##id##_again = {                                     \
		.load = load_##id##_again,                                                         \
		LOADABLE_FIELDS(name),                                                             \
		.is_loaded = has_##id##_again,                                                     \
		.takes_over_from = &loadable_##name,                                               \
	};                                                                                         \
	static int take_over_##id(struct tracer *tracer, void *object)                             \
	{                                                                                          \
		struct name##_bpf *bpf = object;                                                   \
		int slot_fd = bpf_map__fd((the_first)->maps.slot);                                 \
		int r = walkers_fill(tracer, &loadable_##id##_again, slot_fd, bpf->progs.program,  \
				     bpf->rodata->runtimes_walked);                                \
                                                                                                   \
		name##_bpf__destroy(bpf);                                                          \
		return r;                                                                          \
	}

extern const struct loadable loadable_life, loadable_arena, loadable_sample;

/*
 * Returns the skeleton, which the caller owns: the one that was loaded ahead, or it is loaded now.
 * NULL: errno says why.
 */
void *tracer_take(struct tracer *tracer, const struct loadable *which);

/* ---- for tracer_take() and those who unload objects (preload.c); `preload` may be NULL ---- */

/* Returns the skeleton that was loaded ahead, which the caller owns; NULL: there is none. */
void *preload_take(struct preload *preload, const struct loadable *which);

/*
 * Detaches and destroys an object (NULL: nothing) whose maps others share. While such others are
 * being loaded its maps stay; what is loaded with them is never taken.
 */
void preload_retire(struct preload *preload, const struct loadable *which, void *bpf);

/* Frees all that was loaded ahead. The worker has ended. */
void preload_free(struct preload *preload);

/* Returns whether the object `sched` has threads' records in the tasks' own storage. */
bool tracer_records_in_tasks(const struct bpf_object *sched);

/* Ends a loadable's load(): returns the skeleton if r is 0, else destroys it and sets errno. */
void *tracer_loaded(const struct loadable *which, void *bpf, int r);

/*
 * Defines loadable_NAME, the object of a probe's own, and NAME_loads for the probe's row:
 * open_NAME(from) opens the skeleton name_bpf and sets its constants; errno says why it can't.
 */
#define OWN_OBJECT(name)                                                                           \
	LOADABLE_FUNCTIONS(name)                                                                   \
	OWN_LOADABLE(name, name)

/* Defines loadable_ID and ID_loads by open_ID(from), of a skeleton that several such have; behind
 * LOADABLE_FUNCTIONS(name). */
#define OWN_LOADABLE(id, name)                                                                     \
	static const struct loadable loadable_##id;                                                \
	static void *load_##id(const struct load_from *from)                                       \
	{                                                                                          \
		struct name##_bpf *bpf = open_##id(from);                                          \
		int r = bpf ? tracer_share_maps(from->life, bpf->obj) : 0;                         \
                                                                                                   \
		if (bpf && r == 0) {                                                               \
			halves_choose(bpf->obj);                                                   \
			tracer_choose_memory(from->tracer, bpf->obj);                              \
			r = name##_bpf__load(bpf);                                                 \
		}                                                                                  \
		return bpf ? tracer_loaded(&loadable_##id, bpf, r) : NULL;                         \
	}                                                                                          \
	static bool has_##id(const struct tracer *tracer)                                          \
	{                                                                                          \
		return loaded_is(tracer, &loadable_##id);                                          \
	}                                                                                          \
	static const struct loadable loadable_##id = {                                             \
		.load = load_##id,                                                                 \
		LOADABLE_FIELDS(name),                                                             \
		.is_loaded = has_##id,                                                             \
	};                                                                                         \
	static const struct loadable *const id##_loads[] = {&loadable_##id, NULL};

/*
 * Takes the object that OWN_OBJECT() defines, which was loaded ahead or is loaded now, and attaches
 * all its programs. *own keeps it until tracer_unload(), which tracer_stop() calls as well. Errors
 * as tracer_start(); `what` begins the sentence.
 */
int tracer_load_own(struct tracer *tracer, const struct loadable *which, void **own,
		    const char *what, struct why *why);
void tracer_unload(void **own);

/* Returns the skeleton that *own keeps. */
void *tracer_own_bpf(void *own);

/*
 * Attach a program that isn't attached together with its object, and detach it; NULL in *link: it
 * isn't attached. Attaching returns 0 or a negative errno.
 */
static inline int link_attach(struct bpf_link **link, const struct bpf_program *program)
{
	if (!*link)
		*link = bpf_program__attach(program);
	return *link ? 0 : -errno;
}
static inline void link_detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

/* Writes a sentence for people: what failed, the error, a remedy. */
void tracer_explain(struct why *why, int error, const char *what);
