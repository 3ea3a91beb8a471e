/* SPDX-License-Identifier: GPL-2.0-only */
/* What code/code_cache.c (who asks for what), code_layers.c (what is known of whom),
 * code_dedup.c (what that is) and code_read.c (the jobs) share. Nobody else includes it. */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "bpf/shared/code_copy.h"
#include "code/code_cache.h"

/* A piece, on one or several shelves. */
struct known_code {
	unsigned refs;
	bool is_shared; /* codes->contents has it */
	void *piece;
	uint64_t hash; /* of what it says */
	size_t bytes;
};

struct shelf_slot {
	struct known_code *known;
	uint64_t used; /* struct code_cache.window */
};

/* What is known of a process, and of those that it forked as long as none of them learns more. Who
 * learns more has a shelf in front of it. */
struct shelf {
	unsigned refs;
	struct code_cache *codes;
	struct shelf *behind; /* NULL: none. What is there doesn't grow any more */
	unsigned depth;	      /* how many are behind */
	size_t bytes;	      /* of its own, as if nobody shared them */
	struct map *slots;    /* struct code_key -> struct shelf_slot */
	uint64_t used;	      /* when it was asked for anything: struct code_cache.uses */
	uint64_t thinned;     /* what it has was used since that window */
};

/* What was asked for in this window and isn't known. */
struct asked_code {
	bool failed; /* else it is being read */
	uint64_t pair[2];
};

struct process_code {
	struct code_cache *codes;
	struct shelf *shelf;	   /* NULL: nothing is known */
	struct map *asked;	   /* struct code_key -> struct asked_code; NULL: nothing */
	struct map *copies;	   /* struct code_key -> what came before its stack; NULL: none */
	struct code_reading *open; /* not submitted yet; NULL: none */
	struct process_code *next, **link;
};

/* A copy that is kept until its code object was read, or the window ends. */
struct held_copy {
	size_t bytes; /* of the record */
	struct code_copy copy;
};

struct code_cache {
	struct loop *loop;
	struct worker *urgent;
	const struct target_table *table;
	const struct code_kind *kind;
	size_t bytes_max;
	struct process_code *books;
	struct map *contents;	   /* hash -> struct known_code *, without a reference */
	uint64_t seed;		   /* of the hash */
	struct code_reading *open; /* of all books */
	struct loop_call flushing; /* posted when something was asked for */
	bool flushing_posted;
	size_t pending; /* that are being read */
	size_t copies_bytes;
	uint64_t window;	   /* number of sweeps */
	uint64_t uses, uses_swept; /* by now; at the last sweep */
	struct code_cache_stats stats;
};

#define SHELF_MAX  65536 /* pieces of one process … */
#define SHELF_PART 4	 /* … and this part of all bytes, as if it shared none */

/* ---- code/code_dedup.c ---- */

/* That piece, or an equal one that is known; takes over the piece's reference, the caller gets one
 * to the answer. NULL: no memory. */
struct known_code *known_get(struct code_cache *codes, void *piece);
void known_unref(struct code_cache *codes, struct known_code *known);

/* ---- code/code_layers.c ---- */

/* NULL: unknown. */
struct known_code *shelf_find(struct shelf *shelf, const struct code_key *key);

/* Puts it on the book's own shelf, in the place of an older one; takes over the piece's reference.
 * -ENOSPC, -ENOMEM */
int shelf_add(struct process_code *book, const struct code_key *key, void *piece);

bool shelf_is_full(const struct process_code *book);
struct shelf *shelf_ref(struct shelf *shelf);
void shelf_unref(struct shelf *shelf);

/* What wasn't used in this window and the one before goes, where there are many; then those of the
 * processes that were not asked in this window, the longest ago first; then the largest. */
void shelves_sweep(struct code_cache *codes);

/* ---- code/code_read.c ---- */

/* Adds it to the target's open reading, with its copy, if there is one. -ENOMEM */
int reading_add(struct code_cache *codes, const struct target *target, const struct code_key *key,
		const uint64_t pair[2]);

/* The book goes: its open reading is dropped. */
void reading_drop(struct process_code *book);

/* ---- code/code_copies.c ---- */

/* The caller's from then on, who frees it and says before that it is gone; NULL: there is none. */
struct held_copy *copies_take(struct process_code *book, const struct code_key *key);
void copy_forget(struct code_cache *codes, const struct held_copy *held);
/* Those that nobody took. */
void copies_drop(struct process_code *book);

/* ---- code/code_cache.c ---- */

/* The target's, made if there is none. NULL: no memory. */
struct process_code *codes_make_book(struct code_cache *codes, struct target *target);

/* A reading's answer; takes over the piece's reference. `piece` NULL: why not. */
void codes_learn(struct code_cache *codes, struct target *target, const struct code_key *key,
		 void *piece, int error);

/* NULL: it has none yet. */
static inline struct process_code *codes_book(const struct code_cache *codes,
					      const struct target *target)
{
	return target->code_known[codes->kind->number];
}
