/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to window/batch.c, batch_place.c and batch_pairs.c (collect, loop thread) and
 * batch_name.c, batch_order.c, batch_spots.c, batch_graft.c and batch_recorded.c (name, bulk
 * worker).
 */
#pragma once

#include "base/map.h"
#include "window/batch.h"
#include "window/merge.h"

struct batch_stack {
	struct record_who who; /* with a reference to its container */
	uint32_t tid, cpu;
	uint16_t part; /* struct count_key.part */
	uint64_t time_ns;
	const struct symbol_file *program; /* only compared, no reference; NULL: unknown */
	struct stack_key key;
	uint32_t subscribers; /* 0: for the stack cache only */
	/* frames, leaf first, in batch->frames after those of the stack before */
	uint32_t frames_count;
	bool has_names;	     /* some frames have names without mappings: Python's, Java's */
	bool is_vms_own;     /* merge_is_vms_own() */
	bool inline_unknown; /* the inlined methods of a Java frame aren't known */
	bool untold;	     /* the agent's log lacks some of its code */
	enum truncation truncated;
	struct stack_count count;
};

/* A place in code that frames of the batch have; it is named once for all of them. */
struct spot {
	struct code code; /* with a reference to its file */
	/* References to what `code` borrows, in a Python or Java frame. */
	struct pycode *python;
	struct interpreter *interpreter;
	struct jvmcode *java;
	/* References to what `code` borrows, in made code. */
	struct jit_object *jit;
	struct jitdump *dump;
	struct named named;
	size_t name;	      /* position in the batch's text */
	bool may_call, calls; /* some frame is SHOWN_UNLESS_CALL; it only calls */
	bool inline_unknown;
	/* number of spots, from this one on, that are one place in Java code, leaf first */
	uint8_t places;
};

/*
 * Key of a spot: file and address of a native frame; code object, instruction and interpreter of a
 * Python one.
 */
struct spot_key {
	uint64_t file, address, place;
};

/* A pair of words (a Python or Java frame) that was placed in this batch, and its spot. */
struct placed_pair {
	const struct target *target;
	uint64_t words[2];
	uint32_t spot;
};

/* A spot that was looked up lately. */
struct recent_spot {
	struct spot_key key;
	uint32_t number; /* plus 1; 0: none */
};

#define PLACED_BITS 10
#define RECENT_BITS 10

/* Max native frames of a stack after expanding inlined Java methods. */
#define NATIVE_PLACES_MAX (WORDS_MAX - PYTHON_FRAMES_MAX)

_Static_assert(NATIVE_PLACES_MAX > NATIVE_WORDS_MAX, "each word has a place");

/*
 * Buffers to place one stack, and caches of pairs and spots placed lately: a program's stacks are
 * made of few.
 */
struct place_room {
	uint8_t natives[NATIVE_PLACES_MAX], pythons[PYTHON_FRAMES_MAX];
	uint32_t spots[WORDS_MAX];
	struct placed_pair placed[1 << PLACED_BITS];
	struct recent_spot recent[1 << RECENT_BITS];
};

/* Stacks of one probe that a Java VM has recorded. */
struct batch_recorded {
	struct record_who who; /* with a reference to its container */
	uint32_t probe, bit;
	struct jfrfile *file;
};

#define SPOTS_MAX (8 * 1024 * 1024) /* as many as the frames that a window has room for */

_Static_assert(SPOTS_MAX <= 1 << 24, "struct merged has room for their numbers");

struct batch {
	struct batch_stack *stacks;
	size_t count, capacity;
	struct merged *frames; /* merged.frame is the number of a spot */
	size_t frames_count, frames_capacity;
	struct spot *spots;
	size_t spots_count, spots_capacity;
	struct map *spot_numbers; /* struct spot_key -> uint32_t */
	uint64_t until_ns;	  /* the window's end, CLOCK_MONOTONIC */
	struct buf text;	  /* the spots' names */
	struct sink *sinks;
	size_t sinks_count;
	struct batch_recorded *recorded;
	size_t recorded_count;
	struct place_room room;
};

#define GRAFT_STEPS_MAX 256

/* A tree that gets the batch's stacks. */
struct grafting {
	struct tree *tree;
	struct stack_detail detail;
	bool whole; /* frames with all that is known of them, whatever the detail */
	/* number of each spot's frame in the tree, plus 1; 0: not asked for yet. NULL: no memory */
	uint32_t *numbers;
	/*
	 * The way of the stack before, from the node where it began: spots, and their nodes. Stacks
	 * with the same callers follow one another (batch_order.c).
	 */
	struct graft_step {
		uint32_t spot, node;
	} steps[GRAFT_STEPS_MAX];
	size_t steps_count;
	int64_t began;
};

/* Result of batch_graft(): bits of the frames that were put in, from the root. */
struct grafted {
	struct frame_bits in_library, native_only; /* native_only: see enum merged_shown */
};

/* A stack of the batch, and where its frames begin. */
struct batch_entry {
	uint32_t stack;
	size_t frames;
};

/*
 * Returns all stacks in an order in which many have the same callers as the one before; the caller
 * frees it. NULL: no memory.
 */
struct batch_entry *batch_order(const struct batch *batch);

/* Names each spot. The names are in batch->text, whose error is kept. */
void batch_name_spots(struct batch *batch, struct symbolizer *symbolizer);

/*
 * Puts a stack's frames below a node: [truncated], frames …, and the frame of its part. Returns the
 * leaf's node, -ENOSPC or -ENOMEM.
 */
int64_t batch_graft(struct grafting *grafting, int64_t node, const struct batch *batch,
		    const struct batch_stack *stack, const struct merged *frames,
		    struct grafted *grafted);

/* Puts the stacks that VMs have recorded into the sinks. */
void batch_put_recorded(const struct batch *batch, struct batch_result *result);
void batch_free_recorded(struct batch *batch);

/*
 * Writes the frames of a stack into the room after batch->frames_count. Returns 0, -ENOSPC or
 * -ENOMEM.
 */
int batch_place(struct batch *batch, struct batch_stack *to, const struct stack *stack,
		const uint64_t *words, const struct target *target, struct symbol_files *files);

/* State of placing one stack. */
struct placing {
	struct batch *batch;
	const struct stack *stack;
	const struct target *target;
	struct symbol_files *files;
	enum truncation truncated;
	struct place_room *room;
	size_t natives, pythons;
	bool inline_unknown, untold;
};

/*
 * Returns the number of the spot with that key, or -ENOSPC or -ENOMEM. *is_new: the caller fills in
 * the spot.
 */
int64_t batch_spot_of(struct batch *batch, const struct spot_key *key, bool *is_new);

/* Makes room for that many more spots, at most 256 at a time. Returns 0, -ENOSPC or -ENOMEM. */
int batch_reserve_spots(struct batch *batch, size_t more);

/* Return the spot of a pair of words; of a Java frame the leaf-most spot of its place. */
int64_t batch_python_spot(const struct placing *placing, const uint64_t pair[2]);
int64_t batch_java_spot(const struct placing *placing, const uint64_t pair[2]);
