/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code of processes whose names lie in their memory, one kind of it (code/code_kind.h), by
 * process and key. What a stack has that isn't known is read by an urgent job, from the copy that
 * came with it or from the process; the drain's fence is behind it, so a window is joined when its
 * pieces are there.
 *
 * A process that is forked has what its parent had, without a copy until one of both learns more.
 * One that ended keeps its own until its last window was named. What can't be read is remembered
 * until the window's end, and counted.
 *
 * All functions are for the loop's thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "loop/worker.h"
#include "code/code_kind.h"
#include "target/target_table.h"

_Static_assert(CODES_KINDS == TARGET_CODE_KINDS, "each kind has its place in struct target");

struct code_cache;
struct process_code; /* what is known of one target's code of a kind; struct target.code_known */

/* Why a piece is not known. */
enum code_loss {
	CODE_LOST_GONE,	      /* its process had ended before it was read */
	CODE_LOST_CHANGED,    /* something else was at its address by then */
	CODE_LOST_UNREADABLE, /* its memory can't be read */
	CODE_LOST_ODD,	      /* what is there makes no sense */
	CODE_LOST_HUNG,	      /* reading the process took too long */
	CODE_LOST_NO_ROOM,    /* too many are known, or no memory */
	CODE_LOST_COUNT
};
const char *code_loss_name(enum code_loss loss);

/* `urgent` reads; `bytes_max` bounds all that is known. -ENOMEM */
int code_cache_new(struct code_cache **ret, struct loop *loop, struct worker *urgent,
		   const struct target_table *table, const struct code_kind *kind,
		   size_t bytes_max);
/* After the targets; when its worker was stopped. */
void code_cache_free(struct code_cache *codes);

/* A copy of a Python code object of the target's, made before a stack that has it
 * (bpf/shared/code_copy.h): a record of so many bytes, which is kept until that is read, or until
 * the window's end. */
struct code_copy;
void code_cache_offer(struct code_cache *codes, struct target *target, const struct code_copy *copy,
		      size_t bytes);

/* As code_cache_offer(), of the target that the copy is of; nothing where it isn't one any more. */
void code_cache_offer_copy(struct code_cache *codes, const struct code_copy *copy, size_t bytes);

/* Asks for those pieces of a target's stack that aren't known; they are read soon, in one job
 * with those of other stacks that come just then. */
void code_cache_want(struct code_cache *codes, struct target *target, const uint64_t *words,
		     size_t count);

/* As code_cache_want(), for each kind, of the target whose stack that is. */
void code_cache_want_stack(struct code_cache *const codes[CODES_KINDS], const struct stack *stack,
			   const uint64_t *words);

/* The same of one, which isn't in the stack as a pair. */
void code_cache_want_one(struct code_cache *codes, struct target *target,
			 const struct code_key *key, const uint64_t pair[2]);

/* Begins to read all that was asked for: now. */
void code_cache_flush(struct code_cache *codes);

/* The piece of that key; borrowed. NULL: it isn't known. */
void *code_cache_find(const struct target *target, const struct code_kind *kind,
		      const struct code_key *key);

/* After a window was joined: what failed may be asked for again, what was used least recently makes
 * room. */
void code_cache_sweep(struct code_cache *codes);

/* For targets_keep_code(). */
extern const struct process_code_ops code_cache_ops;

struct code_cache_stats {
	uint64_t known, bytes;		/* there are now; what they take */
	uint64_t read, copied;		/* since the start; copies that came */
	uint64_t lost[CODE_LOST_COUNT]; /* of a window, since the start */
};
void code_cache_stats(const struct code_cache *codes, struct code_cache_stats *stats);
