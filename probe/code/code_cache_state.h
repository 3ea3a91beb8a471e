/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to code/code_cache.c (requests), code_layers.c (layers of processes), code_dedup.c
 * (shared contents), code_copies.c (copies that came early), code_read.c (the jobs) and
 * code_search.c (searches for what reading can't tell).
 */
#pragma once

#include <stdbool.h>

#include "base/map.h"
#include "bpf/shared/code_copy.h"
#include "code/code_cache.h"

/* A piece of code, referred to by slots of one or several layers. */
struct known_code {
	unsigned refs;
	bool is_shared; /* it is in cache->contents, for others to share */
	void *piece;
	uint64_t hash; /* of the content */
	size_t bytes;
};

struct layer_slot {
	struct known_code *known;
	uint64_t used; /* last use, as struct code_cache.window */
};

/*
 * The known code of a process, as layers: forked processes share a layer until one of them learns
 * more, which gets a layer of its own in front of it.
 */
struct code_layer {
	unsigned refs;
	struct code_cache *cache;
	struct code_layer *behind; /* the next layer, which grows no more; NULL: none */
	unsigned depth;		   /* number of layers behind */
	size_t bytes;		   /* of this layer, as if nothing were shared */
	struct map *slots;	   /* struct code_key -> struct layer_slot */
	uint64_t used;		   /* last look-up, as struct code_cache.uses */
	uint64_t thinned;	   /* all that is left was used in that window or later */
};

/* A request of this window for code that isn't known. */
struct asked_code {
	bool failed; /* false: it is being read */
	uint64_t pair[2];
};

/* A piece that lacks what a search may find. */
struct alone_code {
	uint8_t tries; /* searches that didn't find it; SEARCHES_MAX: it isn't looked for again */
};

#define SEARCHES_MAX 3

struct process_code {
	struct code_cache *cache;
	struct code_layer *layer; /* NULL: nothing is known */
	struct map *asked;	  /* struct code_key -> struct asked_code; NULL: none */
	/* struct code_key -> copy that came before its stack; NULL: none */
	struct map *copies;
	struct code_reading *open; /* the job that isn't submitted yet; NULL: none */
	struct map *alone;	   /* struct code_key -> struct alone_code; NULL: none */
	size_t alone_count;	   /* of them, those that are looked for */
	bool searching;
	uint64_t search_from_ns;     /* the next search isn't before … */
	uint64_t search_end_from_ns; /* … or this time, at a window's end; UINT64_MAX: never */
	unsigned int searches_vain;  /* in a row */
	pid_t pid;		     /* the target's, and its number; if `alone` isn't NULL */
	uint64_t id;
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
	struct process_code *processes;
	struct map *contents;	   /* hash -> struct known_code *, without a reference */
	uint64_t seed;		   /* of the contents' hashes */
	struct code_reading *open; /* list of jobs that aren't submitted yet */
	struct loop_call flushing; /* posted when something is asked for */
	bool flushing_posted;
	size_t pending; /* pieces that are being read */
	size_t copies_bytes;
	struct loop_timer search_timer;
	size_t searches;	   /* that run */
	uint64_t searched_ns;	   /* CPU time of this window's searches */
	uint64_t window;	   /* number of sweeps, from 1 */
	uint64_t uses, uses_swept; /* look-ups until now; until the last sweep */
	struct code_cache_stats stats;
};

#define SHELF_MAX  65536 /* limit of pieces of one process … */
#define SHELF_PART 4	 /* … and this part of bytes_max, as if it shared none */

/* ---- code/code_dedup.c ---- */

/*
 * Returns the shared copy of `piece` (deduplicated by content), with a new reference for the
 * caller. Takes over the caller's reference to `piece`. NULL: no memory.
 */
struct known_code *known_get(struct code_cache *cache, void *piece);
void known_unref(struct code_cache *cache, struct known_code *known);

/* ---- code/code_layers.c ---- */

/*
 * Returns the piece with that key from the layer or those behind it, borrowed; NULL if it is
 * unknown. Notes the use.
 */
struct known_code *code_layer_find(struct code_layer *layer, const struct code_key *key);

/*
 * Puts the piece on the process's own layer, in place of an older one with that key. Takes over the
 * reference to `piece`, also on failure. Returns 0, -ENOSPC or -ENOMEM.
 */
int code_layer_add(struct process_code *process, const struct code_key *key, void *piece);

/* Returns whether the process, or the cache, has reached its limit. */
bool code_layer_is_full(const struct process_code *process);
struct code_layer *code_layer_ref(struct code_layer *layer);
void code_layer_unref(struct code_layer *layer);

/*
 * Makes room after a window. If much is used, drops code not used in this window and the one
 * before, then in this one; then whole layers: first of processes without a look-up in this
 * window, the longest ago first, then the largest.
 */
void code_layers_sweep(struct code_cache *cache);

/* ---- code/code_read.c ---- */

/* Adds a piece to the target's open job, with its copy if there is one. Returns 0 or -ENOMEM. */
int reading_add(struct code_cache *cache, const struct target *target, const struct code_key *key,
		const uint64_t pair[2]);

/* Drops the open job of a process, if there is one. */
void reading_drop(struct process_code *process);

/* ---- code/code_copies.c ---- */

/*
 * Removes and returns the held copy. The caller frees it, and calls copy_forget() before. NULL:
 * there is none.
 */
struct held_copy *copies_take(struct process_code *process, const struct code_key *key);
void copy_forget(struct code_cache *cache, const struct held_copy *held);
/* Drops the copies that nobody took. */
void copies_drop(struct process_code *process);

/* ---- code/code_search.c ---- */

/* Notes that a piece of the target is alone (code/code_kind.h): it is looked for soon. */
void code_alone_note(struct code_cache *cache, const struct target *target,
		     const struct code_key *key);
/* Forgets what is noted of a process; has searches take their time again after a window. */
void code_alone_drop(struct process_code *process);
void code_searches_sweep(struct code_cache *cache);
/* The cache's timer: submits the searches that are due. */
void code_searches_due(void *arg);

/* ---- code/code_cache.c ---- */

/* Returns the target's code of this kind, made if there is none. NULL: no memory. */
struct process_code *code_cache_make_process(struct code_cache *cache, struct target *target);

/* Takes the answer of a job, with its reference to `piece`. `piece` NULL: `error` is the reason. */
void code_cache_learn(struct code_cache *cache, struct target *target, const struct code_key *key,
		      void *piece, int error);

/* Returns the target's code of this kind, or NULL if there is none yet. */
static inline struct process_code *code_cache_process(const struct code_cache *cache,
						      const struct target *target)
{
	return target->code_known[cache->kind->number];
}
