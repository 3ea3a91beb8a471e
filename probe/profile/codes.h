/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code objects of Python processes (symbol/pycode.h), by process, address and sum. What a stack has
 * that isn't known is read by an urgent job, from the copy that came with it or from the process;
 * the drain's fence is behind it, so a window is joined when its code objects are there.
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

#include "base/worker.h"
#include "profile/target_table.h"
#include "symbol/pycode.h"

struct codes;
struct codebook; /* what is known of one target's code objects; struct target.codebook */

/* Why a code object has no name. */
enum code_loss {
	CODE_LOST_GONE,	      /* its process had ended before it was read */
	CODE_LOST_CHANGED,    /* another one was at its address by then */
	CODE_LOST_UNREADABLE, /* its memory can't be read */
	CODE_LOST_ODD,	      /* what is there is no code object */
	CODE_LOST_HUNG,	      /* reading the process took too long */
	CODE_LOST_NO_ROOM,    /* too many are known, or no memory */
	CODE_LOST_COUNT
};
const char *code_loss_name(enum code_loss loss);

/* `urgent` reads; `bytes_max` bounds all that is known. -ENOMEM */
int codes_new(struct codes **ret, struct loop *loop, struct worker *urgent,
	      const struct target_table *table, size_t bytes_max);
/* After the targets; when its worker was stopped. */
void codes_free(struct codes *codes);

/* A copy of a code object of the target's, made before a stack that has it (bpf/code_copy.h): a
 * record of so many bytes, which is kept until that is read, or until the window's end. */
struct code_copy;
void codes_offer(struct codes *codes, struct target *target, const struct code_copy *copy,
		 size_t bytes);

/* Asks for those code objects of a target's stack that aren't known; they are read soon, in one job
 * with those of other stacks that come just then. */
void codes_want(struct codes *codes, struct target *target, const uint64_t *words, size_t count);

/* Begins to read all that was asked for: now. */
void codes_flush(struct codes *codes);

/* The code object; borrowed. NULL: it isn't known. */
struct pycode *codes_find(const struct target *target, uint64_t address, uint32_t sum);

/* After a window was joined: what failed may be asked for again, what was used least recently makes
 * room. */
void codes_sweep(struct codes *codes);

/* For a process that was forked. NULL: nothing is known of the parent, or no memory. */
struct codebook *codebook_fork(const struct codebook *parent);
void codebook_free(struct codebook *book);

struct codes_stats {
	uint64_t known, bytes;		/* there are now; what they take */
	uint64_t read, copied;		/* since the start; copies that came */
	uint64_t lost[CODE_LOST_COUNT]; /* of a window, since the start */
};
void codes_stats(const struct codes *codes, struct codes_stats *stats);
