/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of code objects and methods read from processes' memory, of one kind (code/code_kind.h), by
 * process and key. Code in a stack that isn't known yet is read by a job of the urgent worker, from
 * the copy that came with the stack or from the process. The drain's fence comes after these jobs,
 * so a window is named when its code is there.
 *
 * A forked process shares its parent's code, without a copy until one of both learns more. A
 * process that ended keeps its code until its last window was named. Code that can't be read is
 * remembered as such until the window's end, and counted.
 *
 * Loop thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/shared/named.h"
#include "loop/worker.h"
#include "code/code_kind.h"
#include "target/target_table.h"

_Static_assert(CODES_KINDS == TARGET_CODE_KINDS, "each kind has its place in struct target");

struct code_cache;
/* the known code of a target, of one kind; struct target.code_known */
struct process_code;

/* Why code is not known. */
#define CODE_LOSSES(X)                                                                             \
	X(CODE_LOST_GONE, "gone")	      /* the process had ended before its code was read */ \
	X(CODE_LOST_CHANGED, "changed")	      /* another object was at the address by then */      \
	X(CODE_LOST_UNREADABLE, "unreadable") /* the process's memory can't be read */             \
	X(CODE_LOST_ODD, "odd")		      /* what is at the address makes no sense */          \
	X(CODE_LOST_HUNG, "hung")	      /* reading the process took too long */              \
	X(CODE_LOST_NO_ROOM, "no_room")	      /* a limit is reached, or no memory */
enum code_loss { CODE_LOSSES(NAMED_VALUE) CODE_LOST_COUNT };
const char *code_loss_name(enum code_loss loss);

/*
 * Creates a cache; the caller owns *ret. `urgent` is the worker that reads; `bytes_max` limits all
 * known code. Returns 0 or -ENOMEM.
 */
int code_cache_new(struct code_cache **ret, struct loop *loop, struct worker *urgent,
		   const struct target_table *table, const struct code_kind *kind,
		   size_t bytes_max);
/* Frees the cache, after the targets; the worker must be stopped. */
void code_cache_free(struct code_cache *codes);

/*
 * Offers a copy of a target's Python code object, made before a stack that has it
 * (bpf/shared/code_copy.h): a record of `bytes` bytes. The cache keeps its own copy until the
 * object is read or the window ends.
 */
struct code_copy;
void code_cache_offer(struct code_cache *codes, struct target *target, const struct code_copy *copy,
		      size_t bytes);

/*
 * Like code_cache_offer(), for the target that the copy names; ignored if that is no target any
 * more.
 */
void code_cache_offer_copy(struct code_cache *codes, const struct code_copy *copy, size_t bytes);

/*
 * Asks for the code of a target's stack that isn't known. It is read soon, in one job with that of
 * other stacks that come just then.
 */
void code_cache_want(struct code_cache *codes, struct target *target, const uint64_t *words,
		     size_t count);

/* Like code_cache_want(), for each kind, for the target that the stack names. */
void code_cache_want_stack(struct code_cache *const codes[CODES_KINDS], const struct stack *stack,
			   const uint64_t *words);

/* Like code_cache_want(), for one piece of code that isn't in the stack as a pair. */
void code_cache_want_one(struct code_cache *codes, struct target *target,
			 const struct code_key *key, const uint64_t pair[2]);

/* Submits the jobs for all that was asked for. */
void code_cache_flush(struct code_cache *codes);

/*
 * Submits a search of each process that has pieces without their whole names (code/code_kind.h), if
 * the process wasn't searched just before; for a window's end. Returns whether any runs. At
 * other times such processes are searched by a timer, soon after their pieces were read.
 */
bool code_cache_search(struct code_cache *codes);

/* Returns the piece with that key, borrowed, or NULL if it isn't known. */
void *code_cache_find(const struct target *target, const struct code_kind *kind,
		      const struct code_key *key);

/*
 * Call it when a window was named. Failed pieces may be asked for again; pieces used least recently
 * make room.
 */
void code_cache_sweep(struct code_cache *codes);

/* Operations for targets_keep_code(). */
extern const struct process_code_ops code_cache_ops;

struct code_cache_stats {
	uint64_t known, bytes;		/* pieces and bytes now */
	uint64_t read, copied;		/* pieces read and copies that came, since the start */
	uint64_t lost[CODE_LOST_COUNT]; /* pieces not known, since the start */
	/* Searches of processes since the start, those that reached a limit, and pieces that they
	 * found the whole names of. */
	uint64_t searches, searches_cut, completed;
};

/* Copies the statistics. */
void code_cache_stats(const struct code_cache *codes, struct code_cache_stats *stats);

/* Rows of struct code_cache_stats (measure/measure.h). */
extern const struct measures python_code_measures, java_code_measures;
