/* SPDX-License-Identifier: GPL-2.0-only */
/* What window/batch.c and batch_place.c, batch_pairs.c (collect, on the loop's thread) and
 * batch_name.c, batch_spots.c and batch_graft.c (name, on the bulk worker) share. Nobody else
 * includes it. */
#pragma once

#include "base/map.h"
#include "window/batch.h"
#include "window/merge.h"

struct batch_stack {
	struct record_who who; /* with a reference to its container */
	uint32_t tid, cpu;
	enum count_part part;
	uint64_t time_ns;
	const struct symbol_file *program; /* to compare with, no reference; NULL: unknown */
	struct stack_key key;
	uint32_t subscribers;  /* 0: it is for the stack cache only */
	uint32_t frames_count; /* leaf first, behind those of the stack before */
	bool has_names;	       /* some frames have names without its maps: Python's, Java's */
	bool is_vms_own;       /* merge_is_vms_own() */
	bool inline_unknown;   /* which inlined methods a Java frame has is not known */
	bool untold;	       /* of some code the agent in its Java VM has told nothing */
	enum truncation truncated;
	struct stack_count count;
};

/* A place in code that frames of the batch have: named once for all of them. */
struct spot {
	struct code code; /* with a reference to its file */
	/* References of a Python or Java frame: what `code` has borrowed. */
	struct pycode *python;
	struct interpreter *interpreter;
	struct jvmcode *java;
	struct named named;
	size_t name;	      /* in the batch's text */
	bool may_call, calls; /* a frame of it is SHOWN_UNLESS_CALL; it is a call */
	bool inline_unknown;
	uint8_t places; /* this and the next spots are of one place in Java's code, leaf first */
};

/* Of a native frame; of Python's: code object, instruction, interpreter. */
struct spot_key {
	uint64_t file, address, place;
};

/* A pair of words, a Python or Java frame, that was placed in this batch, and where. */
struct placed_pair {
	const struct target *target;
	uint64_t words[2];
	uint32_t spot;
};

#define PLACED_BITS 10

/* What a stack may have with Java's inlined methods, of which a native word may have many. */
#define NATIVE_PLACES_MAX (WORDS_MAX - PYTHON_FRAMES_MAX)

_Static_assert(NATIVE_PLACES_MAX > NATIVE_WORDS_MAX, "each word has a place");

/* For one stack, while it is placed; and the pairs that were placed last, for a program's stacks
 * are made of few. */
struct place_room {
	uint8_t natives[NATIVE_PLACES_MAX], pythons[PYTHON_FRAMES_MAX];
	uint32_t spots[WORDS_MAX];
	struct placed_pair placed[1 << PLACED_BITS];
};

/* Stacks that a Java VM has recorded of one probe. */
struct batch_recorded {
	struct record_who who; /* the same */
	uint32_t probe, bit;
	struct jfrfile *file;
};

#define SPOTS_MAX (8 * 1024 * 1024) /* as many frames as a window has room for */

_Static_assert(SPOTS_MAX <= 1 << 24, "struct merged has room for their numbers");

struct batch {
	struct batch_stack *stacks;
	size_t count, capacity;
	struct merged *frames; /* `frame` is the number of a spot */
	size_t frames_count, frames_capacity;
	struct spot *spots;
	size_t spots_count, spots_capacity;
	struct map *spot_numbers; /* struct spot_key -> uint32_t */
	uint64_t until_ns;	  /* the window's end */
	struct buf text;	  /* names of spots */
	struct sink *sinks;
	size_t sinks_count;
	struct batch_recorded *recorded;
	size_t recorded_count;
	struct place_room room;
};

/* A tree that the batch's stacks are put into. */
struct grafting {
	struct tree *tree;
	struct stack_detail detail;
	bool whole;	   /* frames have all that is known of them, whatever the detail */
	uint32_t *numbers; /* of each spot its frame's number in the tree, and one more; 0: it was
			      not asked for. NULL: no memory */
};

#define MARKERS 3 /* that a stack may have beside its frames */

/* Bits of frames, as struct record_libraries has them. */
struct frame_bits {
	uint8_t bits[(WORDS_MAX + MARKERS + 7) / 8];
	size_t bytes;
};

/* Of the frames that were put in, from the root. */
struct grafted {
	struct frame_bits in_library, native_only; /* native_only: see enum merged_shown */
	size_t frames;
};

/* Names each spot; the texts are in the batch's, whose error stays. */
void batch_name_spots(struct batch *batch, struct symbolizer *symbolizer);

/* Puts a stack's frames below a node: [truncated]; frames …; its part's. Returns the leaf's node,
 * -ENOSPC, -ENOMEM. */
int64_t batch_graft(struct grafting *grafting, int64_t node, const struct batch *batch,
		    const struct batch_stack *stack, const struct merged *frames,
		    struct grafted *grafted);

/* Puts what VMs have recorded into the sinks. */
void batch_put_recorded(const struct batch *batch, struct batch_result *result);
void batch_free_recorded(struct batch *batch);

/* The frames of a stack, behind those that the batch has, where they have room. -ENOSPC, -ENOMEM */
int batch_place(struct batch *batch, struct batch_stack *to, const struct stack *stack,
		const uint64_t *words, const struct target *target, struct symbol_files *files);

/* A stack on its way into the batch. */
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

/* The spot of that key. *is_new: it is to be filled. */
int64_t batch_spot_of(struct batch *batch, const struct spot_key *key, bool *is_new);

/* Room for so many more, at most 256 at a time. -ENOSPC, -ENOMEM */
int batch_reserve_spots(struct batch *batch, size_t more);

/* The spot of a pair of words; of a Java frame the leaf-most one of its place. */
int64_t batch_python_spot(const struct placing *placing, const uint64_t pair[2]);
int64_t batch_java_spot(const struct placing *placing, const uint64_t pair[2]);
