/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walkers of Python's and Java's frames, loaded when a target needs them. An object is loaded
 * without those that no target needs (bpf/stack/hand_over.h). When one is needed, it is loaded once
 * more, by the worker of kernel/preload.h, and takes the events over from the first:
 *
 *	walkers_add(): a hook began			tracer_walk_runtimes(): a runtime was found
 *					-> a job loads -> take_over() -> tracer_events.walkers
 *
 * What took over stays until its hook ends. Loop thread only, but for walkers_needed().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_map;
struct bpf_object;
struct bpf_program;
struct load_from;
struct loadable;
struct tracer;

#define WALKERS_MAX 8 /* objects that walk */

/* An object that may be loaded once more. */
struct walker {
	const struct loadable *which;	/* the object that takes over */
	const struct bpf_object *first; /* that it takes over from; NULL: they share nothing */
	uint32_t has;			/* WALKS_ bits of what runs now */
	/* Has an object take over, and takes it. Returns 0 or a negative errno. */
	int (*take_over)(struct tracer *tracer, void *bpf);

	unsigned tries; /* loads that came to nothing */
	int program_fd; /* of what took over by walkers_fill(); -1: nothing yet */
};

/* A part of struct tracer. */
struct walkers {
	struct walker all[WALKERS_MAX];
	size_t count;
	uint32_t wanted;   /* WALKS_ bits: runtimes of targets … */
	uint32_t foreseen; /* … and of those that may become targets soon */
	bool is_loading;
};

/* Adds an object that has begun (`tries` and `program_fd` are set here); removes it. */
void walkers_add(struct tracer *tracer, const struct walker *walker);
void walkers_remove(struct tracer *tracer, const struct loadable *which);

/* Unloads nothing, but forgets which runtimes targets had: the tracer stops. */
void walkers_stop(struct tracer *tracer);

/* Returns the WALKS_ bits that an object is to be loaded with. Any thread. */
uint32_t walkers_needed(const struct load_from *from);

/* Returns whether this object needs no loading: it has all walkers that are wanted, or isn't there.
 */
bool walkers_suffice(const struct tracer *tracer, const struct loadable *which);

/* Returns the object that this one takes over from; NULL: none. */
const struct bpf_object *walkers_first(const struct tracer *tracer, const struct loadable *which);

/*
 * For take_over(): puts a program, which has these walkers, into the slot, and keeps a descriptor
 * of it. Returns 0 or a negative errno.
 */
int walkers_fill(struct tracer *tracer, const struct loadable *which, int slot_fd,
		 const struct bpf_program *program, uint32_t has);

/* For take_over(), without a slot: notes the walkers that run from now on. */
void walkers_run(struct tracer *tracer, const struct loadable *which, uint32_t has);
